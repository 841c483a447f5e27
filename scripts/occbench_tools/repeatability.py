"""How well two runs of one build agree, row by row: the error bars of the suite's times and occupancies. The second
run may have only a part of the cases.

Prints each figure, and ends with 1 if one exceeds its bound. The spread of times within a run: at most 0.5 % at the median
of cases of 100 µs or more, and 2 % of those of 10 µs or more. The difference of achieved occupancy from run to run: at most
0.2 points at the median, and 1.5 at the 90th percentile.
"""

import argparse
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import read_rows
from occbench_tools.program import Occbench, binaries_of, declare_binaries
from occbench_tools.statistics import median, quantile

BOUNDS = {
    "time_spread_from_100_us_pct": 0.5,
    "time_spread_from_10_us_pct": 2.0,
    "achieved_difference_median_points": 0.2,
    "achieved_difference_p90_points": 1.5,
}
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


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", type=Path, metavar="FIRST.csv")
    parser.add_argument("second", type=Path, metavar="SECOND.csv")
    declare_binaries(parser)


def run(options: argparse.Namespace) -> int:
    occbench = Occbench(binaries_of(options) / "occbench")
    found = compare(read_rows(options.first, occbench), read_rows(options.second, occbench))
    for name, value in found.items():
        bound = BOUNDS.get(name)
        print(f"{name:30} {value:10.4g}" + (f"  (bound {bound:g})" if bound is not None else ""))
    return int(any(found[name] > bound for name, bound in BOUNDS.items()))
