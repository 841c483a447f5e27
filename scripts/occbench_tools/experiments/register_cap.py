import polars as pl

from occbench_tools.dataset import least, one, pick, spread_pct
from occbench_tools.markdown import bullets, cell, fill, prediction_error, table
from occbench_tools.verdicts import SAME_POINTS, WORTH, Finding


def capped(rows, threads):
    return pick(rows, block_threads=threads).filter(pl.col("variant").str.starts_with("cap_"))


def findings(of):
    by_registers = capped(of.rows, 256).sort("registers_per_thread", maintain_order=True)
    if by_registers.is_empty():
        return []
    fewest, most = (by_registers.row(place, named=True) for place in (0, -1))
    fastest = least(by_registers, "time_us")
    gains = [row["time_us"] / fastest["time_us"] for row in (fewest, most)]
    read = [f"{row['registers_per_thread']}{{}}: {cell(row, 'achieved_pct', 0)} %" for row in (fewest, most)]
    rises = fewest["achieved_pct"] > most["achieved_pct"] + SAME_POINTS
    found = [Finding("occupancy", rises, ", ".join(read).format(" registers", ""))]
    quicker = f"{gains[0]:.2f} and {gains[1]:.2f} times as fast as those"
    measured = f"fastest with {fastest['registers_per_thread']} ({cell(fastest, 'achieved_pct', 0)} %): {quicker}"
    found.append(Finding("the fastest", min(gains) >= WORTH, measured))
    spills = by_registers["spill_bytes"]
    if not spills.has_nulls():
        measured = f"spills of {spills[0]:.0f} and {spills[-1]:.0f} B a thread"
        found.append(Finding("spills", spills.is_sorted(descending=True) and spills[0] > 0, measured))
    return found


def cases(of):
    lines, caps = [], (f"cap_{cap}" for cap in (128, 96, 80, 72, 64, 56, 48, 40, 32))
    forms = ("{theoretical_pct:g}, {achieved_pct:.1f}, {issue_active_pct:.1f}, {eligible_warps:.2f}", "{time_us:.0f}")
    head = ["cap", "registers:", "spills, B:"]
    for threads in (256, 128):
        head += [f"{threads} threads: theory, achieved, issue, eligible:", "time, µs:"]
    for variant in ("uncapped", *caps):
        pair = [one(of.rows, variant=variant, block_threads=threads) for threads in (256, 128)]
        used = (variant.removeprefix("cap_"), pair[0]["registers_per_thread"], pair[0]["spill_bytes"])
        lines.append((*used, *(fill(form, row) for row in pair for form in forms)))
    return table(head, lines)


def figures(of):
    gains = []
    for threads in (256, 128):
        uncapped = one(of.rows, variant="uncapped", block_threads=threads)
        fastest = least(capped(of.rows, threads), "time_us")
        gains.append(
            f"Blocks of {threads}: fastest with {fastest['registers_per_thread']} registers ({cell(fastest, 'achieved_pct')} %), "
            f"{uncapped['time_us'] / fastest['time_us']:.2f} times as fast as uncapped "
            f"({uncapped['registers_per_thread']} registers, {cell(uncapped, 'achieved_pct')} %)."
        )
    ways = (
        pl.Series(
            one(of.rows, variant=f"{way}_{registers}", block_threads=256)["time_us"] for way in ("cap", "maxnreg")
        )
        for registers in (32, 64, 128)
    )
    local = of.rows["local_sectors"].count()
    return bullets(
        *gains,
        f"`__maxnreg__` and `-maxrregcount` with the same number differ by at most "
        f"{max(map(spread_pct, ways)):.2f} % in time.",
        f"Prediction error (spills are not predicted): {prediction_error(of.rows)}.",
        f"Loads and stores of local memory were counted in {local} of {len(of.rows)} rows.",
    )


BLOCKS = {"cases": cases, "figures": figures}
