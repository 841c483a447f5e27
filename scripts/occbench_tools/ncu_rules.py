"""Records what ncu's rules estimate for the cases of four experiments.

Needs a GPU, permission to read its counters, and ncu on the PATH; no Python package. ncu profiles the launches of each case
(bench_* --occ_profile; clocks and caches are left alone, occbench's own counters are off) with the sections whose rules speak of
grid, tail, occupancy and imbalance. A line of the file is one rule's estimate for one case; a case without an estimate has one
line with empty cells. Cases that launch several kernels are left out.

    scripts/python -m occbench_tools ncu-rules results/nvidia-h200/ncu_rules.csv
"""

import argparse
import csv
import itertools
import json
import math
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from occbench_tools import WrongInput

EXPERIMENTS = ("waves", "tail_remedies", "imbalance_between_blocks", "imbalance_within_block")
SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WorkloadDistribution")
KERNELS = ("spin", "work_queue")  # of these experiments, those that a case launches once
# --occ_profile checks a case, then launches it: of each kernel, ncu looks at invocations of even number.
SECOND_LAUNCHES = f"::regex:^({'|'.join(KERNELS)})_:.*[02468]"
COLUMNS = (
    "commit", "gpu", "driver", "ncu", "recorded_at", "experiment", "case", "kernel", "grid_blocks", "block_threads", "duration_us",
    "achieved_pct", "rule", "begins", "estimate", "estimated_speedup_pct",
)  # fmt: skip
WORDS = 6  # of a rule's text, which tell its findings apart


def output_of(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise WrongInput(f"{words} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def flags_of(experiment: str) -> list[str]:
    return ["--occ_suite=quick", f"--benchmark_filter=^{experiment}/({'|'.join(KERNELS)})/"]


def planned_cases(bench: Path, experiment: str) -> list[dict]:
    lines = output_of(bench, *flags_of(experiment), "--occ_list").splitlines()
    return [case for line in lines if (case := json.loads(line)).get("time_status") != "skipped"]


def under_ncu(log: Path, *arguments: str | Path) -> list[dict[str, str]]:
    """The lines of the page that ncu writes of a program, times in ns, with clocks and caches left alone."""
    ncu = ["ncu", "--clock-control", "none", "--cache-control", "none", "--print-units", "base", "--csv"]
    output_of(*ncu, "--log-file", log, *arguments)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    return list(csv.DictReader(line for line in lines if line.startswith('"')))


def profiled(bench: Path, experiment: str, log: Path) -> list[list[dict[str, str]]]:
    """The lines of ncu's details page, in a list for each launch."""
    sections = [word for section in SECTIONS for word in ("--section", section)]
    only = ["--kernel-id", SECOND_LAUNCHES, "--page", "details", *sections]
    lines = under_ncu(log, *only, bench, *flags_of(experiment), "--occ_profile")
    return [list(launch) for _, launch in itertools.groupby(lines, key=lambda line: line["ID"])]


def product(triple: str) -> int:
    """Of "(132, 1, 1)"."""
    return math.prod(int(part) for part in triple.strip("() ").split(","))


def metric(launch: list[dict[str, str]], name: str) -> float:
    return float(next(each for each in launch if each["Metric Name"] == name)["Metric Value"].replace(",", ""))


def lines_of(case: dict, launch: list[dict[str, str]], known: dict[str, str]) -> list[dict[str, object]]:
    grid, block = product(launch[0]["Grid Size"]), product(launch[0]["Block Size"])
    if (grid, block) != (case["grid_blocks"], case["block_threads"]):
        raise WrongInput(
            f"{case['experiment']}/{case['case']} has {case['grid_blocks']} blocks of {case['block_threads']} threads, and ncu's "
            f"launch {launch[0]['ID']} has {grid} of {block}: launches and cases are not in the same order"
        )
    row = known | {
        "experiment": case["experiment"],
        "case": case["case"],
        "kernel": launch[0]["Kernel Name"].split("(")[0],
        "grid_blocks": grid,
        "block_threads": block,
        "duration_us": f"{1e-3 * metric(launch, 'Duration'):.3f}",
        "achieved_pct": metric(launch, "Achieved Occupancy"),
    }
    estimates = [
        {
            "rule": line["Rule Name"],
            "begins": " ".join(line["Rule Description"].split()[:WORDS]),
            "estimate": line["Estimated Speedup Type"],
            "estimated_speedup_pct": line["Estimated Speedup"],
        }
        for line in launch
        if line["Rule Name"] and line["Estimated Speedup"]
    ]
    return [row | estimate for estimate in estimates or [{}]]


def provenance(binaries: Path, folder: Path) -> dict[str, str]:
    file = folder / "rows.csv"
    only = ["--suite", "smoke", "--filter", "^waves/", "--counters", "off"]
    output_of(binaries / "occbench", "run", *only, "--out", file)
    with file.open(encoding="utf-8", newline="") as lines:
        row = next(csv.DictReader(lines))
    version = next(line for line in output_of("ncu", "--version").splitlines() if line.startswith("Version"))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {key: row[key] for key in ("commit", "gpu", "driver")} | {"ncu": version.split()[1], "recorded_at": now}


def write_lines(file: Path, columns: Sequence[str], lines: Iterable[Mapping[str, object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--binaries", type=Path, default=Path("build/release/bin"), help="folder of bench_* and occbench"
    )
    parser.add_argument("out", type=Path, metavar="FILE.csv", help="file to write")


def run(options: argparse.Namespace) -> None:
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = provenance(options.binaries, folder)
        for experiment in EXPERIMENTS:
            bench = options.binaries / f"bench_{experiment}"
            cases = planned_cases(bench, experiment)
            launches = profiled(bench, experiment, folder / f"{experiment}.csv")
            if len(cases) != len(launches):
                raise WrongInput(f"{experiment} has {len(cases)} cases, and ncu saw the launches of {len(launches)}")
            for case, launch in zip(cases, launches, strict=True):
                lines += lines_of(case, launch, known)
    write_lines(options.out, COLUMNS, lines)
    print(f"{len({(line['experiment'], line['case']) for line in lines})} cases, {len(lines)} lines")
