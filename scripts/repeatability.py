#!/usr/bin/env python3
"""How well two runs of one build agree, row by row: the error bars of the suite's times and occupancies.

usage: scripts/python scripts/repeatability.py FIRST.csv SECOND.csv
Prints what it found, and ends with 1 if a bound is not held: the spread of times within a run at most 0.5 % at the median
of cases of 100 µs or more and 2 % of those of 10 µs or more; achieved occupancy from run to run at most 0.2 points apart
at the median and 1.5 at the 90th percentile."""

import sys
from pathlib import Path

import polars

BOUNDS = {
    "time_spread_from_100_us_pct": 0.5,
    "time_spread_from_10_us_pct": 2.0,
    "achieved_apart_median_points": 0.2,
    "achieved_apart_p90_points": 1.5,
}
KEY = ["experiment", "case"]
NEEDED = [
    *KEY,
    "commit",
    "gpu_uuid",
    "time_status",
    "time_us",
    "time_spread_pct",
    "achieved_pct",
    "achieved_elapsed_pct",
]


def read(file: Path) -> polars.DataFrame:
    rows = polars.read_csv(file, infer_schema_length=None).select(NEEDED)
    return rows.filter(polars.col("time_status").is_in(["ok", "unstable", "throttled"]))


def compare(first_file: Path, second_file: Path) -> dict[str, float]:
    """What the text says, by name."""
    first, second = read(first_file), read(second_file)
    builds = set(first["commit"]) | set(second["commit"])
    if len(builds) != 1:
        sys.exit(f"these are runs of {len(builds)} builds, not of one: {', '.join(sorted(builds))}")
    both = first.join(second, on=KEY, suffix="_again")
    if both.height != max(first.height, second.height):
        sys.exit(f"{first_file} has {first.height} rows, {second_file} {second.height}, and {both.height} are in both")
    times = polars.concat([first, second])

    def spread(least_us: float) -> float:
        return times.filter(polars.col("time_us") >= least_us)["time_spread_pct"].median()

    def apart(column: str, quantile: float) -> float:
        return (both[column] - both[f"{column}_again"]).abs().drop_nulls().quantile(quantile, "linear")

    ratio = both["time_us_again"] / both["time_us"]
    return {
        "rows": both.height,
        "time_spread_from_100_us_pct": spread(100),
        "time_spread_from_10_us_pct": spread(10),
        "time_apart_median_pct": 100 * (ratio - 1).abs().median(),
        "time_apart_p90_pct": 100 * (ratio - 1).abs().quantile(0.9, "linear"),
        "achieved_apart_median_points": apart("achieved_pct", 0.5),
        "achieved_apart_p90_points": apart("achieved_pct", 0.9),
        "achieved_apart_most_points": apart("achieved_pct", 1),
        "elapsed_apart_median_points": apart("achieved_elapsed_pct", 0.5),
        "elapsed_apart_p90_points": apart("achieved_elapsed_pct", 0.9),
        "unstable": times.filter(polars.col("time_status") == "unstable").height,
        "throttled": times.filter(polars.col("time_status") == "throttled").height,
    }


def main() -> None:
    if len(sys.argv) != 3 or "--help" in sys.argv:
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 64)
    found = compare(Path(sys.argv[1]), Path(sys.argv[2]))
    for name, value in found.items():
        bound = BOUNDS.get(name)
        print(f"{name:30} {value:10.4g}" + (f"  (bound {bound:g})" if bound is not None else ""))
    sys.exit(any(found[name] > bound for name, bound in BOUNDS.items()))


if __name__ == "__main__":
    main()
