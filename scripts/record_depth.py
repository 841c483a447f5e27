#!/usr/bin/env python3
"""Takes a dozen timelines and files per SM over into results/nvidia-h200, with the rows and traced occupancies behind them.

FOLDER is what this wrote: bench_waves and bench_imbalance_between_blocks with --occ_suite=quick --occ_csv=FOLDER/NAME.csv
--occ_timeline=FOLDER/timeline --occ_per_sm=FOLDER/per_sm. Then run scripts/readme.py, which writes depth.md's figures.
"""

import argparse
import csv
import gzip
import io
import re
import shutil
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "nvidia-h200"
CASES = re.compile(
    r"waves=(0\.75|1\.00|1\.25|1\.50|1_plus_one_block|2\.25|4\.00)$"
    r"|shape=(linear_up|uniform_1)/waves=1$|shape=(uniform_1|lognormal_1|heaviest_last)/waves=16$"
)
TRACED = ("achieved_pct_by_trace", "same_launch_trace_pct", "same_launch_counter_pct")


def records(file):
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return list(csv.DictReader(io.StringIO(text.decode(), newline="")))


def write(file, lines):
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, lines[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def wanted(line):
    return CASES.search(line["case"]) is not None


def take_over(folder, kind):
    """The files of one kind, in place of those that were there."""
    target = RESULTS / kind
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in sorted((folder / kind).glob(f"*.{kind}.csv")):
        if wanted(records(file)[0]):
            shutil.copy(file, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    for kind in ("timeline", "per_sm"):
        take_over(folder, kind)
    names = ("waves", "imbalance")
    rows = [row for name in names for row in records(folder / f"{name}.csv") if wanted(row)]
    write(RESULTS / "timeline" / "rows.csv", rows)
    traced = []
    for name in names:
        plain = folder / f"{name}.samples.csv"
        samples = records(plain if plain.exists() else plain.with_name(plain.name + ".gz"))
        traced += [line for line in samples if line["quantity"] in TRACED and wanted(line)]
    write(RESULTS / "per_sm" / "traced.samples.csv", traced)


if __name__ == "__main__":
    main()
