"""Prints a table of asked and advised launches, predicted and measured, from the rows of the program `advice`.

build/release/bin/advice --occ_suite=smoke --occ_csv=results/nvidia-h200/advice.csv
scripts/python -m occbench_tools advice results/nvidia-h200/advice.csv > results/nvidia-h200/advice.md
"""

import argparse
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import Row, each, parameter, read_rows
from occbench_tools.markdown import table
from occbench_tools.program import Occbench, binaries_of, declare_binaries


def longest_cycles(row: Row) -> float:
    """Active cycles of the longest SM, as predicted."""
    return row["predicted_cycles_active"] * row["predicted_pct"] / row["predicted_elapsed_pct"]


def launch(row: Row) -> str:
    return f"{row['grid_blocks']} x {row['block_threads']}"


def pairs(rows: pl.DataFrame) -> list[dict[str, Row]]:
    """Of each question that was measured whole: the rows `asked` and `advised`."""
    rows = rows.with_columns(question=parameter("question"), launch=parameter("launch"))
    questions = rows.drop_nulls(["question", "launch"]).partition_by("question", maintain_order=True)
    measured = (question.drop_nulls(["achieved_pct", "time_us"]) for question in questions)
    return [{row["launch"]: row for row in each(question)} for question in measured if len(question) == 2]


def advice_table(rows: pl.DataFrame) -> str:
    lines = []
    for pair in pairs(rows):
        asked, advised = pair["asked"], pair["advised"]
        gain = {name: advised[name] - asked[name] for name in ("predicted_pct", "achieved_pct")}
        predicted_time = 100 * (longest_cycles(advised) / longest_cycles(asked) - 1)
        measured_time = 100 * (advised["time_us"] / asked["time_us"] - 1)
        lines.append(
            (
                f"`{asked['work']}`",
                launch(asked),
                launch(advised),
                f"{asked['achieved_pct']:.1f} → {advised['achieved_pct']:.1f}",
                f"{gain['predicted_pct']:+.1f}",
                f"{gain['achieved_pct']:+.1f}",
                f"{predicted_time:+.1f} %",
                f"{measured_time:+.1f} %",
            )
        )
    head = ("work", "asked", "advised", "achieved, %", "predicted, points:", "measured, points:")
    return table((*head, "time predicted:", "time measured:"), lines)


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", type=Path, metavar="FILE.csv", help="rows of the program `advice`")
    declare_binaries(parser)


def run(options: argparse.Namespace) -> None:
    rows = read_rows(options.rows, Occbench(binaries_of(options) / "occbench"))
    if rows.is_empty():
        raise WrongInput(f"{options.rows} has no rows: run the program `advice` with --occ_csv first")
    gpu, driver = rows.select("gpu", "driver").row(0)
    print(
        "# Advice, tried on the GPU\n"
        "For each launch the simulator looked for a grid or block size near it that does the same work in less time, as "
        "`occbench predict` does. Both launches were measured. Launches are blocks x threads of the kernel `spin` on "
        f"{gpu}, driver {driver}.\n"
    )
    print(advice_table(rows))
