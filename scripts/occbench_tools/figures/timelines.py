"""Figures of results/nvidia-h200/depth.md: timelines, warp records, files per SM and repeated runs."""

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import CASE, PER_SM, SAMPLE, TIMELINE, Results, Row, each, median, quantile, read_table
from occbench_tools.markdown import bullets, stamped, table_by

ALL_TIMELINES = {"mean_pct": pl.Float64, "achieved_elapsed_pct": pl.Float64, "rms_points": pl.Float64}
REPLACED = {"replacement_latency_median_us": pl.Float64}


def rows_by_case(rows: pl.DataFrame) -> dict[tuple[str, str], Row]:
    return {(row["experiment"], row["case"]): row for row in each(rows)}


class Timeline:
    """Occupancy over time of a launch: steps with their length in µs, what was measured and what was simulated."""

    def __init__(self, file):
        lines = read_table(file, TIMELINE)
        self.key = lines.select("experiment", "case").row(0)
        self.steps = lines.select(
            pl.col("time_us").diff().shift(-1).alias("length"),
            pl.col("active_warps_pct").alias("measured"),
            pl.col("predicted_active_warps_pct").alias("simulated"),
        ).drop_nulls("length")

    def mean(self) -> float:
        """Over the time in which the launch ran."""
        ran = pl.int_range(pl.len()) <= pl.arg_where(pl.col("measured") > 0).last()
        known = self.steps.filter(ran).drop_nulls("measured")
        return (known["length"] * known["measured"]).sum() / known["length"].sum()

    def rms(self) -> float:
        """Root mean square over time of measured less simulated."""
        both = self.steps.drop_nulls()
        difference = both["measured"] - both["simulated"]
        return ((both["length"] * difference * difference).sum() / both["length"].sum()) ** 0.5


def timeline_table(results: Results) -> str:
    rows = results.rows("timeline/rows.csv")
    recorded = rows_by_case(rows)
    found = [
        (timeline, recorded[timeline.key])
        for timeline in map(Timeline, sorted((results.folder / "timeline").glob("*.timeline.csv")))
    ]
    lines = (
        {
            "experiment": timeline.key[0],
            "case": row["parameters"].replace(";", ", "),
            "step, µs:": f"{median(timeline.steps.filter(pl.col('measured') > 0)['length']):.2f}",
            "mean over time:": f"{timeline.mean():.2f}",
            "counter, over elapsed cycles:": f"{row['achieved_elapsed_pct']:.2f}",
            "simulator, RMS:": f"{timeline.rms():.1f}",
        }
        for timeline, row in found
    )
    off = [abs(timeline.mean() - row["achieved_elapsed_pct"]) for timeline, row in found]
    misses = [timeline.rms() for timeline, _ in found]
    told = bullets(
        f"The mean over time is within 1 point of the range counter in {sum(each <= 1 for each in off)} of {len(off)} cases, "
        f"{max(off):.2f} points from it at most.",
        f"The simulated timeline is {median(misses):.1f} points (root mean square over time) from the measured "
        f"one at the median, {max(misses):.1f} at most.",
        *all_timelines(results),
    )
    return f"{stamped(rows)}:\n\n{table_by(lines)}\n\n{told}"


def all_timelines(results: Results):
    """Of each experiment, of the timelines too that are not kept."""
    every = read_table(results.file("timeline/all.csv"), ALL_TIMELINES).with_columns(
        difference=(pl.col("mean_pct") - pl.col("achieved_elapsed_pct")).abs()
    )
    for (experiment,), found in sorted(every.partition_by("experiment", as_dict=True).items()):
        yield (
            f"All {len(found)} cases that were recorded of `{experiment}`: the mean within 1 point in "
            f"{(found['difference'] <= 1).sum()}, the simulation within 5 points in "
            f"{(found['rms_points'] <= 5).sum()}, {found['rms_points'].max():.1f} at most."
        )


def warp_record_table(results: Results) -> str:
    """Recorded launches against the counter of the same launches, and of launches that were not recorded."""
    samples = read_table(results.file("per_sm/traced.samples.csv"), SAMPLE)
    case = ["experiment", "case"]
    same, counters = (samples.filter(quantity=f"same_launch_{each}_pct") for each in ("trace", "counter"))
    pairs = same.join(counters, on=[*case, "index"], suffix="_counter")
    difference = (pairs["value"] - pairs["value_counter"]).abs()
    traced = samples.filter(quantity="achieved_pct_by_trace").group_by(case, maintain_order=True)
    compared = traced.agg(median(pl.col("value"))).join(
        results.rows("timeline/rows.csv"), on=case, maintain_order="left"
    )
    # Equal blocks in a partial wave spread over SMs as chance and timing have it.
    partial = pl.col("work").str.starts_with("equal") & (pl.col("waves") > 1) & (pl.col("waves") % 1 > 0)
    compared = compared.with_columns(difference=(pl.col("value") - pl.col("achieved_pct")).abs(), partial=partial)
    parts = []
    if len(difference):
        cases = counters.select(case).n_unique()
        parts.append(
            f"`spin` against the same launch: {median(difference):.2f} points from the counter at the median, {difference.max():.2f} at "
            f"most, in {len(difference)} launches of {cases} cases."
        )
    for name in ("without partial last waves of equal blocks", "partial last waves of equal blocks"):
        found = compared.filter(partial=name.startswith("partial"))["difference"]
        if len(found):
            parts.append(
                f"`spin` against other launches, {name}: {median(found):.2f} points from the counter at the median, "
                f"{found.max():.2f} at most, in {len(found)} cases."
            )
    return bullets(*parts)


def per_sm(results: Results) -> str:
    spreads, gaps = [], []
    for file in sorted((results.folder / "per_sm").glob("*.per_sm.csv")):
        lines = read_table(file, PER_SM | REPLACED).filter(launch=0)
        achieved = lines["achieved_pct"]
        spreads.append((achieved.max() - achieved.min(), lines["case"][0], achieved.min(), achieved.max()))
        gaps.append(lines["replacement_latency_median_us"].drop_nulls())
    most = max(spreads)
    gap = pl.concat(gaps)
    return bullets(
        f"SMs differ most in `{most[1]}`: from {most[2]:.1f} to {most[3]:.1f} % of their warps in their own active cycles; at the "
        f"median of {len(spreads)} cases they differ by {median(spread[0] for spread in spreads):.1f} points.",
        f"Block replacement takes {median(gap):.2f} µs at the median of {len(gap)} SMs.",
    )


TIMED = ("ok", "unstable", "throttled")


def repeatability(first: pl.DataFrame, second: pl.DataFrame) -> dict[str, float]:
    """How well two runs of one build agree, row by row. The second run may have only a part of the cases."""
    first, second = (rows.filter(pl.col("time_status").is_in(TIMED)) for rows in (first, second))
    if absent := len(second.join(first, on=list(CASE), how="anti")):
        raise WrongInput(f"{absent} cases of the second run are not in the first")
    both = pl.concat([first.join(second, on=list(CASE), how="semi"), second], how="diagonal")
    pairs = second.join(first, on=list(CASE), suffix="_before")
    if others := len(pairs.filter(pl.col("commit") != pl.col("commit_before"))):
        raise WrongInput(f"{others} cases of the second run are of another build than in the first")

    def spread(least_us: float) -> float:
        return median(both.filter(pl.col("time_us") >= least_us)["time_spread_pct"])

    def difference(column: str) -> pl.Series:
        return (pairs[column] - pairs[f"{column}_before"]).abs().drop_nulls()

    times = 100 * (pairs["time_us"] / pairs["time_us_before"] - 1).abs()
    achieved, elapsed = difference("achieved_pct"), difference("achieved_elapsed_pct")
    return {
        "rows": len(second),
        "time_spread_from_100_us_pct": spread(100),
        "time_spread_from_10_us_pct": spread(10),
        "time_difference_median_pct": median(times),
        "time_difference_p90_pct": quantile(times, 0.9),
        "achieved_difference_median_points": median(achieved),
        "achieved_difference_p90_points": quantile(achieved, 0.9),
        "achieved_difference_most_points": achieved.max(),
        "elapsed_difference_median_points": median(elapsed),
        "elapsed_difference_p90_points": quantile(elapsed, 0.9),
        "unstable": len(both.filter(time_status="unstable")),
        "throttled": len(both.filter(time_status="throttled")),
    }


def repeatability_block(results: Results) -> str:
    found = repeatability(results.rows("full.csv"), results.rows("repeat.csv"))
    return bullets(
        f"Two runs of one build, {found['rows']:.0f} cases each, {found['unstable']:.0f} unstable and "
        f"{found['throttled']:.0f} throttled.",
        f"Times within a run: the middle half of a case's launches is within {found['time_spread_from_100_us_pct']:.2f} % of their "
        f"median at the median of cases of 100 µs or more, {found['time_spread_from_10_us_pct']:.2f} % of those of 10 µs or more.",
        f"Times differ from run to run by {found['time_difference_median_pct']:.2f} % at the median, {found['time_difference_p90_pct']:.2f} % at "
        f"the 90th percentile.",
        f"Achieved occupancy differs from run to run by {found['achieved_difference_median_points']:.2f} points at the median, "
        f"{found['achieved_difference_p90_points']:.2f} at the 90th percentile, {found['achieved_difference_most_points']:.1f} at most; over "
        f"elapsed cycles {found['elapsed_difference_median_points']:.2f} and {found['elapsed_difference_p90_points']:.2f}.",
    )


BLOCKS = {
    "depth: timelines": timeline_table,
    "depth: warp records": warp_record_table,
    "depth: per SM": per_sm,
    "depth: repeatability": repeatability_block,
}
