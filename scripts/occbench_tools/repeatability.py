"""How well two runs of one build agree, row by row: the error bars of the suite's times and occupancies. The second
run may have only a part of the cases."""

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.statistics import median, quantile

TIMED = ("ok", "unstable", "throttled")
CASE = ["experiment", "case"]


def compare(first: pl.DataFrame, second: pl.DataFrame) -> dict[str, float]:
    """What was found, by name."""
    first, second = (rows.filter(pl.col("time_status").is_in(TIMED)) for rows in (first, second))
    if absent := len(second.join(first, on=CASE, how="anti")):
        raise WrongInput(f"{absent} cases of the second run are not in the first")
    both = pl.concat([first.join(second, on=CASE, how="semi"), second], how="diagonal")
    pairs = second.join(first, on=CASE, suffix="_before")
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
