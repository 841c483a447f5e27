"""The Python half of `occbench report`, which calls it with files that it has read before."""

import argparse
from dataclasses import replace
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput, tell
from occbench_tools.program import Occbench
from occbench_tools.report.charts import CHARTS, LeftOut, draw_all
from occbench_tools.report.files import replace_text, target_of
from occbench_tools.report.page import write_page
from occbench_tools.report.pictures import FORMATS, write_pictures
from occbench_tools.report.rows import Rows, load

MOST_OF_REASON = 300  # characters: Polars repeats the expression


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv")
    parser.add_argument("--occbench", required=True, metavar="PROGRAM", help="asked for columns and curves")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE.html")
    parser.add_argument("--timeline", type=Path, metavar="PATH", help="default: timeline/ beside the first file")
    parser.add_argument("--per-sm", type=Path, metavar="FOLDER", help="default: per_sm/ beside the first file")
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="no page: each chart as pictures, into this folder"
    )
    parser.add_argument("--chart", action="append", default=[], metavar="NAME", help="only this chart")
    parser.add_argument("--filter", default="", metavar="RE", help="only rows in whose experiment/case it is found")
    parser.add_argument("--picture-format", action="append", default=[], choices=FORMATS)


def beside(file: Path, name: str) -> Path | None:
    folder = file.parent / name
    return folder if folder.is_dir() else None


def check_names(names: list[str]) -> None:
    known = [chart.name for chart in CHARTS]
    for name in names:
        if name not in known:
            raise WrongInput(f"there is no chart '{name}'; the charts are {', '.join(known)}")


def matching(rows: Rows, expression: str) -> Rows:
    """By the rule of the suite's filters: a minus in front takes the other rows."""
    negative = expression.startswith("-")
    names = pl.concat_str("experiment", "case", separator="/", ignore_nulls=True)
    try:
        # The engine of Polars takes time in proportion to the name, whatever the expression.
        found = rows.frame.filter(names.str.contains(expression[negative:]) != negative)
    except pl.exceptions.PolarsError as error:
        raise WrongInput(
            f"--filter {expression} is not a regular expression: {str(error)[-MOST_OF_REASON:]}"
        ) from error
    if found.is_empty():
        raise WrongInput(f"--filter {expression}: it is found in the experiment/case of no row")
    return replace(rows, frame=found)


def say(left_out: list[LeftOut], *, on_page: bool) -> None:
    """A page says itself which rows its charts need."""
    told = [entry for entry in left_out if entry.fault or not on_page]
    for entry in told:
        tell(f"left out: {entry.chart.name}: {entry.reason}")
    if others := [entry.chart.name for entry in left_out if entry not in told]:
        tell(f"left out for want of rows, as the page's end says: {', '.join(others)}")


def run(options: argparse.Namespace) -> int:
    check_names(options.chart)
    target_of(options.output)  # before seconds are spent on charts
    first = options.files[0]
    rows = load(
        options.files,
        Occbench(options.occbench),
        options.timeline or beside(first, "timeline"),
        options.per_sm or beside(first, "per_sm"),
    )
    if options.filter:
        rows = matching(rows, options.filter)
    drawn, left_out = draw_all(rows, options.chart)
    nothing = not drawn and bool(options.pictures or options.chart)
    say(left_out, on_page=not options.pictures and not nothing)
    if options.pictures:
        written, not_rendered = write_pictures(drawn, options.pictures, options.picture_format or list(FORMATS))
        say(not_rendered, on_page=False)
        left_out += not_rendered
        for file in written:
            print(file)
    else:
        replace_text(options.output, write_page(rows, drawn, left_out))
        print(options.output)
    if any(entry.fault for entry in left_out):
        return 70
    return 2 if nothing else 0
