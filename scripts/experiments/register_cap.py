from markdown import bullets, cell, misses, table
from recorded import least, numbers, spread_pct
from verdicts import SAME_POINTS, WORTH, Finding


def capped(rows, threads):
    return [row for row in rows.pick(block_threads=threads) if row["variant"].startswith("cap_")]


def findings(rows):
    by_registers = sorted(capped(rows, 256), key=lambda row: row.number("registers_per_thread"))
    if not by_registers:
        return []
    fewest, most = by_registers[0], by_registers[-1]
    fastest = least(by_registers, "time_us")
    gains = [row.number("time_us") / fastest.number("time_us") for row in (fewest, most)]
    found = [
        Finding(
            "occupancy",
            fewest.number("achieved_pct") > most.number("achieved_pct") + SAME_POINTS,
            f"{fewest['registers_per_thread']} registers: {cell(fewest, 'achieved_pct', 0)} %, "
            f"{most['registers_per_thread']}: {cell(most, 'achieved_pct', 0)} %",
        ),
        Finding(
            "the fastest",
            min(gains) >= WORTH,
            f"fastest with {fastest['registers_per_thread']} ({cell(fastest, 'achieved_pct', 0)} %): "
            f"{gains[0]:.2f} and {gains[1]:.2f} times as fast as those",
        ),
    ]
    if all(row["spill_bytes"] for row in by_registers):
        spills = numbers(by_registers, "spill_bytes")
        found.append(
            Finding(
                "spills",
                spills == sorted(spills, reverse=True) and spills[0] > 0,
                f"spills of {spills[0]:.0f} and {spills[-1]:.0f} B a thread",
            )
        )
    return found


def cases(rows):
    lines = []
    for variant in ("uncapped", *(f"cap_{cap}" for cap in (128, 96, 80, 72, 64, 56, 48, 40, 32))):
        of_threads = [rows.one(variant=variant, block_threads=threads) for threads in (256, 128)]
        line = [variant.removeprefix("cap_"), of_threads[0]["registers_per_thread"], of_threads[0]["spill_bytes"]]
        for row in of_threads:
            values = (f"{row.number('theoretical_pct'):g}", cell(row, "achieved_pct"), cell(row, "issue_active_pct"))
            line += [", ".join(values), cell(row, "time_us", 0)]
        lines.append(line)
    head = ("cap", "registers:", "spills, B:", "256 threads: theory, achieved, issue:", "time, µs:")
    return table((*head, "128 threads: theory, achieved, issue:", "time, µs:"), lines)


def figures(rows):
    gains = []
    for threads in (256, 128):
        uncapped = rows.one(variant="uncapped", block_threads=threads)
        fastest = least(capped(rows, threads), "time_us")
        gains.append(
            f"Blocks of {threads}: fastest with {fastest['registers_per_thread']} registers ({cell(fastest, 'achieved_pct')} %), "
            f"{uncapped.number('time_us') / fastest.number('time_us'):.2f} times as fast as uncapped "
            f"({uncapped['registers_per_thread']} registers, {cell(uncapped, 'achieved_pct')} %)."
        )
    ways = [
        [rows.one(variant=f"{way}_{registers}", block_threads=256) for way in ("cap", "maxnreg")]
        for registers in (32, 64, 128)
    ]
    local = sum(bool(row["local_load_sectors"]) for row in rows)
    return bullets(
        *gains,
        f"`__maxnreg__` and `-maxrregcount` of the same number differ by "
        f"{max(spread_pct(numbers(pair, 'time_us')) for pair in ways):.2f} % in time at most.",
        f"Prediction, which knows nothing of spills: {misses(rows)}.",
        f"Local loads were counted in {local} of {len(rows)} rows.",
    )


BLOCKS = {"cases": cases, "figures": figures}
