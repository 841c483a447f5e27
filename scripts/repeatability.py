#!/usr/bin/env python3
"""How well two runs of one build agree, row by row: the error bars of the suite's times and occupancies. The second
may be of a part of the cases.

Prints what it found, and ends with 1 if a bound is not held: the spread of times within a run at most 0.5 % at the median
of cases of 100 µs or more and 2 % of those of 10 µs or more; achieved occupancy from run to run at most 0.2 points apart
at the median and 1.5 at the 90th percentile.
"""

import argparse
import statistics
import sys
from pathlib import Path

from recorded import read_csv

BOUNDS = {
    "time_spread_from_100_us_pct": 0.5,
    "time_spread_from_10_us_pct": 2.0,
    "achieved_apart_median_points": 0.2,
    "achieved_apart_p90_points": 1.5,
}
TIMED = ("ok", "unstable", "throttled")


def read(file: Path) -> dict[tuple[str, str], dict[str, str]]:
    rows = [row for row in read_csv(file) if row["time_status"] in TIMED]
    return {(row["experiment"], row["case"]): row for row in rows}


def quantile(values: list[float], share: float) -> float:
    """By linear interpolation, as NumPy and the suite's own statistics do."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def compare(first_file: Path, second_file: Path) -> dict[str, float]:
    """What the text says, by name."""
    first, second = read(first_file), read(second_file)
    rows = [*first.values(), *second.values()]
    builds = {row["commit"] for row in rows}
    if len(builds) != 1:
        sys.exit(f"these are runs of {len(builds)} builds, not of one: {', '.join(sorted(builds))}")
    if not second.keys() <= first.keys():
        sys.exit(f"{len(second.keys() - first.keys())} cases of {second_file} are not in {first_file}")
    rows = [row for key, row in [*first.items(), *second.items()] if key in second]

    def spread(least_us: float) -> float:
        return statistics.median(float(row["time_spread_pct"]) for row in rows if float(row["time_us"]) >= least_us)

    def apart(column: str) -> list[float]:
        pairs = [(first[key][column], second[key][column]) for key in second]
        return [abs(float(one) - float(other)) for one, other in pairs if one and other]

    times = [100 * abs(float(second[key]["time_us"]) / float(first[key]["time_us"]) - 1) for key in second]
    achieved, elapsed = apart("achieved_pct"), apart("achieved_elapsed_pct")
    return {
        "rows": len(second),
        "time_spread_from_100_us_pct": spread(100),
        "time_spread_from_10_us_pct": spread(10),
        "time_apart_median_pct": statistics.median(times),
        "time_apart_p90_pct": quantile(times, 0.9),
        "achieved_apart_median_points": statistics.median(achieved),
        "achieved_apart_p90_points": quantile(achieved, 0.9),
        "achieved_apart_most_points": max(achieved),
        "elapsed_apart_median_points": statistics.median(elapsed),
        "elapsed_apart_p90_points": quantile(elapsed, 0.9),
        "unstable": sum(row["time_status"] == "unstable" for row in rows),
        "throttled": sum(row["time_status"] == "throttled" for row in rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, metavar="FIRST.csv")
    parser.add_argument("second", type=Path, metavar="SECOND.csv")
    files = parser.parse_args()
    found = compare(files.first, files.second)
    for name, value in found.items():
        bound = BOUNDS.get(name)
        print(f"{name:30} {value:10.4g}" + (f"  (bound {bound:g})" if bound is not None else ""))
    sys.exit(any(found[name] > bound for name, bound in BOUNDS.items()))


if __name__ == "__main__":
    main()
