"""Compares occbench's counters, times and costs with ncu's on the same launches.

Needs a GPU, permission to read its counters, and ncu on the PATH; no Python package. Both look at the kernel `spin` of the
experiments block_size and waves: occbench measures the quick suite, then ncu profiles each case once (bench_* --occ_profile,
clocks and caches left alone, occbench's own counters off).

    scripts/python -m occbench_tools compare-ncu results/nvidia-h200/against_ncu.csv
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path
from statistics import median

from occbench_tools import WrongInput, ncu_rules
from occbench_tools.ncu_rules import output_of, under_ncu, write_lines

EXPERIMENTS = ("block_size", "waves")
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
DURATION = "gpu__time_duration.sum"
PATTERN = f"^({'|'.join(EXPERIMENTS)})/spin/plain/"
LAUNCHES_PER_CASE = 2  # --occ_profile checks a case, then launches it: the second is the one that is compared
METRICS = f"{ACHIEVED},{DURATION}"


def profile(binaries: Path, experiment: str, log: Path) -> tuple[list[dict[str, str]], float]:
    """ncu's compared launches of an experiment, and what profiling cost per launch in milliseconds."""
    bench = [binaries / f"bench_{experiment}", "--occ_profile", f"--benchmark_filter={PATTERN}"]
    begin = time.monotonic()
    output_of(*bench)
    middle = time.monotonic()
    launches = under_ncu(log, "--kernel-name", "spin_kernel", "--page", "raw", "--metrics", METRICS, *bench)[1:]
    cost = time.monotonic() - middle - (middle - begin)
    return launches[LAUNCHES_PER_CASE - 1 :: LAUNCHES_PER_CASE], 1e3 * cost / len(launches)


def read_lines(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def line_of(row: dict[str, str], launch: dict[str, str], counting: float, cost: float) -> dict[str, str]:
    achieved, microseconds = float(row["achieved_pct"]), float(row["time_us"])
    ncu_achieved, ncu_us = float(launch[ACHIEVED]), 1e-3 * float(launch[DURATION].replace(",", ""))
    return {key: row[key] for key in ("commit", "gpu", "driver", "recorded_at", "experiment", "case")} | {
        "achieved_pct": f"{achieved:.2f}",
        "achieved_spread_points": f"{float(row['achieved_spread_points']):g}",
        "ncu_achieved_pct": f"{ncu_achieved:.2f}",
        "achieved_difference_points": f"{achieved - ncu_achieved:.2f}",
        "time_us": f"{microseconds:.3f}",
        "ncu_time_us": f"{ncu_us:.3f}",
        "time_difference_us": f"{microseconds - ncu_us:.3f}",
        "counting_ms_per_launch": f"{counting:.3f}",
        "ncu_ms_per_launch": f"{cost:.3f}",
    }


def compare(binaries: Path) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.csv"
        only = ["--suite", "quick", "--filter", PATTERN, "--counters", "require"]
        output_of(binaries / "occbench", "run", *only, "--out", file)
        rows = read_lines(file)
        samples = read_lines(file.with_suffix(".samples.csv"))
        counting = {
            (sample["experiment"], sample["case"]): float(sample["value"])
            for sample in samples
            if sample["quantity"] == "counting_ms_per_launch"
        }
        lines = []
        for experiment in EXPERIMENTS:
            launches, cost = profile(binaries, experiment, folder / f"{experiment}.csv")
            ours = [row for row in rows if row["experiment"] == experiment]
            if len(ours) != len(launches):
                raise WrongInput(f"{experiment}: occbench has {len(ours)} cases, ncu saw {len(launches)}")
            lines += [
                line_of(row, launch, counting[experiment, row["case"]], cost)
                for row, launch in zip(ours, launches, strict=True)
            ]
        return lines


declare = ncu_rules.declare


def run(options: argparse.Namespace) -> None:
    lines = compare(options.binaries)
    write_lines(options.out, list(lines[0]), lines)
    close = sum(abs(float(line["achieved_difference_points"])) <= 0.3 for line in lines)
    ours, ncu = (median(float(line[f"{which}_ms_per_launch"]) for line in lines) for which in ("counting", "ncu"))
    print(f"{close} of {len(lines)} cases within 0.3 points; a counted launch costs {ours:.2f} ms, ncu's {ncu:.2f} ms")
