"""Predicts recorded rows again, in place: what `occbench explain --repredict --format csv` says of them replaces their predictions.

Measurements stay as they are, and so do rows without a counter's value or inferred work, which explain leaves out. Work that
was inferred is inferred again.
"""

import argparse
import io
from pathlib import Path

import polars as pl

from occbench_tools.dataset import read_text, write_table
from occbench_tools.program import Occbench, binaries_of, declare_binaries

PREDICTED = ("work", "work_source", "device_profile", "explanation")
CASE = ["gpu_uuid", "experiment", "case"]


def is_predicted(column: str) -> bool:
    return column in PREDICTED or column.startswith(("predicted_", "loss_"))


def repredicted(rows: pl.DataFrame, again: pl.DataFrame) -> pl.DataFrame:
    """Rows with the predictions of `again`, where it has the row. All cells are text.

    Columns of a prediction that the rows lack stand where `again` has them.
    """
    columns = [name for name in again.columns if is_predicted(name)]
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in columns if name not in rows.columns)
    names = [name for name in again.columns if name in rows.columns]
    after = rows.update(again.select(*CASE, *columns), on=CASE, include_nulls=True, maintain_order="left")
    return after.select(*names, *(name for name in rows.columns if name not in names))


def declare(parser: argparse.ArgumentParser) -> None:
    declare_binaries(parser)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv")


def run(options: argparse.Namespace) -> None:
    occbench = Occbench(binaries_of(options) / "occbench")
    for file in options.files:
        rows = read_text(file)
        again = occbench.output("explain", file, "--top", "0", "--repredict", "--format", "csv")
        write_table(file, repredicted(rows, pl.read_csv(io.StringIO(again), infer_schema=False)))
