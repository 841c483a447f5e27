#!/usr/bin/env python3
"""Predicts recorded rows again, in place: what `occbench explain --csv` says of them replaces their predictions.

Measurements stay as they are, and so do rows without a counter's value, which explain leaves out.
"""

import argparse
import csv
import io
import subprocess
from pathlib import Path

from recorded import read_csv, write_csv

PREDICTED = ("device_profile", "explanation")


def is_predicted(column):
    return column in PREDICTED or column.startswith(("predicted_", "loss_"))


def key(row):
    return row["experiment"], row["case"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--occbench", default="build/release/bin/occbench", help="the program (default: %(default)s)")
    parser.add_argument("--profile", help="device profile to predict with (default: the built-in one that a row names)")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv")
    options = parser.parse_args()
    for file in options.files:
        rows = read_csv(file)
        command = [options.occbench, "explain", file, "--top", "0", "--csv"]
        command += ["--profile", options.profile] if options.profile else []
        again = csv.DictReader(io.StringIO(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        by_case = {key(row): row for row in again}
        for row in rows:
            row.update({name: value for name, value in by_case.get(key(row), {}).items() if is_predicted(name)})
        write_csv(file, rows)


if __name__ == "__main__":
    main()
