import math
from collections import Counter

from occbench_tools.dataset import each, parameter_of
from occbench_tools.markdown import bullets, cell, table
from occbench_tools.statistics import median, quantile
from occbench_tools.verdicts import Finding


def clock_step(traces):
    """Nanoseconds by which the device's clock goes on, as far as the traces show: closer starts are simultaneous."""
    times = sorted({time for trace in traces for time in trace})
    return min((after - before for before, after in zip(times, times[1:], strict=False)), default=0)


def starts_ascending(starts, step):
    """Whether no block started later than one of a higher number did, by more than the clock's step."""
    earliest_above = math.inf
    for start in reversed(starts):
        if start > earliest_above + step:
            return False
        earliest_above = min(earliest_above, start)
    return True


def swapped(starts, again, step):
    """Whether two blocks started in the one order in one launch and in the other in another, simultaneous ones aside."""
    order = sorted(range(len(starts)), key=lambda block: starts[block])
    earlier, latest_again = 0, -math.inf
    for block in order:
        while starts[order[earlier]] + step < starts[block]:
            latest_again = max(latest_again, again[order[earlier]])
            earlier += 1
        if latest_again > again[block] + step:
            return True
    return False


class Trace:
    """What was traced of a case: lists with a value a block, of one launch and of the same `again`."""

    def __init__(self, of, row):
        self._samples = lambda quantity: of.samples(row, f"trace_{quantity}").to_list()
        self.row = row
        self.sms, self.starts = self._samples("sm"), self._samples("start_ns")
        self.again_sms, self.again_starts = self._samples("again_sm"), self._samples("again_start_ns")

    def samples(self, quantity):
        return self._samples(quantity)


def traces_of(of):
    traces = (Trace(of, row) for row in each(of.rows))
    return [trace for trace in traces if trace.sms]


def findings(of):
    traces = traces_of(of)
    twice = [trace for trace in traces if trace.again_sms]
    step = clock_step([starts for trace in traces for starts in (trace.starts, trace.again_starts)])
    moved = sum(trace.sms != trace.again_sms for trace in twice)
    reordered = sum(swapped(trace.starts, trace.again_starts, step) for trace in twice)
    ascending = sum(starts_ascending(trace.starts, step) for trace in traces)
    found = []
    if twice:
        found = [
            Finding("the SM", moved > 0, f"launched twice, blocks went to other SMs in {moved} of {len(twice)} cases"),
            Finding("the order", reordered > 0, f"started in another order in {reordered}"),
        ]
    if traces:
        found.append(
            Finding(
                "ascending starts",
                ascending < len(traces),
                f"started in ascending order in {ascending} of {len(traces)} (the clock steps {step:.0f} ns)",
            )
        )
    return found


def line(trace):
    row = trace.row
    shares = Counter(trace.sms).values()
    gaps = trace.samples("replacement_latency_cycles")
    names = (parameter_of(row, name).replace("_", " ") for name in ("grid", "shape"))
    return (
        ", ".join((str(row["block_threads"]), *names)),
        row["grid_blocks"],
        len(set(trace.sms[: row["sm_count"]])),
        min(shares) if min(shares) == max(shares) else f"{min(shares)} to {max(shares)}",
        f"{max(trace.samples('most_blocks')):.0f} ({row['blocks_per_sm']})",
        f"{median(gaps):.0f}" if gaps else "",
        f"{trace.samples('achieved_pct')[0]:.1f}",
        cell(row, "achieved_pct"),
    )


def cases(of):
    head = (
        *("threads, grid, work", "blocks:", f"SMs of the first {of.rows['sm_count'][0]}:", "blocks per SM:"),
        *("at once (theory):", "block replacement, cycles:", "traced occupancy:", "counter:"),
    )
    return table(head, map(line, traces_of(of)))


def figures(of):
    traces = traces_of(of)
    step = clock_step([trace.starts for trace in traces])
    late, spreads, gaps = [], [], []
    for trace in traces:
        # Of the first wave: blocks that found a place at once.
        starts = trace.starts[: trace.row["blocks_per_sm"] * trace.row["sm_count"]]
        spreads.append(max(starts) - min(starts))
        earliest = math.inf
        for start in reversed(starts):
            late.append(start - earliest)
            earliest = min(earliest, start)
        if parameter_of(trace.row, "shape") != "uneven_warps":
            gaps += trace.samples("replacement_latency_cycles")
    return bullets(
        f"The clock of starts steps {step:.0f} ns. In the first wave no block starts more than {max(late):.0f} ns after one of a "
        f"higher number, and all blocks of the wave start within {max(spreads):.0f} ns.",
        f"Uneven warps aside, block replacement takes {median(gaps):.0f} cycles at the median, "
        f"{quantile(gaps, 0.05):.0f} to {quantile(gaps, 0.95):.0f} from the 5th to the 95th percentile.",
    )


BLOCKS = {"cases": cases, "figures": figures}
