from markdown import bullets, cell, misses, table
from recorded import Rows, least, numbers, spread_pct
from verdicts import SAME_RATIO, WORTH, Finding, Findings, near


def findings(rows):
    found, told = [], []
    for body in "latency", "throughput":
        chosen = rows.pick(body=body, block_threads=512)
        unpadded = Rows(row for row in chosen if not row.parameter("padded_as"))
        before, after = (unpadded.first(registers_per_thread=count) for count in (31, 33))
        if not before or not after:
            continue
        occupancies = numbers((before, after), "achieved_pct")
        slower = after.number("time_us") / before.number("time_us")
        found += [
            Finding(
                f"occupancy of the {body}-bound kernel",
                numbers((before, after), "theoretical_pct") == [100, 75]
                and near(occupancies[1] / occupancies[0], 0.75, 0.04),
                f"{body}-bound: achieved {occupancies[0]:.1f} → {occupancies[1]:.1f} %",
            ),
            Finding(f"time of the {body}-bound kernel", slower >= WORTH, f"time × {slower:.2f}"),
        ]
        told.append(f"{body}-bound: {occupancies[0]:.1f} → {occupancies[1]:.1f} %, time × {slower:.2f}")
        for control in chosen.pick(padded_as=33):
            padded = control.number("time_us") / before.number("time_us")
            found.append(
                Finding(
                    f"{body}-bound control",
                    near(padded / slower, 1, SAME_RATIO),
                    f"31 registers at the same occupancy: time × {padded:.2f}",
                )
            )
            told[-1] += f" (31 registers at the same occupancy: × {padded:.2f})"
    return Findings(found, "; ".join(told))


def registers_of(row):
    return int(row["registers_per_thread"])


def of_cliff(rows):
    return Rows(row for row in rows if not row.parameter("padded_as") and not row.parameter("grid"))


def cases(rows):
    cliff = of_cliff(rows)
    registers = sorted(set(map(registers_of, cliff)) - {40, 64})
    lines = []
    for body in ("latency", "throughput"):
        for threads in (256, 512, 768, 1024):
            by_registers = {registers_of(row): row for row in cliff.pick(body=body, block_threads=threads)}
            fewest = by_registers[registers[0]].number("time_us")
            cells = (
                f"{cell(by_registers[count], 'achieved_pct', 0)} %, {by_registers[count].number('time_us') / fewest:.2f}"
                if count in by_registers
                else "–"
                for count in registers
            )
            lines.append((f"{body}-bound, {threads}", *cells))
    return table(("body, threads a block", *(f"{count}:" for count in registers)), lines)


def control_misses_pct(rows, registers):
    """Time of 31 registers at the blocks per SM of more, over the time of those: how far from 1, for each pair."""
    off = []
    for control in rows.pick(padded_as=registers):
        same = {"body": control.parameter("body"), "block_threads": control["block_threads"]}
        imitated = [row for row in of_cliff(rows).pick(**same) if registers_of(row) == registers]
        off += [100 * abs(control.number("time_us") / row.number("time_us") - 1) for row in imitated]
    return off


def figures(rows):
    off = {registers: control_misses_pct(rows, registers) for registers in (33, 41, 66)}
    controls = (f"{registers}: {max(each):.1f} % ({len(each)} pairs)" for registers, each in off.items())
    latency, throughput = (of_cliff(rows).pick(body=body) for body in ("latency", "throughput"))
    rates = [row.number("throughput") / row.number("achieved_pct") for row in latency]
    fastest = least(throughput, "time_us")
    even, odd = (
        numbers((row for row in throughput if registers_of(row) % 2 == parity), "time_us") for parity in (0, 1)
    )
    return bullets(
        f"Control, 31 registers held at the blocks per SM of more by shared memory: how much their times differ at most, "
        f"{', '.join(controls)}.",
        f"Latency-bound: throughput per point of achieved occupancy differs by {spread_pct(rates):.1f} % over "
        f"{len(rates)} cases.",
        f"Throughput-bound: builds with an even number of registers take {min(even):.0f} to {max(even):.0f} µs, with an odd one "
        f"{min(odd):.0f} to {max(odd):.0f}. The fastest has {fastest['registers_per_thread']} registers, "
        f"{fastest['block_threads']} threads and {cell(fastest, 'achieved_pct', 0)} % ({cell(fastest, 'time_us', 0)} µs, "
        f"{cell(fastest, 'issue_active_pct', 0)} % of issue slots).",
        f"Prediction, latency-bound: {misses(latency)}; throughput-bound: {misses(throughput)}.",
    )


BLOCKS = {"cases": cases, "figures": figures}
