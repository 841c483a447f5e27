import math
import statistics
from collections import Counter

from markdown import bullets, cell, table
from verdicts import Finding


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


def traced(rows):
    return [row for row in rows if row.samples["trace_sm"]]


def findings(rows):
    traces = [row.samples for row in traced(rows)]
    twice = [trace for trace in traces if trace["trace_again_sm"]]
    step = clock_step([trace[name] for trace in traces for name in ("trace_start_ns", "trace_again_start_ns")])
    moved = sum(trace["trace_sm"] != trace["trace_again_sm"] for trace in twice)
    reordered = sum(swapped(trace["trace_start_ns"], trace["trace_again_start_ns"], step) for trace in twice)
    ascending = sum(starts_ascending(trace["trace_start_ns"], step) for trace in traces)
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


def line(row):
    trace = row.samples
    shares = Counter(trace["trace_sm"]).values()
    gaps = trace["trace_replacement_latency_cycles"]
    return (
        f"{row['block_threads']}, {row.parameter('grid').replace('_', ' ')}, {row.parameter('shape').replace('_', ' ')}",
        row["grid_blocks"],
        str(len(set(trace["trace_sm"][: int(row["sm_count"])]))),
        str(min(shares)) if min(shares) == max(shares) else f"{min(shares)} to {max(shares)}",
        f"{max(trace['trace_most_blocks']):.0f} ({row['blocks_per_sm']})",
        f"{statistics.median(gaps):.0f}" if gaps else "",
        f"{trace['trace_achieved_pct'][0]:.1f}",
        cell(row, "achieved_pct"),
    )


def cases(rows):
    head = (
        *("threads, grid, work", "blocks:", f"SMs of the first {rows[0]['sm_count']}:", "blocks an SM:"),
        *("at once (theory):", "block replacement, cycles:", "traced occupancy:", "counter:"),
    )
    return table(head, map(line, traced(rows)))


def figures(rows):
    step = clock_step([row.samples["trace_start_ns"] for row in traced(rows)])
    late, spreads, gaps = [], [], []
    for row in traced(rows):
        # Of the first wave: blocks that found a place at once.
        wave = int(row["blocks_per_sm"]) * int(row["sm_count"])
        starts = row.samples["trace_start_ns"][:wave]
        spreads.append(max(starts) - min(starts))
        earliest = math.inf
        for start in reversed(starts):
            late.append(start - earliest)
            earliest = min(earliest, start)
        if row.parameter("shape") != "uneven_warps":
            gaps += row.samples["trace_replacement_latency_cycles"]
    twentieths = statistics.quantiles(gaps, n=20)
    return bullets(
        f"The clock of starts steps {step:.0f} ns. In the first wave no block starts more than {max(late):.0f} ns after one of a "
        f"higher number, and a whole wave is there within {max(spreads):.0f} ns.",
        f"Uneven warps aside, a freed place has a new block after {statistics.median(gaps):.0f} cycles at the median, 5 to 95 %: "
        f"{twentieths[0]:.0f} to {twentieths[-1]:.0f}.",
    )


BLOCKS = {"cases": cases, "figures": figures}
