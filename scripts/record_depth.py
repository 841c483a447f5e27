#!/usr/bin/env python3
"""Takes a dozen timelines and files per SM over into results/nvidia-h200, with the rows and traced occupancies behind them.

FOLDER is what this wrote: bench_waves and bench_imbalance_between_blocks with --occ_suite=quick --occ_csv=FOLDER/NAME.csv
--occ_timeline=FOLDER/timeline --occ_per_sm=FOLDER/per_sm. Then run scripts/readme.py, which writes depth.md's figures.
"""

import argparse
import csv
import gzip
import io
import lzma
import re
import shutil
import sys
from pathlib import Path

from depth_figures import Timeline
from recorded import RESULTS, write_csv

CASES = re.compile(
    r"waves=(0\.75|1\.00|1\.25|1\.50|1_plus_one_block|2\.25|4\.00)$"
    r"|shape=(linear_up|uniform_1)/waves=1$|shape=(uniform_1|lognormal_1|heaviest_last)/waves=16$"
)
TRACED = ("achieved_pct_by_trace", "same_launch_trace_pct", "same_launch_counter_pct")


UNPACK = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}


def records(file):
    """Of a CSV, as it is or packed."""
    for suffix, unpack in UNPACK.items():
        packed = file.with_name(file.name + suffix)
        if packed.exists():
            return list(csv.DictReader(io.StringIO(unpack(packed.read_bytes()).decode(), newline="")))
    sys.exit(f"{file}: no such file, nor one that ends in .gz or .xz")


def wanted(line):
    return CASES.search(line["case"]) is not None


def take_over(folder, kind):
    """The files of one kind, in place of those that were there."""
    files = [file for file in sorted((folder / kind).glob(f"*.{kind}.csv")) if wanted(records(file)[0])]
    if not files:
        sys.exit(f"{folder / kind}: none of the cases that are kept has a file *.{kind}.csv there")
    target = RESULTS / kind
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copy(file, target)


def summary(file, rows):
    """What is kept of a timeline that is not."""
    timeline = Timeline(file)
    row = next(row for row in rows if (row["experiment"], row["case"]) == timeline.key)
    return {
        "experiment": row["experiment"],
        "case": row["case"],
        "mean_pct": f"{timeline.mean():.4f}",
        "achieved_elapsed_pct": row["achieved_elapsed_pct"],
        "rms_points": f"{timeline.rms():.4f}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    names = ("waves", "imbalance")
    rows = [row for name in names for row in records(folder / f"{name}.csv")]
    samples = [line for name in names for line in records(folder / f"{name}.samples.csv")]
    for kind in ("timeline", "per_sm"):
        take_over(folder, kind)
    write_csv(RESULTS / "timeline" / "rows.csv", [row for row in rows if wanted(row)])
    timelines = sorted((folder / "timeline").glob("*.timeline.csv"))
    write_csv(RESULTS / "timeline" / "all.csv", [summary(file, rows) for file in timelines])
    traced = [line for line in samples if line["quantity"] in TRACED and wanted(line)]
    write_csv(RESULTS / "per_sm" / "traced.samples.csv", traced)


if __name__ == "__main__":
    main()
