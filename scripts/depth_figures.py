"""Blocks of results/nvidia-h200/depth.md, computed from the timelines, traces and repeated runs that are recorded beside it
(see readme.py)."""

import math
import statistics
from collections import defaultdict

import repeatability
from markdown import bullets, table
from recorded import RESULTS, SUITE, read_csv


def rows():
    return {(row["experiment"], row["case"]): row for row in read_csv(RESULTS / "timeline" / "rows.csv")}


class Timeline:
    """Steps of a launch: (length in µs, measured or None, predicted or None)."""

    def __init__(self, file):
        lines = read_csv(file)
        self.key = (lines[0]["experiment"], lines[0]["case"])
        times = [float(line["time_us"]) for line in lines]
        self.steps = [
            (end - start, *(float(line[name]) if line[name] else None for name in COLUMNS))
            for start, end, line in zip(times, times[1:], lines, strict=False)
        ]

    def mean(self):
        """Over the time in which the launch ran."""
        last = max(i for i, (_, measured, _) in enumerate(self.steps) if measured)
        known = [(length, measured) for length, measured, _ in self.steps[: last + 1] if measured is not None]
        return sum(length * measured for length, measured in known) / sum(length for length, _ in known)

    def rms(self):
        """Root mean square over time of measured less predicted."""
        both = [(length, m - p) for length, m, p in self.steps if m is not None and p is not None]
        return math.sqrt(sum(length * miss * miss for length, miss in both) / sum(length for length, _ in both))

    def step_us(self):
        return statistics.median(length for length, measured, _ in self.steps if measured)


COLUMNS = ("active_warps_pct", "predicted_active_warps_pct")


def timelines():
    return [Timeline(file) for file in sorted((RESULTS / "timeline").glob("*.timeline.csv"))]


def timeline_table():
    lines, differences, misses = [], [], []
    recorded = rows()
    for timeline in timelines():
        row = recorded[timeline.key]
        counter = float(row["achieved_elapsed_pct"])
        differences.append(timeline.mean() - counter)
        misses.append(timeline.rms())
        lines.append(
            (
                timeline.key[0],
                row["parameters"].replace(";", ", "),
                f"{timeline.step_us():.2f}",
                f"{timeline.mean():.2f}",
                f"{counter:.2f}",
                f"{timeline.rms():.1f}",
            )
        )
    head = ("experiment", "case", "step, µs:", "mean over time:", "counter, over elapsed cycles:", "simulator, RMS:")
    close = sum(abs(difference) <= 1 for difference in differences)
    return (
        table(head, lines)
        + "\n\n"
        + bullets(
            f"The mean over time is within 1 point of the range counter in {close} of {len(lines)} cases, "
            f"{max(map(abs, differences)):.2f} points from it at most.",
            f"The simulated timeline is {statistics.median(misses):.1f} points (root mean square over time) from the measured "
            f"one at the median, {max(misses):.1f} at most.",
            *all_timelines(),
        )
    )


def all_timelines():
    """Of each experiment, of the timelines too that are not kept."""
    file = RESULTS / "timeline" / "all.csv"
    of_experiment = defaultdict(list)
    for line in read_csv(file) if file.exists() else []:
        difference = abs(float(line["mean_pct"]) - float(line["achieved_elapsed_pct"]))
        of_experiment[line["experiment"]].append((difference, float(line["rms_points"])))
    for experiment, found in sorted(of_experiment.items()):
        differences, misses = zip(*found, strict=True)
        yield (
            f"All {len(found)} cases that were recorded of `{experiment}`: the mean within 1 point in "
            f"{sum(difference <= 1 for difference in differences)}, the simulation within 5 points in "
            f"{sum(miss <= 5 for miss in misses)}, {max(misses):.1f} at most."
        )


def trace_table():
    """Traced launches against the counter of the same launches, and of launches that were not traced."""
    of_quantity = defaultdict(lambda: defaultdict(list))
    for sample in read_csv(RESULTS / "per_sm" / "traced.samples.csv"):
        of_quantity[sample["quantity"]][sample["experiment"], sample["case"]].append(float(sample["value"]))
    traced = of_quantity["achieved_pct_by_trace"]
    counters = of_quantity["same_launch_counter_pct"]
    same = [
        abs(trace - counter)
        for key, traces in of_quantity["same_launch_trace_pct"].items()
        for trace, counter in zip(traces, counters[key], strict=True)
    ]
    recorded = rows()
    whole, partial = [], []
    for key, values in traced.items():
        row = recorded[key]
        difference = abs(statistics.median(values) - float(row["achieved_pct"]))
        # Equal blocks in a partial wave spread over SMs as chance and timing have it.
        uneven = row["work"].startswith("equal") and float(row["waves"]) > 1 and float(row["waves"]) % 1 > 0
        (partial if uneven else whole).append(difference)
    parts = []
    if same:
        parts.append(
            f"`spin` against the same launch: {statistics.median(same):.2f} points from the counter at the median, {max(same):.2f} at "
            f"most, in {len(same)} launches of {len(counters)} cases."
        )
    parts += [
        f"`spin` against other launches, {name}: {statistics.median(found):.2f} points from the counter at the median, {max(found):.2f} at most, in "
        f"{len(found)} cases."
        for name, found in (("partial last waves of equal blocks aside", whole), ("those", partial))
        if found
    ]
    return bullets(*parts)


def per_sm():
    spreads, gaps = [], []
    for file in sorted((RESULTS / "per_sm").glob("*.per_sm.csv")):
        lines = [line for line in read_csv(file) if line["launch"] == "0"]
        achieved = [float(line["achieved_pct"]) for line in lines]
        spreads.append((max(achieved) - min(achieved), lines[0]["case"], min(achieved), max(achieved)))
        gaps += [
            float(line["replacement_latency_median_us"]) for line in lines if line["replacement_latency_median_us"]
        ]
    most = max(spreads)
    return bullets(
        f"SMs differ most in `{most[1]}`: from {most[2]:.1f} to {most[3]:.1f} % of their warps in their own active cycles; at the "
        f"median of {len(spreads)} cases they are {statistics.median(spread[0] for spread in spreads):.1f} points apart.",
        f"A place is handed on within {statistics.median(gaps):.2f} µs at the median of {len(gaps)} SMs.",
    )


def repeatability_block():
    found = repeatability.compare(SUITE, RESULTS / "again.csv")
    return bullets(
        f"Two runs of one build, {found['rows']:.0f} cases each, {found['unstable']:.0f} unstable and "
        f"{found['throttled']:.0f} throttled.",
        f"Times within a run: the middle half of a case's launches is within {found['time_spread_from_100_us_pct']:.2f} % of their "
        f"median at the median of cases of 100 µs or more, {found['time_spread_from_10_us_pct']:.2f} % of those of 10 µs or more.",
        f"Times from run to run: {found['time_apart_median_pct']:.2f} % apart at the median, {found['time_apart_p90_pct']:.2f} % at "
        f"the 90th percentile.",
        f"Achieved occupancy from run to run: {found['achieved_apart_median_points']:.2f} points apart at the median, "
        f"{found['achieved_apart_p90_points']:.2f} at the 90th percentile, {found['achieved_apart_most_points']:.1f} at most; of "
        f"elapsed {found['elapsed_apart_median_points']:.2f} and {found['elapsed_apart_p90_points']:.2f}.",
    )


BLOCKS = {
    "depth: timelines": timeline_table,
    "depth: traces": trace_table,
    "depth: per SM": per_sm,
    "depth: repeatability": repeatability_block,
}
