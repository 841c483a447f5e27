"""Recorded rows as one Polars frame: typed by the column table, with the run that each row is of in the column RUN."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import PER_SM, TIMELINE, read_rows, read_table
from occbench_tools.program import Occbench
from occbench_tools.report.windows import Window, read_windows

# Columns of ours beside those of the files.
RUN = "__run"
FILE = "__file"
# More runs than there are distinct colours are labelled by their files.
MOST_RUNS = 6


@dataclass(frozen=True)
class Rows:
    frame: pl.DataFrame  # one row a case, in the order of the files; columns that no file has are all null
    unknown_columns: list[str]  # of the files, and not of the column table
    occbench: Occbench
    timeline: pl.DataFrame  # columns of TIMELINE, empty without recordings
    per_sm: pl.DataFrame  # columns of PER_SM, empty without recordings
    windows: list[Window] = field(default_factory=list)  # of a traced program

    @property
    def runs(self) -> list[str]:
        return self.frame[RUN].unique(maintain_order=True).to_list()

    @property
    def are_of_programs(self) -> bool:
        return "experiment" in self.frame.columns and (self.frame["experiment"] == "trace").all()

    def of_run(self, run: str) -> "Rows":
        return replace(self, frame=self.frame.filter(pl.col(RUN) == run))


def read_folder(folder: Path | None, pattern: str, types: dict[str, pl.DataType]) -> pl.DataFrame:
    files = sorted(folder.glob(pattern)) if folder else []
    for file in files:
        if file.exists() and not file.is_file():  # a pipe that nobody writes to would never be open
            raise WrongInput(f"{file} is no regular file, and its name says that it has recordings: move it away")
    return pl.concat([pl.DataFrame(schema=types), *(read_table(file, types).select(types.keys()) for file in files)])


def build(frame: pl.DataFrame) -> pl.Series:
    """The commit of the run that each row is of. Cases of a file that another commit recorded again belong to the run of the
    others; a file with a case twice has several runs."""
    of_file = [FILE, "gpu"]
    commit = pl.col("commit").str.slice(0, 12).fill_null("?")
    several = pl.struct("experiment", "case").is_duplicated().any().over(of_file)
    of_most = commit.mode().sort().first().over(of_file)
    return frame.select(pl.when(several).then(commit).otherwise(of_most).alias("build"))["build"]


def labelled(frame: pl.DataFrame) -> pl.DataFrame:
    """RUN: the GPU or commit of a row's run, or its file where these are the same."""
    names = (frame["gpu"].fill_null("?"), build(frame))
    labels_by = [name for name in names if name.n_unique() > 1]
    files = frame[FILE].n_unique()
    if labels_by:
        by_what = frame.select(pl.concat_str(labels_by, separator=" · ").alias(RUN))
        labels = by_what[RUN].n_unique()
        if files <= labels <= MOST_RUNS:
            return frame.with_columns(by_what[RUN])
    name = pl.col(FILE) if files > 1 else pl.col("gpu").fill_null("?").first()
    return frame.with_columns(name.alias(RUN))


def load(files: list[Path], occbench: Occbench, timeline: Path | None = None, per_sm: Path | None = None) -> Rows:
    """`timeline`: a folder of recordings, or the file of a traced program."""
    read = [read_rows(file, occbench).with_columns(pl.lit(str(file)).alias(FILE)) for file in files]
    frame = pl.concat(read, how="diagonal")
    if frame.is_empty():
        raise WrongInput(f"{', '.join(map(str, files))}: there is no row below the names of the columns")
    unknown = [name for name in frame.columns if name not in occbench.columns and name not in (FILE, RUN)]
    of_program = timeline is not None and not timeline.is_dir()
    return Rows(
        labelled(frame),
        unknown,
        occbench,
        read_folder(None if of_program else timeline, "*.timeline.csv", TIMELINE),
        read_folder(per_sm, "*.per_sm.csv", PER_SM),
        read_windows(timeline) if of_program else [],
    )
