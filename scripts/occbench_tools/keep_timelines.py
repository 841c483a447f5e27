"""Copies six timelines and six files per SM into results/nvidia-h200, with the rows and traced occupancies of twelve cases
and a line for each timeline of all.

FOLDER is what this wrote: bench_waves and bench_imbalance_between_blocks with --occ_suite=quick --occ_csv=FOLDER/NAME.csv
--occ_timeline=FOLDER/timeline --occ_per_sm=FOLDER/per_sm, NAME being waves and imbalance. Then run the command `figures`,
which writes the figures of depth.md.
"""

import argparse
import shutil
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import read_text, write_table
from occbench_tools.figures.timelines import Timeline
from occbench_tools.program import RESULTS

CASES = (
    r"waves=(0\.75|1\.00|1\.25|1\.50|1_plus_one_block|2\.25|4\.00)$"
    r"|shape=(linear_up|uniform_1)/waves=1$|shape=(uniform_1|lognormal_1|heaviest_last)/waves=16$"
)
WANTED = pl.col("case").str.contains(CASES)
# As many as a chart of the report draws.
FILES = r"waves=(0\.75|1\.50|2\.25)$|shape=uniform_1/waves=1$|shape=(lognormal_1|heaviest_last)/waves=16$"
TRACED = ("achieved_pct_by_trace", "same_launch_trace_pct", "same_launch_counter_pct")
RUNS = ("waves", "imbalance")


def chosen(folder: Path, kind: str) -> list[Path]:
    """The files of one kind that are kept."""
    files = [
        file
        for file in sorted((folder / kind).glob(f"*.{kind}.csv"))
        if len(read_text(file).head(1).filter(pl.col("case").str.contains(FILES)))
    ]
    if not files:
        raise WrongInput(f"{folder / kind}: none of the cases that are kept has a file *.{kind}.csv there")
    return files


def replace_folder(target: Path, files: list[Path]) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copy(file, target)


def summary(file: Path, rows: pl.DataFrame) -> dict[str, str]:
    """What is kept of a timeline that is not."""
    timeline = Timeline(file)
    experiment, case = timeline.key
    row = rows.filter(experiment=experiment, case=case).row(0, named=True)
    return {
        "experiment": experiment,
        "case": case,
        "mean_pct": f"{timeline.mean():.4f}",
        "achieved_elapsed_pct": row["achieved_elapsed_pct"],
        "rms_points": f"{timeline.rms():.4f}",
    }


def keep(folder: Path, results: Path) -> None:
    # All is read before anything is replaced.
    rows = pl.concat([read_text(folder / f"{name}.csv") for name in RUNS], how="diagonal")
    samples = pl.concat([read_text(folder / f"{name}.samples.csv") for name in RUNS])
    files = {kind: chosen(folder, kind) for kind in ("timeline", "per_sm")}
    summaries = [summary(file, rows) for file in sorted((folder / "timeline").glob("*.timeline.csv"))]
    for kind, kept in files.items():
        replace_folder(results / kind, kept)
    write_table(results / "timeline" / "rows.csv", rows.filter(WANTED))
    write_table(results / "timeline" / "all.csv", summaries)
    write_table(results / "per_sm" / "traced.samples.csv", samples.filter(WANTED, pl.col("quantity").is_in(TRACED)))


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER")


def run(options: argparse.Namespace) -> None:
    keep(options.folder, RESULTS)
