"""What a recorded measurement says of where it was made."""

import csv
import datetime
import subprocess
import tempfile
from pathlib import Path

PROVENANCE = ("commit", "gpu", "gpu_uuid", "driver")


def measured_provenance() -> list[str]:
    """Of a row that is measured here and now by the `occbench` on the PATH: commit, GPU, its UUID and driver."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        case = ["--suite", "smoke", "--filter", "^block_size/"]
        subprocess.run(["occbench", "run", *case, "--out", file], capture_output=True, check=True)
        with file.open(encoding="utf-8", newline="") as lines:
            row = next(csv.DictReader(lines))
    return [row[key] for key in PROVENANCE]


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def recorded(file: Path) -> list[dict[str, str]]:
    """Its rows; none where there is no such file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
