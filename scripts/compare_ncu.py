#!/usr/bin/env python3
"""Compares occbench's counters, times and costs with ncu's on the same launches.

Needs a GPU, permission to read its counters, and ncu on the PATH; nothing but Python's own library. Both look at the
kernel `spin` of the experiments block_size and waves: occbench measures the quick suite, then ncu profiles each case once
(bench_* --occ_profile, clocks and caches left alone, occbench's own counters off).

    scripts/compare_ncu.py build/release/bin results/nvidia-h200/against_ncu.csv
"""

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorded import read_csv, write_csv

EXPERIMENTS = ("block_size", "waves")
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
DURATION = "gpu__time_duration.sum"
PATTERN = f"^({'|'.join(EXPERIMENTS)})/spin/plain/"
LAUNCHES_PER_CASE = 2  # --occ_profile checks a case, then launches it: the second is the one that is compared


def run(command: list[str]) -> float:
    """Seconds that the command took; ends the program if it failed."""
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - start


def read_ncu(log: Path) -> list[dict[str, float]]:
    """Achieved occupancy in percent and duration in microseconds of each compared launch."""
    lines = [line for line in log.read_text().splitlines() if line.startswith('"')]
    units, *launches = csv.DictReader(lines)
    scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3}[units[DURATION]]
    return [
        {"achieved": float(row[ACHIEVED]), "microseconds": scale * float(row[DURATION].replace(",", ""))}
        for row in launches[LAUNCHES_PER_CASE - 1 :: LAUNCHES_PER_CASE]
    ]


def profile(binaries: Path, experiment: str, folder: Path) -> tuple[list[dict[str, float]], float]:
    """ncu's launches of an experiment, and what profiling cost per launch in milliseconds."""
    bench = [str(binaries / f"bench_{experiment}"), "--occ_profile", f"--benchmark_filter={PATTERN}"]
    log = folder / f"{experiment}.csv"
    ncu = ["ncu", "--clock-control", "none", "--cache-control", "none", "--kernel-name", "spin_kernel"]
    ncu += ["--csv", "--page", "raw", "--metrics", f"{ACHIEVED},{DURATION}", "--log-file", str(log)]
    alone = run(bench)
    profiled = run(ncu + bench)
    launches = read_ncu(log)
    return launches, 1e3 * (profiled - alone) / (LAUNCHES_PER_CASE * len(launches))


def compare(binaries: Path) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows_file = folder / "rows.csv"
        run([str(binaries / "occbench"), "run", "--suite", "quick", "--filter", PATTERN, "--require-gpu"]
            + ["--counters", "require", "--out", str(rows_file)])  # fmt: skip
        rows = read_csv(rows_file)
        counting = {
            (sample["experiment"], sample["case"]): float(sample["value"])
            for sample in read_csv(folder / "rows.samples.csv")
            if sample["quantity"] == "counting_ms_per_launch"
        }
        table = []
        for experiment in EXPERIMENTS:
            launches, cost = profile(binaries, experiment, folder)
            ours = [row for row in rows if row["experiment"] == experiment]
            if len(ours) != len(launches):
                sys.exit(f"{experiment}: occbench has {len(ours)} cases, ncu saw {len(launches)}")
            for row, launch in zip(ours, launches, strict=True):
                achieved, microseconds = float(row["achieved_pct"]), float(row["time_us"])
                table.append(
                    {key: row[key] for key in ("commit", "gpu", "driver", "recorded_at", "experiment", "case")}
                    | {
                        "achieved_pct": f"{achieved:.2f}",
                        "achieved_spread_points": row["achieved_spread_points"],
                        "ncu_achieved_pct": f"{launch['achieved']:.2f}",
                        "achieved_difference_points": f"{achieved - launch['achieved']:.2f}",
                        "time_us": f"{microseconds:.3f}",
                        "ncu_time_us": f"{launch['microseconds']:.3f}",
                        "time_difference_us": f"{microseconds - launch['microseconds']:.3f}",
                        "counting_ms_per_launch": f"{counting[experiment, row['case']]:.3f}",
                        "ncu_ms_per_launch": f"{cost:.3f}",
                    }
                )
        return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path, help="folder of occbench and the bench binaries")
    parser.add_argument("out", type=Path, help="CSV to write")
    arguments = parser.parse_args()
    table = compare(arguments.binaries.resolve())
    write_csv(arguments.out, table)
    close = sum(abs(float(row["achieved_difference_points"])) <= 0.3 for row in table)
    ours = statistics.median(float(row["counting_ms_per_launch"]) for row in table)
    ncu = statistics.median(float(row["ncu_ms_per_launch"]) for row in table)
    print(f"{close} of {len(table)} cases within 0.3 points; a counted launch costs {ours:.2f} ms, ncu's {ncu:.2f} ms")


if __name__ == "__main__":
    main()
