"""Recorded rows as one Polars frame: typed by the column table, with the run that each row is of in the column RUN."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from occbench import Occbench

# Columns of ours beside those of the files.
RUN = "__run"
FILE = "__file"
TYPES = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
# More runs than colours that can be told apart are not laid over each other by what they are of, but by file.
MOST_RUNS = 6

TIMELINE = {
    "experiment": pl.String,
    "case": pl.String,
    "time_us": pl.Float64,
    "active_warps_pct": pl.Float64,
    "predicted_active_warps_pct": pl.Float64,
}
PER_SM = {
    "experiment": pl.String,
    "case": pl.String,
    "launch": pl.Int64,
    "sm": pl.Int64,
    "blocks": pl.Int64,
    "achieved_pct": pl.Float64,
}


class WrongInput(Exception):
    """What a user gave cannot be: the message has the file, the line and the value."""


@dataclass(frozen=True)
class Rows:
    frame: pl.DataFrame  # one row a case, in the order of the files; columns that no file has are all null
    unknown_columns: list[str]  # of the files, and not of the column table
    occbench: Occbench
    timeline: pl.DataFrame  # columns of TIMELINE, empty without recordings
    per_sm: pl.DataFrame  # columns of PER_SM, empty without recordings

    @property
    def runs(self) -> list[str]:
        return self.frame[RUN].unique(maintain_order=True).to_list()

    def of_run(self, run: str) -> "Rows":
        return replace(self, frame=self.frame.filter(pl.col(RUN) == run))

    def of(self, *experiments: str) -> pl.DataFrame:
        return self.frame.filter(pl.col("experiment").is_in(experiments))


def whole_records(text: bytes) -> bytes:
    """Without a last line that has no end: it was being written when the run was stopped."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end)
    while quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return text[:end]


def read_text_cells(file: Path) -> pl.DataFrame:
    try:
        text = whole_records(file.read_bytes())
        if not text.strip():
            raise WrongInput(f"{file} is empty: there is no line of column names")
        frame = pl.read_csv(io.BytesIO(text), infer_schema=False, encoding="utf8-lossy")
    except OSError as error:
        raise WrongInput(f"{file} cannot be read: {error.strerror}") from error
    except pl.exceptions.PolarsError as error:
        raise WrongInput(f"{file} is not a CSV file: {str(error).splitlines()[0]}") from error
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def typed(cells: pl.DataFrame, types: dict[str, pl.DataType], source: Path) -> pl.DataFrame:
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


def read_rows(file: Path, occbench: Occbench) -> pl.DataFrame:
    """`occbench report` has read the file before and refused what is no file of rows."""
    types = {column.name: TYPES[column.type] for column in occbench.columns.values()}
    return typed(read_text_cells(file), types, file).with_columns(pl.lit(str(file)).alias(FILE))


def read_folder(folder: Path | None, pattern: str, types: dict[str, pl.DataType]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=types)]
    for file in sorted(folder.glob(pattern)) if folder else []:
        cells = read_text_cells(file)
        missing = [name for name in types if name not in cells.columns]
        if missing:
            raise WrongInput(f"{file}, line 1: no column '{missing[0]}'; it needs {', '.join(types)}")
        frames.append(typed(cells.select(types.keys()), types, file))
    return pl.concat(frames)


def labelled(frame: pl.DataFrame) -> pl.DataFrame:
    """RUN: what tells the rows' runs apart, GPU or commit, and the file where these do not."""
    commit = pl.col("commit").str.slice(0, 12)
    told_by = [name.fill_null("?") for name in (pl.col("gpu"), commit) if frame.select(name.n_unique()).item() > 1]
    files = frame[FILE].n_unique()
    if told_by:
        by_what = frame.select(pl.concat_str(told_by, separator=" · ").alias(RUN))
        labels = by_what[RUN].n_unique()
        if files <= labels <= MOST_RUNS:
            return frame.with_columns(by_what[RUN])
    name = pl.col(FILE) if files > 1 else pl.col("gpu").fill_null("?").first()
    return frame.with_columns(name.alias(RUN))


def load(files: list[Path], occbench: Occbench, timeline: Path | None = None, per_sm: Path | None = None) -> Rows:
    read = [read_rows(file, occbench) for file in files]
    frame = pl.concat(read, how="diagonal")
    if frame.is_empty():
        raise WrongInput(f"{', '.join(map(str, files))}: there is no row below the names of the columns")
    unknown = [name for name in frame.columns if name not in occbench.columns and name not in (FILE, RUN)]
    absent = [
        pl.lit(None, TYPES[column.type]).alias(column.name)
        for column in occbench.columns.values()
        if column.name not in frame.columns
    ]
    return Rows(
        labelled(frame.with_columns(absent)),
        unknown,
        occbench,
        read_folder(timeline, "*.timeline.csv", TIMELINE),
        read_folder(per_sm, "*.per_sm.csv", PER_SM),
    )
