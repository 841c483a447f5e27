"""Runs `occbench report` on files made for a test."""

import contextlib
import csv
import io
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "results" / "nvidia-h200" / "full.csv"
OCCBENCH = os.environ.get("OCCBENCH", str(ROOT / "build" / "cpu" / "bin" / "occbench"))


def occbench(*arguments, **environment):
    return subprocess.run(
        [OCCBENCH, *map(str, arguments)], capture_output=True, text=True, check=False, env=os.environ | environment
    )


def report_by_processes(*arguments, **environment):
    return occbench("report", *arguments, **environment)


def report(*arguments):
    """`occbench report`, whose Python half is called in this process with the words that the command has for it: a process that
    loads the packages takes a second."""
    from occbench_tools.__main__ import main

    asked = report_by_processes(*arguments, OCCBENCH_PYTHON=shutil.which("echo"))
    if asked.returncode != 0:
        return asked
    *before, words = asked.stdout.splitlines(keepends=True)
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", words.split()[1:]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = main()
    return subprocess.CompletedProcess(words, status, "".join(before) + out.getvalue(), asked.stderr + err.getvalue())


def read(file=RECORDED):
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def write(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return file


def write_recordings(folder):
    """Occupancy over time and of each SM for three cases, as they are recorded beside a file of rows."""
    for case in ("a", "b/shape=uniform", "c"):
        name = case.replace("/", "_")
        write(
            folder / "timeline" / f"{name}.timeline.csv",
            [
                {
                    "experiment": "waves",
                    "case": case,
                    "time_us": step,
                    "active_warps_pct": round(100 * math.exp(-step / 90), 3),
                    "predicted_active_warps_pct": max(0, 100 - step),
                }
                for step in range(200)
            ],
        )
        write(
            folder / "per_sm" / f"{name}.per_sm.csv",
            [
                {
                    "experiment": "waves",
                    "case": case,
                    "launch": launch,
                    "sm": sm,
                    "blocks": 16 + sm % 2,
                    "achieved_pct": 70 + sm % 7 + launch,
                    "first_start_us": 0.5,
                    "last_end_us": 99,
                    "replacement_latency_median_us": "",
                    "replacements": 0,
                }
                for launch in range(2)
                for sm in range(132)
            ],
        )


def experiment_of_a_user(rows, count=40):
    """Recorded launches of several kinds, as rows of one experiment that the suite does not have."""
    counted = [row for row in rows if row["achieved_pct"]]
    kinds = ("waves", "register_cliff", "pipe_saturation", "register_cap", "latency_hiding")
    chosen = []
    for kind in kinds:
        chosen += [row for row in counted if row["experiment"] == kind][: count // len(kinds)]
    return [row | {"experiment": "my_solver", "kernel": f"solve_{row['kernel']}"} for row in chosen]


def register_sweep_of_a_user(rows, count=40):
    """Recorded launches that differ in registers, with names that the suite does not have, without parameters and further metrics."""
    counted = [row for row in rows if row["experiment"] == "register_cliff" and row["achieved_pct"]]
    names = {"experiment": "my_sweep", "kernel": "my_kernel", "parameters": ""}
    return [row | names | {"case": f"launch {number}"} for number, row in enumerate(counted[:count])]


def other_run(rows):
    """The same cases at another commit: a little emptier and slower."""
    return [
        row
        | {
            "commit": "0123456789abcdef",
            "achieved_pct": row["achieved_pct"] and f"{0.9 * float(row['achieved_pct']):.4f}",
            "time_us": row["time_us"] and f"{1.25 * float(row['time_us']):.4f}",
            "throughput": row["throughput"] and f"{float(row['throughput']) / 1.25:.4f}",
        }
        for row in rows
    ]
