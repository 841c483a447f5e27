import polars as pl

from occbench_tools.dataset import clock_hz, each, first, least, most, parameter_of, pick
from occbench_tools.markdown import bullets, cell, prediction_error, table
from occbench_tools.verdicts import ENOUGH, Finding, Findings

# Of an SM, where they are not 128 (CUDA C++ Programming Guide, arithmetic instructions).
FP32_LANES = {"7.5": 64, "8.0": 64}


def enough(rows):
    """Of rows that differ in occupancy alone: the one of least occupancy that has nearly the best throughput."""
    return least(rows.filter(pl.col("throughput") >= ENOUGH * pl.col("throughput").max()), "theoretical_pct")


def by_variant(rows):
    """Groups of rows that differ in occupancy alone; what the runtime launches by itself has no theory."""
    return rows.drop_nulls("theoretical_pct").partition_by("variant", maintain_order=True)


def latency_seconds(rows, operation):
    """Of a dependent multiply-add, from one warp a scheduler and one chain; of a load, from the chain through memory."""
    if operation == "multiply_add":
        row = first(rows, variant="multiply_add_1", blocks_per_sm=1)
        return row and row["grid_blocks"] * row["block_threads"] / row["throughput"]
    row = first(rows, kernel="pointer_chase", memory="device")
    return row and 1 / row["throughput"]


def little_pct(rows, row, rate):
    """The occupancy that Little's law asks for: latency x rate in flight, by warps that each have so many under way."""
    latency = latency_seconds(rows, "reads" if row["kernel"] == "reads" else "multiply_add")
    own = own_in_flight(row) * int(parameter_of(row, "bytes") or 1)
    warps = latency * rate / 32 / own / row["sm_count"]
    return warps / (row["blocks_per_sm"] * row["block_threads"] / 32 / row["theoretical_pct"])


def copy_of(of):
    """The runtime's copy; its kernel may have no counter."""
    return first(of.every.drop_nulls("time_us"), variant="copy")


def own_in_flight(row):
    """Operations that a thread has under way at once."""
    return int(parameter_of(row, "chains") or parameter_of(row, "in_flight"))


def share_of_peak(row):
    """Of the multiply-adds that all lanes could start at the clock that was measured."""
    lanes = row["sm_count"] * FP32_LANES.get(row["compute_capability"], 128)
    return row["throughput"] / (lanes * clock_hz(row))


def reads_of(rows):
    return pick(rows, kernel="reads").filter(pl.col("variant") != "copy")


def findings(of):
    found, told = [], []
    for words, wanted in (
        ("multiply-adds", {"kernel": "fma_chains"}),
        *((f"reads of {size} B", {"kernel": "reads", "bytes": size}) for size in (4, 8, 16)),
    ):
        firsts = [enough(group) for group in by_variant(pick(of.rows, **wanted))]
        for one in firsts:
            own, pct = own_in_flight(one), one["theoretical_pct"]
            measured = f"{100 * ENOUGH:.0f} % of their best from {pct:g} % occupancy on"
            if own > 2:  # with fewer a thread has little independent work, of which the claim says nothing
                found.append(Finding(f"{words}, {own} in flight", pct <= 50, measured))
        if firsts:
            told.append(f"{words}: {', '.join(cell(one, 'theoretical_pct', 0) for one in firsts)}")
    chains = pick(of.rows, kernel="fma_chains")
    if not found or chains.is_empty():
        return []
    share = share_of_peak(most(chains, "throughput"))
    found.append(Finding("FP32 at its peak", share >= 0.97, f"{100 * share:.1f} % of SMs x lanes x clock"))
    copied, reads = copy_of(of), reads_of(of.rows)
    if copied and len(reads):
        share = reads["throughput"].max() / copied["throughput"]
        measured = f"{100 * share:.1f} % of the bytes a second that a copy moves"
        found.append(Finding("reads at their peak", share >= 0.98, measured))
    return Findings(
        found, f"% occupancy for {100 * ENOUGH:.0f} % of the best, 1, 2, 4, 8 in flight a thread: {'; '.join(told)}"
    )


def rate_text(row):
    return f"{cell(row, 'throughput', 2, 1e-12)}{' TB/s' if row['throughput_unit'] == 'bytes/s' else '·10¹²/s'}"


def enough_table(of):
    lines = []
    for kernel, what in ("fma_chains", "multiply-adds"), ("reads", "reads"):
        for group in by_variant(pick(of.rows, kernel=kernel)):
            needed, best = enough(group), most(group, "throughput")
            size = parameter_of(needed, "bytes")
            operation = f"{what} of {size} B" if size else what
            by_law = f"{little_pct(of.rows, needed, best['throughput']):.1f}"
            least_enough = (f"{needed['theoretical_pct']:g}", cell(needed, "achieved_pct"), by_law)
            highest = f"{group['theoretical_pct'].max():g}"
            lines.append((operation, own_in_flight(needed), rate_text(best), *least_enough, highest))
    head = (
        *("operation", "in flight in a thread:", "best:", "occupancy for 95 % of it, theory:", "achieved:"),
        *("by Little's law:", "highest measured:"),
    )
    return table(head, lines)


def figures(of):
    with_theory = of.rows.drop_nulls("theoretical_pct")
    copied = copy_of(of)
    reads = most(reads_of(with_theory), "throughput")
    fastest = most(pick(of.rows, kernel="fma_chains"), "throughput")
    latencies = (
        f"{parameter_of(row, 'memory')}: {clock_hz(row) / row['throughput']:.0f} cycles"
        for row in each(pick(of.rows, kernel="pointer_chase"))
    )
    return bullets(
        f"Latency of a load, by a chain of dependent loads: {', '.join(latencies)}. Of a dependent multiply-add: "
        f"{latency_seconds(of.rows, 'multiply_add') * clock_hz(fastest):.2f} cycles.",
        f"Reads: at best {rate_text(reads)} ({reads['variant']}, {cell(reads, 'achieved_pct')} % occupancy). The runtime's copy "
        f"from device to device moves {rate_text(copied)}, reads and writes counted: the reads reach "
        f"{100 * reads['throughput'] / copied['throughput']:.1f} % of it.",
        f"Multiply-adds: at best {rate_text(fastest)} ({fastest['variant']}, {cell(fastest, 'achieved_pct')} % occupancy), "
        f"{100 * share_of_peak(fastest):.1f} % of SMs x lanes x the measured clock "
        f"({cell(fastest, 'sm_clock_mhz', 0)} MHz).",
        f"Prediction error: {prediction_error(with_theory)}.",
    )


BLOCKS = {"enough": enough_table, "figures": figures}
