from collections import defaultdict

from markdown import bullets, cell, misses, table
from recorded import least, most, numbers
from verdicts import ENOUGH, Finding, Findings

FP32_LANES = {
    "7.5": 64,
    "8.0": 64,
}  # of an SM, where they are not 128 (CUDA C++ Programming Guide, arithmetic instructions)


def enough(rows):
    """Of rows that differ in occupancy alone: the one of least occupancy that has nearly the best throughput."""
    best = max(numbers(rows, "throughput"))
    return least((row for row in rows if row.number("throughput") >= ENOUGH * best), "theoretical_pct")


def by_variant(rows):
    """Groups of rows that differ in occupancy alone; what the runtime launches by itself has no theory."""
    groups = defaultdict(list)
    for row in rows:
        if row["theoretical_pct"]:
            groups[row["variant"]].append(row)
    return groups.values()


def latency_seconds(rows, operation):
    """Of a dependent multiply-add, from one warp a scheduler and one chain; of a load, from the chain through memory."""
    if operation == "multiply_add":
        row = rows.first(variant="fma_1", blocks_per_sm=1)
        return row and row.number("grid_blocks") * row.number("block_threads") / row.number("throughput")
    row = rows.first(kernel="pointer_chase", memory="device")
    return row and 1 / row.number("throughput")


def little_pct(rows, row, rate):
    """The occupancy that Little's law asks for: latency x rate in flight, by warps that each have so many under way."""
    latency = latency_seconds(rows, "reads" if row["kernel"] == "reads" else "multiply_add")
    own = own_in_flight(row) * int(row.parameter("bytes") or 1)
    warps = latency * rate / 32 / own / row.number("sm_count")
    return warps / (row.number("blocks_per_sm") * row.number("block_threads") / 32 / row.number("theoretical_pct"))


def copy_of(rows):
    """The runtime's copy, of whose kernel no counter need tell."""
    return next((row for row in rows.every.pick(variant="copy") if row["time_us"]), None)


def own_in_flight(row):
    """Operations that a thread has under way at once."""
    return int(row.parameter("chains") or row.parameter("in_flight"))


def share_of_peak(row):
    """Of the multiply-adds that all lanes could start at the clock that was measured."""
    lanes = row.number("sm_count") * FP32_LANES.get(row["compute_capability"], 128)
    return row.number("throughput") / (lanes * row.clock_hz())


def findings(rows):
    found, told = [], []
    for words, wanted in (
        ("multiply-adds", {"kernel": "fma_chains"}),
        *((f"reads of {size} B", {"kernel": "reads", "bytes": size}) for size in (4, 8, 16)),
    ):
        firsts = [enough(group) for group in by_variant(rows.pick(**wanted))]
        if not firsts:
            continue
        for first in firsts:
            own, pct = own_in_flight(first), first.number("theoretical_pct")
            measured = f"{100 * ENOUGH:.0f} % of their best from {pct:g} % occupancy on"
            if own > 2:  # with fewer a thread has little independent work, of which the claim says nothing
                found.append(Finding(f"{words}, {own} in flight", pct <= 50, measured))
        told.append(f"{words}: {', '.join(cell(first, 'theoretical_pct', 0) for first in firsts)}")
    if not found:
        return []
    share = share_of_peak(most(rows.pick(kernel="fma_chains"), "throughput"))
    found.append(Finding("FP32 at its peak", share >= 0.97, f"{100 * share:.1f} % of SMs x lanes x clock"))
    copied = copy_of(rows)
    reads = [row for row in rows.pick(kernel="reads") if row["variant"] != "copy"]
    if copied and reads:
        share = max(numbers(reads, "throughput")) / copied.number("throughput")
        measured = f"{100 * share:.1f} % of the bytes a second that a copy moves"
        found.append(Finding("reads at their peak", share >= 0.98, measured))
    return Findings(
        found, f"% occupancy for {100 * ENOUGH:.0f} % of the best, 1, 2, 4, 8 in flight a thread: {'; '.join(told)}"
    )


def rate_text(row):
    return f"{cell(row, 'throughput', 2, 1e-12)}{' TB/s' if row['throughput_unit'] == 'bytes/s' else '·10¹²/s'}"


def enough_table(rows):
    lines = []
    for kernel, what in ("fma_chains", "multiply-adds"), ("reads", "reads"):
        for group in by_variant(rows.pick(kernel=kernel)):
            first, best = enough(group), most(group, "throughput")
            size = first.parameter("bytes")
            lines.append(
                (
                    f"{what} of {size} B" if size else what,
                    str(own_in_flight(first)),
                    rate_text(best),
                    f"{first.number('theoretical_pct'):g}",
                    cell(first, "achieved_pct"),
                    f"{little_pct(rows, first, best.number('throughput')):.1f}",
                    f"{max(numbers(group, 'theoretical_pct')):g}",
                )
            )
    head = (
        *("operation", "in flight in a thread:", "best:", "occupancy for 95 % of it, theory:", "achieved:"),
        *("by Little's law:", "highest measured:"),
    )
    return table(head, lines)


def figures(rows):
    with_theory = [row for row in rows if row["theoretical_pct"]]
    copied = copy_of(rows)
    reads = most((row for row in with_theory if row["kernel"] == "reads"), "throughput")
    fastest = most(rows.pick(kernel="fma_chains"), "throughput")
    latencies = (
        f"{row.parameter('memory')}: {row.clock_hz() / row.number('throughput'):.0f} cycles"
        for row in rows.pick(kernel="pointer_chase")
    )
    return bullets(
        f"Latency of a load by a chain of loads, {', '.join(latencies)}; of a dependent multiply-add "
        f"{latency_seconds(rows, 'multiply_add') * fastest.clock_hz():.2f} cycles.",
        f"Reads: {rate_text(reads)} at best ({reads['variant']}, {cell(reads, 'achieved_pct')} % occupancy). The runtime's copy "
        f"from device to device moves {rate_text(copied)}, what it reads and what it writes counted: "
        f"{100 * reads.number('throughput') / copied.number('throughput'):.1f} % of it are read.",
        f"Multiply-adds: {rate_text(fastest)} at best ({fastest['variant']}, {cell(fastest, 'achieved_pct')} % occupancy), "
        f"{100 * share_of_peak(fastest):.1f} % of SMs x lanes x the clock measured "
        f"({cell(fastest, 'sm_clock_mhz', 0)} MHz).",
        f"Prediction: {misses(with_theory)}.",
    )


BLOCKS = {"enough": enough_table, "figures": figures}
