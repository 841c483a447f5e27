"""Rows made for a test, written and read as recorded ones are."""

import csv
import os
import sys
import tempfile
from pathlib import Path

try:
    from occbench_tools.dataset import Run, read_rows, read_samples
    from occbench_tools.program import Occbench
except ModuleNotFoundError as error:
    print(f"skipped={error.name} is not there; scripts/python {sys.argv[0]} has it")
    sys.exit(0)

ROOT = Path(__file__).resolve().parents[2]
OCCBENCH = Occbench(os.environ.get("OCCBENCH", str(ROOT / "build" / "cpu" / "bin" / "occbench")))


def write(file: Path, rows: list[dict]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, sorted({"case"}.union(*rows)))
        writer.writeheader()
        writer.writerows(rows)


def write_samples(file: Path, samples) -> None:
    with file.with_suffix(".samples.csv").open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([("experiment", "case", "quantity", "index", "value"), *samples])


def read_run(file: Path) -> Run:
    return Run(read_rows(file, OCCBENCH), read_samples(file))


def run_of(rows: list[dict], samples=()) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.csv"
        write(file, rows)
        write_samples(file, samples)
        return read_run(file)


def row_of(experiment: str, parameters: dict, **cells) -> dict:
    named = ";".join(f"{name}={value}" for name, value in parameters.items())
    return {"experiment": experiment, "parameters": named, "achieved_pct": 50, "time_us": 100} | cells
