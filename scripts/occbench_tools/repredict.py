"""Predicts recorded rows again, in place: what `occbench explain --repredict --csv` says of them replaces their predictions.

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
    new = [name for name in columns if name not in rows.columns]
    names = [name for name in again.columns if name in rows.columns or name in new]
    names += [name for name in rows.columns if name not in again.columns]
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in new)
    both = rows.join(
        again.select(*CASE, *columns).with_columns(there=pl.lit(True)),
        on=CASE,
        how="left",
        suffix="_again",
        maintain_order="left",
        validate="m:1",
    )
    return both.select(
        pl.when("there").then(pl.col(f"{name}_again")).otherwise(pl.col(name)).alias(name) if name in columns else name
        for name in names
    )


def declare(parser: argparse.ArgumentParser) -> None:
    declare_binaries(parser)
    parser.add_argument("--profile", help="device profile to predict with (default: the one that a row names)")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv")


def run(options: argparse.Namespace) -> None:
    occbench = Occbench(binaries_of(options) / "occbench")
    profile = ["--profile", options.profile] if options.profile else []
    for file in options.files:
        again = occbench.output("explain", file, "--top", "0", "--repredict", "--csv", *profile)
        cells = pl.read_csv(io.StringIO(again), infer_schema=False)
        write_table(file, repredicted(read_text(file), cells))
