"""Compares occbench's counters, times and costs with ncu's on the same launches.

Needs a GPU, permission to read its counters, and ncu on the PATH. Both look at the kernel `spin` of the experiments
block_size and waves: occbench measures the quick suite, then ncu profiles each case once (bench_* --occ_profile, clocks and
caches left alone, occbench's own counters off).

    scripts/python -m occbench_tools compare-ncu results/nvidia-h200/against_ncu.csv
"""

import argparse
import io
import subprocess
import tempfile
import time
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import Row, each, read_rows, read_samples, write_table
from occbench_tools.program import Occbench, binaries_of, declare_binaries
from occbench_tools.statistics import median

EXPERIMENTS = ("block_size", "waves")
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
DURATION = "gpu__time_duration.sum"
PATTERN = f"^({'|'.join(EXPERIMENTS)})/spin/plain/"
LAUNCHES_PER_CASE = 2  # --occ_profile checks a case, then launches it: the second is the one that is compared
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3}


def start(command: list[str | Path]) -> float:
    """Seconds that the command took; ends the program if it failed."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise WrongInput(f"{words} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - begin


def read_ncu(log: Path) -> pl.DataFrame:
    """`achieved` occupancy in percent and duration in `microseconds` of each compared launch."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines(keepends=True) if line.startswith('"')]
    cells = pl.read_csv(io.StringIO("".join(lines)), infer_schema=False)
    scale = MICROSECONDS[cells[DURATION][0]]  # units stand below the names
    launches = cells.slice(1).gather_every(LAUNCHES_PER_CASE, LAUNCHES_PER_CASE - 1)
    return launches.select(
        achieved=pl.col(ACHIEVED).cast(float),
        microseconds=scale * pl.col(DURATION).str.replace_all(",", "").cast(float),
    )


def profile(binaries: Path, experiment: str, folder: Path) -> tuple[pl.DataFrame, float]:
    """ncu's launches of an experiment, and what profiling cost per launch in milliseconds."""
    bench = [binaries / f"bench_{experiment}", "--occ_profile", f"--benchmark_filter={PATTERN}"]
    log = folder / f"{experiment}.csv"
    ncu = ["ncu", "--clock-control", "none", "--cache-control", "none", "--kernel-name", "spin_kernel"]
    ncu += ["--csv", "--page", "raw", "--metrics", f"{ACHIEVED},{DURATION}", "--log-file", log]
    alone = start(bench)
    profiled = start(ncu + bench)
    launches = read_ncu(log)
    return launches, 1e3 * (profiled - alone) / (LAUNCHES_PER_CASE * len(launches))


def line_of(row: Row, launch: Row, counting: float, cost: float) -> Row:
    achieved, microseconds = row["achieved_pct"], row["time_us"]
    return {key: row[key] for key in ("commit", "gpu", "driver", "recorded_at", "experiment", "case")} | {
        "achieved_pct": f"{achieved:.2f}",
        "achieved_spread_points": f"{row['achieved_spread_points']:g}",
        "ncu_achieved_pct": f"{launch['achieved']:.2f}",
        "achieved_difference_points": f"{achieved - launch['achieved']:.2f}",
        "time_us": f"{microseconds:.3f}",
        "ncu_time_us": f"{launch['microseconds']:.3f}",
        "time_difference_us": f"{microseconds - launch['microseconds']:.3f}",
        "counting_ms_per_launch": f"{counting:.3f}",
        "ncu_ms_per_launch": f"{cost:.3f}",
    }


def compare(binaries: Path) -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.csv"
        start([binaries / "occbench", "run", "--suite", "quick", "--filter", PATTERN, "--require-gpu"]
              + ["--counters", "require", "--out", file])  # fmt: skip
        rows = read_rows(file, Occbench(binaries / "occbench"))
        samples = read_samples(file).filter(quantity="counting_ms_per_launch")
        counting = {row[:2]: row[2] for row in samples.select("experiment", "case", "value").iter_rows()}
        lines = []
        for experiment in EXPERIMENTS:
            launches, cost = profile(binaries, experiment, folder)
            ours = rows.filter(experiment=experiment)
            if len(ours) != len(launches):
                raise WrongInput(f"{experiment}: occbench has {len(ours)} cases, ncu saw {len(launches)}")
            lines += [
                line_of(row, launch, counting[experiment, row["case"]], cost)
                for row, launch in zip(each(ours), each(launches), strict=True)
            ]
        return lines


def declare(parser: argparse.ArgumentParser) -> None:
    declare_binaries(parser, "bench_*")
    parser.add_argument("out", type=Path, metavar="FILE.csv", help="file to write")


def run(options: argparse.Namespace) -> None:
    lines = compare(binaries_of(options, "bench_*"))
    write_table(options.out, lines)
    close = sum(abs(float(line["achieved_difference_points"])) <= 0.3 for line in lines)
    ours, ncu = (median(float(line[f"{each}_ms_per_launch"]) for line in lines) for each in ("counting", "ncu"))
    print(f"{close} of {len(lines)} cases within 0.3 points; a counted launch costs {ours:.2f} ms, ncu's {ncu:.2f} ms")
