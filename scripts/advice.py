#!/usr/bin/env python3
"""Writes what came of the advice: asked and advised launches, predicted and measured, from the rows of the program `advice`.

build/release/bin/advice --occ_suite=smoke --occ_csv=results/nvidia-h200/advice.csv
scripts/advice.py results/nvidia-h200/advice.csv > results/nvidia-h200/advice.md
"""

import argparse
import csv
import pathlib
import sys


def longest_cycles(row):
    """Active cycles of the longest SM, as predicted."""
    over_all = float(row["predicted_pct"]) / float(row["predicted_elapsed_pct"])
    return float(row["predicted_cycles_active"]) * over_all


def launch(row):
    return f"{row['grid_blocks']} x {row['block_threads']}"


def table(rows):
    pairs = {}
    for row in rows:
        parameters = dict(each.split("=", 1) for each in row["parameters"].split(";"))
        pairs.setdefault(parameters["question"], {})[parameters["launch"]] = row
    lines = [
        "| work | asked | advised | achieved, % | predicted, points | measured, points | time predicted | time measured |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for pair in pairs.values():
        if len(pair) != 2 or not all(row["achieved_pct"] and row["time_us"] for row in pair.values()):
            continue
        asked, advised = pair["asked"], pair["advised"]
        gain = {name: float(advised[name]) - float(asked[name]) for name in ("predicted_pct", "achieved_pct")}
        predicted_time = 100 * (longest_cycles(advised) / longest_cycles(asked) - 1)
        measured_time = 100 * (float(advised["time_us"]) / float(asked["time_us"]) - 1)
        lines.append(
            f"| `{asked['work']}` | {launch(asked)} | {launch(advised)} "
            f"| {float(asked['achieved_pct']):.1f} → {float(advised['achieved_pct']):.1f} "
            f"| {gain['predicted_pct']:+.1f} | {gain['achieved_pct']:+.1f} | {predicted_time:+.1f} % | {measured_time:+.1f} % |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=pathlib.Path, help="rows of the program `advice`")
    arguments = parser.parse_args()
    with arguments.rows.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{arguments.rows} has no rows: run the program `advice` with --occ_csv first")
    gpu, driver = rows[0]["gpu"], rows[0]["driver"]
    print(
        "# Advice that was tried\n"
        "For each launch the simulation looked for a grid or block size near it that does the same work sooner "
        "(`occbench predict` prints it). Both were run: blocks x threads, kernel `spin`, "
        f"{gpu}, driver {driver}. Less time is better.\n"
    )
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
