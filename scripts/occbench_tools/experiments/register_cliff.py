import polars as pl

from occbench_tools.dataset import each, first, least, parameter, parameter_of, pick, spread_pct
from occbench_tools.markdown import bullets, cell, prediction_error, table
from occbench_tools.verdicts import SAME_RATIO, WORTH, Finding, Findings, near


def findings(of):
    found, told = [], []
    for body in "latency", "throughput":
        chosen = pick(of.rows, body=body, block_threads=512)
        unpadded = chosen.filter(parameter("padded_as").is_null())
        before, after = (first(unpadded, registers_per_thread=count) for count in (31, 33))
        if not before or not after:
            continue
        occupancies = [row["achieved_pct"] for row in (before, after)]
        slower = after["time_us"] / before["time_us"]
        falls = [row["theoretical_pct"] for row in (before, after)] == [100, 75]
        falls = falls and near(occupancies[1] / occupancies[0], 0.75, 0.04)
        measured = f"{body}-bound: achieved {occupancies[0]:.1f} → {occupancies[1]:.1f} %"
        found.append(Finding(f"occupancy of the {body}-bound kernel", falls, measured))
        found.append(Finding(f"time of the {body}-bound kernel", slower >= WORTH, f"time × {slower:.2f}"))
        told.append(f"{body}-bound: {occupancies[0]:.1f} → {occupancies[1]:.1f} %, time × {slower:.2f}")
        for control in each(pick(chosen, padded_as=33)):
            padded = control["time_us"] / before["time_us"]
            measured = f"31 registers at the same occupancy: time × {padded:.2f}"
            found.append(Finding(f"{body}-bound control", near(padded / slower, 1, SAME_RATIO), measured))
            told[-1] += f" (31 registers at the same occupancy: × {padded:.2f})"
    return Findings(found, "; ".join(told))


def of_cliff(rows):
    return rows.filter(parameter("padded_as").is_null(), parameter("grid").is_null())


def cases(of):
    cliff = of_cliff(of.rows)
    registers = sorted(set(cliff["registers_per_thread"]) - {40, 64})
    lines = []
    for body in ("latency", "throughput"):
        for threads in (256, 512, 768, 1024):
            chosen = each(pick(cliff, body=body, block_threads=threads))
            by_registers = {row["registers_per_thread"]: row for row in chosen}
            fewest = by_registers[registers[0]]["time_us"]
            cells = (
                f"{cell(by_registers[count], 'achieved_pct', 0)} %, {by_registers[count]['time_us'] / fewest:.2f}"
                if count in by_registers
                else "–"
                for count in registers
            )
            lines.append((f"{body}-bound, {threads}", *cells))
    return table(("body, threads a block", *(f"{count}:" for count in registers)), lines)


def control_errors_pct(rows, registers):
    """Time of 31 registers at the blocks per SM of more, over the time of those: how far from 1, for each pair."""
    cliff = of_cliff(rows).filter(registers_per_thread=registers)
    off = []
    for control in each(pick(rows, padded_as=registers)):
        imitated = pick(cliff, body=parameter_of(control, "body"), block_threads=control["block_threads"])
        off += [100 * abs(control["time_us"] / time - 1) for time in imitated["time_us"]]
    return off


def figures(of):
    off = {registers: control_errors_pct(of.rows, registers) for registers in (33, 41, 66)}
    controls = (f"{registers}: {max(found):.1f} % ({len(found)} pairs)" for registers, found in off.items())
    latency, throughput = (pick(of_cliff(of.rows), body=body) for body in ("latency", "throughput"))
    rates = latency["throughput"] / latency["achieved_pct"]
    fastest = least(throughput, "time_us")
    even, odd = (throughput.filter(pl.col("registers_per_thread") % 2 == parity)["time_us"] for parity in (0, 1))
    return bullets(
        f"Control, 31 registers limited by shared memory to the blocks per SM of more registers. Largest difference in time: "
        f"{', '.join(controls)}.",
        f"Latency-bound: throughput per point of achieved occupancy differs by {spread_pct(rates):.1f} % over "
        f"{len(rates)} cases.",
        f"Throughput-bound: builds with an even number of registers take {even.min():.0f} to {even.max():.0f} µs, with an odd number "
        f"{odd.min():.0f} to {odd.max():.0f}. The fastest has {fastest['registers_per_thread']} registers, "
        f"{fastest['block_threads']} threads and {cell(fastest, 'achieved_pct', 0)} % ({cell(fastest, 'time_us', 0)} µs, "
        f"{cell(fastest, 'issue_active_pct', 0)} % of issue slots).",
        f"Prediction error, latency-bound: {prediction_error(latency)}; throughput-bound: {prediction_error(throughput)}.",
    )


BLOCKS = {"cases": cases, "figures": figures}
