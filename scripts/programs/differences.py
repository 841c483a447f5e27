"""How far sampled values are from counted ones, kernel by kernel. `differences.py SAMPLED.csv COUNTED.csv`

COUNTED.csv is a trace of the same program with --counters N. Kernels that it repeats within 0.3 points are compared; the others' spread
is listed. Prints a line for each class of times, and the kernels that differ most.
"""

import csv
import statistics
import sys

STABLE_POINTS = 0.3
KEY = ("variant", "kernel", "grid_blocks", "block_threads", "dynamic_shared_bytes")
CLASSES_US = (0, 5, 20, float("inf"))


def rows(file):
    with open(file, encoding="utf-8", newline="") as lines:
        return {tuple(map(row.get, KEY)): row for row in csv.DictReader(lines)}


def number(row, column):
    return float(row[column] or 0)


sampled, counted = (rows(file) for file in sys.argv[1:])
total = sum(number(row, "total_time_us") for row in counted.values())
both = {key for key in sampled.keys() & counted.keys() if sampled[key]["achieved_pct"] and counted[key]["achieved_pct"]}
stable = {key for key in both if number(counted[key], "achieved_spread_points") <= STABLE_POINTS}


def share(keys):
    return 100 * sum(number(counted[key], "total_time_us") for key in keys) / max(total, 1e-9)


def difference(key):
    return number(sampled[key], "achieved_pct") - number(counted[key], "achieved_pct")


print(
    f"{len(sampled)} rows sampled, {len(counted)} counted; both have {len(both)} with {share(both):.1f} % of the counted time, of which"
)
print(f"{len(stable)} with {share(stable):.1f} % repeat within {STABLE_POINTS} points when counted:")
for low, high in zip(CLASSES_US, CLASSES_US[1:], strict=False):
    points = sorted(abs(difference(key)) for key in stable if low <= number(counted[key], "time_us") < high)
    if points:
        near = [sum(point <= limit for point in points) / len(points) for limit in (0.5, 1)]
        print(
            f"  {low} to {high} us: {len(points)} kernels, median {statistics.median(points):.2f}, 95th {points[int(0.95 * (len(points) - 1))]:.2f}, "
            f"worst {points[-1]:.2f} points; {100 * near[0]:.0f} % within 0.5, {100 * near[1]:.0f} % within 1"
        )
for key in sorted(both, key=lambda key: -abs(difference(key)))[:25]:
    row, other = sampled[key], counted[key]
    print(
        f"  {difference(key):+7.2f} points{'' if key in stable else ' (not stable)'}, sampled {number(row, 'time_us'):.2f} us, counted "
        f"{number(other, 'time_us'):.2f} us, {number(other, 'achieved_pct'):.2f} % spread {number(other, 'achieved_spread_points'):.2f}  {row['case'][:70]}  {row['note'][:60]}"
    )
