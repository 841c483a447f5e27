import math
from collections import Counter

import polars as pl

from occbench_tools.dataset import each, median, parameter_of, quantile
from occbench_tools.markdown import bullets, cell, table
from occbench_tools.verdicts import Finding


def clock_step(recordings):
    """Nanoseconds by which the device's clock goes on, as far as warp records show: closer starts are simultaneous."""
    times = sorted({time for recording in recordings for time in recording})
    return min((after - before for before, after in zip(times, times[1:], strict=False)), default=0)


def starts_ascending(starts, step):
    """Whether no block started later than one of a higher number did, by more than the clock's step."""
    starts = pl.Series(starts)
    return (starts - starts.cum_min(reverse=True)).max() <= step


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


class Recording:
    """What warp records say of a case: lists with a value a block, of one launch and of the same `again`."""

    def __init__(self, of, row):
        self.samples = lambda quantity: of.samples(row, f"trace_{quantity}").to_list()
        self.row = row
        self.sms, self.starts = self.samples("sm"), self.samples("start_ns")
        self.again_sms, self.again_starts = self.samples("again_sm"), self.samples("again_start_ns")


def recordings_of(of):
    recordings = (Recording(of, row) for row in each(of.rows))
    return [recording for recording in recordings if recording.sms]


def findings(of):
    recordings = recordings_of(of)
    twice = [recording for recording in recordings if recording.again_sms]
    step = clock_step([starts for recording in recordings for starts in (recording.starts, recording.again_starts)])
    moved = sum(recording.sms != recording.again_sms for recording in twice)
    reordered = sum(swapped(recording.starts, recording.again_starts, step) for recording in twice)
    ascending = sum(starts_ascending(recording.starts, step) for recording in recordings)
    found = []
    if twice:
        found = [
            Finding("the SM", moved > 0, f"launched twice, blocks went to other SMs in {moved} of {len(twice)} cases"),
            Finding("the order", reordered > 0, f"started in another order in {reordered}"),
        ]
    if recordings:
        measured = f"started in ascending order in {ascending} of {len(recordings)} (the clock steps {step:.0f} ns)"
        found.append(Finding("ascending starts", ascending < len(recordings), measured))
    return found


def line(recording):
    row = recording.row
    shares = Counter(recording.sms).values()
    gaps = recording.samples("replacement_latency_cycles")
    names = (parameter_of(row, name).replace("_", " ") for name in ("grid", "shape"))
    return {
        "threads, grid, work": ", ".join((str(row["block_threads"]), *names)),
        "blocks:": row["grid_blocks"],
        f"SMs of the first {row['sm_count']}:": len(set(recording.sms[: row["sm_count"]])),
        "blocks per SM:": min(shares) if min(shares) == max(shares) else f"{min(shares)} to {max(shares)}",
        "at once (theory):": f"{max(recording.samples('most_blocks')):.0f} ({row['blocks_per_sm']})",
        "block replacement, cycles:": f"{median(gaps):.0f}" if gaps else "",
        "recorded occupancy:": f"{recording.samples('achieved_pct')[0]:.1f}",
        "counter:": cell(row, "achieved_pct"),
    }


def cases(of):
    lines = [line(recording) for recording in recordings_of(of)]
    return table(lines[0], (found.values() for found in lines))


def figures(of):
    recordings = recordings_of(of)
    step = clock_step([recording.starts for recording in recordings])
    # Of the first wave: blocks that found a place at once.
    firsts = [
        pl.Series(recording.starts[: recording.row["blocks_per_sm"] * recording.row["sm_count"]])
        for recording in recordings
    ]
    late = max((starts - starts.cum_min(reverse=True)).max() for starts in firsts)
    spread = max(starts.max() - starts.min() for starts in firsts)

    def replacement(shape):
        alike = (recording for recording in recordings if parameter_of(recording.row, "shape") == shape)
        gaps = [gap for recording in alike for gap in recording.samples("replacement_latency_cycles")]
        return f"{median(gaps):.0f} cycles at the median ({quantile(gaps, 0.05):.0f} to {quantile(gaps, 0.95):.0f})"

    return bullets(
        f"The clock of starts steps {step:.0f} ns. In the first wave no block starts more than {late:.0f} ns after one of a "
        f"higher number, and all blocks of the wave start within {spread:.0f} ns.",
        f"Block replacement, 5th to 95th percentile in brackets: {replacement('equal')} with equal blocks, "
        f"{replacement('uneven_blocks')} with uneven ones.",
    )


BLOCKS = {"cases": cases, "figures": figures}
