"""Recorded rows and samples as Polars frames, typed by the column table. A value that was not measured is null."""

import gzip
import io
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.program import Occbench

signal.siginterrupt(signal.SIGINT, True)  # Polars' handler would have a read of a pipe go on

Row = dict[str, Any]  # cells by column

TYPES = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
CASE = {"experiment": pl.String, "case": pl.String}
SAMPLE = CASE | {"quantity": pl.String, "index": pl.Int64, "value": pl.Float64}
TIMELINE = CASE | dict.fromkeys(("time_us", "active_warps_pct", "predicted_active_warps_pct"), pl.Float64)
PER_SM = CASE | dict.fromkeys(("launch", "sm", "blocks"), pl.Int64)
PER_SM |= dict.fromkeys(("achieved_pct", "first_start_us", "last_end_us"), pl.Float64)
GZIP = b"\x1f\x8b"  # what its files begin with, whatever their names

# Most bytes of a file, once it is unpacked; `occbench report` passes its --max-size on.
MAX_SIZE = int(os.environ.get("OCCBENCH_MAX_SIZE", 1 << 30))
READ_AT_ONCE = 1 << 24


def packed(file: Path) -> Path | None:
    """The file, or where it is kept packed that; None if there is neither."""
    return next((name for name in (file, file.with_name(file.name + ".gz")) if name.exists()), None)


def whole_records(text: bytes) -> bytes:
    """Without a last line that has no end: it was being written when the run was stopped."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end)
    while quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return text[:end]


def read_bytes(file: Path) -> bytes:
    """Unpacked, and no more than MAX_SIZE."""
    with file.open("rb") as opened:
        is_packed = opened.peek(2)[:2] == GZIP or file.suffix == ".gz"
        stream = gzip.GzipFile(fileobj=opened) if is_packed else opened
        data = bytearray()
        # One read would allocate all that it asks for.
        while len(data) <= MAX_SIZE and (part := stream.read(READ_AT_ONCE)):
            data += part
    if len(data) > MAX_SIZE:
        raise WrongInput(f"{file} holds more than {MAX_SIZE} bytes; --max-size SIZE raises this limit")
    return bytes(data)


def read_text(file: Path) -> pl.DataFrame:
    """Any CSV file, packed or not, each cell as text."""
    found = packed(file)
    if not found:
        raise WrongInput(f"{file} is not there, nor packed as .gz")
    try:
        text = whole_records(read_bytes(found))
        if not text.strip():
            raise WrongInput(f"{found} is empty: there is no line of column names")
        frame = pl.read_csv(io.BytesIO(text), infer_schema=False, encoding="utf8-lossy")
    except (OSError, EOFError) as error:
        raise WrongInput(f"{found} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except pl.exceptions.PolarsError as error:
        raise WrongInput(f"{found} is not a CSV file: {str(error).splitlines()[0]}") from error
    # A cell in quotes that is empty is as empty as one without.
    frame = frame.with_columns(pl.all().replace("", None))
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def typed(cells: pl.DataFrame, types: Mapping[str, type[pl.DataType]], source: Path) -> pl.DataFrame:
    """Each column of `types` that is there, as that type. Numbers are finite."""
    for name, kind in types.items():
        if name not in cells.columns or kind == pl.String:
            continue
        numbers = cells[name].cast(kind, strict=False)
        wrong = cells[name].is_not_null() & (numbers.is_null() | ~numbers.cast(pl.Float64).is_finite())
        if wrong.any():
            row = wrong.arg_max()
            raise WrongInput(f"{source}, row {row + 1} below the names: {name} is '{cells[name][row]}', not a number")
        cells = cells.with_columns(numbers)
    return cells


def read_table(file: Path, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """A file that has to have the columns of `types`; its other columns are text."""
    cells = read_text(file)
    missing = [name for name in types if name not in cells.columns]
    if missing:
        raise WrongInput(f"{file}, line 1: no column '{missing[0]}'; it needs {', '.join(types)}")
    return typed(cells, types, file)


def read_rows(file: Path, occbench: Occbench) -> pl.DataFrame:
    """Columns that the file has, then those of the column table that it lacks, which are null."""
    types = {column.name: TYPES[column.type] for column in occbench.columns.values()}
    rows = typed(read_text(file), types, file)
    return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in types.items() if name not in rows.columns)


def read_samples(rows_file: Path) -> pl.DataFrame:
    """The samples beside a file of rows: columns of SAMPLE, empty if none were kept."""
    file = rows_file.with_suffix(".samples.csv")
    return read_table(file, SAMPLE) if packed(file) else pl.DataFrame(schema=SAMPLE)


def write_table(file: Path, lines: pl.DataFrame | list[Row]) -> None:
    pl.DataFrame(lines).write_csv(file, line_terminator="\n")


def parameter(name: str) -> pl.Expr:
    """The text of one of `parameters`, which are `key=value;key=value`; null where a row has no such parameter."""
    return pl.col("parameters").str.extract(rf"(?:^|;){name}=([^;]*)")


def unit_use(unit: str) -> pl.Expr:
    """How much of its peak a unit was used, %, from `unit_use`, which is `key=value;key=value`; null where it was not read."""
    return pl.col("unit_use").str.extract(rf"(?:^|;){unit}=([^;]*)").cast(pl.Float64, strict=False)


def parameter_names(frame: pl.DataFrame) -> list[str]:
    """Those that are words."""
    keys = frame["parameters"].drop_nulls().str.extract_all(r"(?:^|;)\w+=").explode().drop_nulls()
    return keys.str.strip_chars(";=").unique(maintain_order=True).to_list()


def parameter_of(row: Row, name: str) -> str | None:
    return dict(pair.split("=", 1) for pair in (row["parameters"] or "").split(";") if pair).get(name)


def each(rows: pl.DataFrame) -> Iterator[Row]:
    return rows.iter_rows(named=True)


def pick(rows: pl.DataFrame, **wanted: object) -> pl.DataFrame:
    """Rows with these values of parameters, or of columns where a row has no such parameter."""
    for name, value in wanted.items():
        cells = [parameter(name)] if "parameters" in rows.columns else []
        cells += [pl.col(name).cast(pl.String)] if name in rows.columns else []
        rows = rows.filter(pl.coalesce(cells) == str(value))
    return rows


def first(rows: pl.DataFrame, **wanted: object) -> Row | None:
    return next(each(pick(rows, **wanted)), None)


def one(rows: pl.DataFrame, **wanted: object) -> Row:
    found = pick(rows, **wanted)
    if len(found) != 1:
        experiment = next(iter(rows["experiment"]), "the experiment")
        values = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise WrongInput(f"{experiment} has {len(found)} measured rows of {values}, not one: record its whole suite")
    return found.row(0, named=True)


def least(rows: pl.DataFrame, column: str) -> Row:
    return rows.row(rows[column].arg_min(), named=True)


def most(rows: pl.DataFrame, column: str) -> Row:
    return rows.row(rows[column].arg_max(), named=True)


def spread_pct(values: pl.Series) -> float:
    """By how much the largest exceeds the least."""
    return 100 * (values.max() / values.min() - 1)


def quantile(values: pl.Expr | Iterable[float], share: float) -> Any:
    """By linear interpolation between neighbours, as `occbench` and NumPy have it. Nulls are left out.

    `share`: from 0 to 1. `values`: numbers, or an expression, of which the quantile is an expression."""
    if not isinstance(values, pl.Expr):
        values = pl.Series(values=values, dtype=pl.Float64)
        if values.drop_nulls().is_empty():
            raise ValueError("no values, no quantile")
    return values.quantile(share, interpolation="linear")


def median(values: pl.Expr | Iterable[float]) -> Any:
    return quantile(values, 0.5)


def error(against: str = "predicted_pct", of: str = "achieved_pct") -> pl.Expr:
    """Points between the counter and what was predicted, or what theory allows; null where one is not known."""
    return (pl.col(of) - pl.col(against)).abs()


def gpu_of(rows: pl.DataFrame) -> str:
    """The GPU model that rows were recorded on, as people call it."""
    return str(rows["gpu"].first()).removeprefix("NVIDIA ")


def clock_hz(row: Row) -> float:
    return 1e6 * row["sm_clock_mhz"]


class Experiment:
    """An experiment's rows of a run, and the samples behind them."""

    def __init__(self, name: str, rows: pl.DataFrame, samples: pl.DataFrame, against_ncu: pl.DataFrame | None = None):
        self.name = name
        self.every = rows.filter(experiment=name)
        """Its rows, those that were not measured too."""
        self.rows = self.every.drop_nulls(["achieved_pct", "time_us"])
        self.against_ncu = pl.DataFrame() if against_ncu is None else against_ncu.filter(experiment=name)
        self._samples = samples.filter(experiment=name)

    def samples(self, row: Row, quantity: str) -> pl.Series:
        """In the order of the file; empty if there are none."""
        return self._samples.filter(case=row["case"], quantity=quantity)["value"]


@dataclass(frozen=True)
class Run:
    """Rows of files, with the samples beside them."""

    rows: pl.DataFrame
    samples: pl.DataFrame

    def of(self, experiment: str) -> Experiment:
        return Experiment(experiment, self.rows, self.samples)


AGAINST_NCU = ("achieved_pct", "achieved_spread_points", "ncu_achieved_pct", "achieved_difference_points")
AGAINST_NCU += ("time_us", "ncu_time_us", "time_difference_us", "counting_ms_per_launch", "ncu_ms_per_launch")


class Results:
    """The recorded runs of one GPU model, a folder under results/. Each file is read once."""

    def __init__(self, folder: Path, occbench: Occbench):
        self.folder = folder
        self.occbench = occbench
        self._rows: dict[str, pl.DataFrame] = {}

    def file(self, name: str) -> Path:
        file = self.folder / name
        if not packed(file):
            raise WrongInput(
                f"{file} is not there: record it first. scripts/run --suite full --out {self.folder}/full.csv records the "
                "suite; results/nvidia-h200/README.md has the commands for the other files"
            )
        return file

    def rows(self, name: str) -> pl.DataFrame:
        if name not in self._rows:
            self._rows[name] = read_rows(self.file(name), self.occbench)
        return self._rows[name]

    @cached_property
    def models(self) -> list["Results"]:
        """The recorded runs of every GPU model, these first."""
        recorded = ("full.csv", "validation.csv")
        others = sorted(
            folder for folder in self.folder.parent.iterdir() if any(packed(folder / name) for name in recorded)
        )
        return [self, *(Results(folder, self.occbench) for folder in others if folder != self.folder)]

    @cached_property
    def suite(self) -> Run:
        return Run(self.rows("full.csv"), read_samples(self.file("full.csv")))

    @cached_property
    def with_added(self) -> Run:
        """The suite, and experiments that came after it was recorded: `added.csv`, until the suite is recorded again."""
        if not packed(self.folder / "added.csv"):
            return self.suite
        rows = pl.concat([self.suite.rows, self.rows("added.csv")], how="diagonal")
        return Run(rows, pl.concat([self.suite.samples, read_samples(self.file("added.csv"))]))

    @cached_property
    def against_ncu(self) -> pl.DataFrame:
        return read_table(self.file("against_ncu.csv"), dict.fromkeys(AGAINST_NCU, pl.Float64))

    def experiment(self, name: str) -> Experiment:
        return Experiment(name, self.with_added.rows, self.with_added.samples, self.against_ncu)
