"""Prints tables of asked and advised launches, what was said and what was measured, from the rows of the program `advice`.

build/release/bin/advice --occ_suite=full --occ_csv=results/nvidia-h200/advice.csv
scripts/python -m occbench_tools advice results/nvidia-h200/advice.csv > results/nvidia-h200/advice.md
"""

import argparse
import json
from pathlib import Path

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import Row, each, parameter, parameter_of, read_rows
from occbench_tools.markdown import table
from occbench_tools.program import Occbench, binaries_of, declare_binaries

# Measured savings may be above the bound by what times of the same launch vary by, percent of the time.
NOISE_PCT = 2

Pair = dict[str, Row]


def longest_cycles(row: Row) -> float:
    """Active cycles of the longest SM, as predicted."""
    return row["predicted_cycles_active"] * row["predicted_pct"] / row["predicted_elapsed_pct"]


def launch(row: Row) -> str:
    return f"{row['grid_blocks']} x {row['block_threads']}"


def pairs(rows: pl.DataFrame) -> list[Pair]:
    """Of each question that was measured whole: the rows `asked` and `advised`."""
    rows = rows.with_columns(question=parameter("question"), launch=parameter("launch"))
    questions = rows.drop_nulls(["question", "launch"]).partition_by("question", maintain_order=True)
    measured = (question.drop_nulls(["achieved_pct", "time_us"]) for question in questions)
    return [{row["launch"]: row for row in each(question)} for question in measured if len(question) == 2]


def achieved(pair: Pair) -> str:
    return f"{pair['asked']['achieved_pct']:.1f} → {pair['advised']['achieved_pct']:.1f}"


def saved_pct(pair: Pair) -> float:
    """Time that the advised launch takes less, for the same useful work."""
    return 100 * (1 - pair["asked"]["throughput"] / pair["advised"]["throughput"])


def explained(file: Path, occbench: Occbench) -> dict[str, list[dict]]:
    """The findings of `occbench explain` by case."""
    rows = json.loads(occbench.output("explain", file, "--top", "0", "--format", "json"))
    return {row["case"]: row["findings"] for row in rows}


def said_pct(findings: list[dict], kind: str) -> float | None:
    """What the remedies of a list save at most; None where none is about time."""
    said = [finding["time_saved_at_most_pct"] for finding in findings if finding["list"] == kind and "time" in finding]
    return max(said, default=None)


def said_of(pair: Pair, findings: dict[str, list[dict]]) -> float | None:
    """What was said of the asked launch. Where grid and block size change, the remedies of a loss and of a limit do both."""
    asked, advised = pair["asked"], pair["advised"]
    of_asked = findings[asked["case"]]
    if parameter_of(asked, "change"):
        return said_pct(of_asked, "limits")
    said = said_pct(of_asked, "losses")
    limit = said_pct(of_asked, "limits") or 0
    if said is None or asked["block_threads"] == advised["block_threads"]:
        return said
    return 100 * (1 - (1 - said / 100) * (1 - limit / 100))


def grid_table(found: list[Pair], findings: dict[str, list[dict]]) -> str:
    lines = []
    for pair in found:
        asked, advised = pair["asked"], pair["advised"]
        gain = {name: advised[name] - asked[name] for name in ("predicted_pct", "achieved_pct")}
        said = said_of(pair, findings)
        predicted = 100 * (1 - longest_cycles(advised) / longest_cycles(asked))
        lines.append(
            (
                f"`{asked['work']}`",
                launch(asked),
                launch(advised),
                achieved(pair),
                f"{gain['predicted_pct']:+.1f}",
                f"{gain['achieved_pct']:+.1f}",
                f"{predicted:.1f} %",
                "" if said is None else f"{said:.1f} %",
                f"{saved_pct(pair):.1f} %",
            )
        )
    head = ("work", "asked", "advised", "achieved, %", "predicted, points:", "measured, points:")
    return table((*head, "time saved, `predict`:", "`explain`, at most:", "measured:"), lines)


def theory_table(found: list[Pair], findings: dict[str, list[dict]]) -> str:
    lines = []
    for pair in found:
        asked, advised = pair["asked"], pair["advised"]
        axis, before, after = parameter_of(asked, "change").split(":")
        limit = next(finding for finding in findings[asked["case"]] if finding["list"] == "limits")
        lines.append(
            (
                f"`{asked['kernel']}/{asked['variant']}`",
                launch(asked),
                f"{axis} {before} → {after}",
                f"{asked['theoretical_pct']:.4g} → {advised['theoretical_pct']:.4g}",
                achieved(pair),
                limit["time"].removesuffix("."),
                f"{saved_pct(pair):.1f} %",
            )
        )
    head = ("kernel", "asked", "step", "theory, %", "achieved, %", "time saved, said")
    return table((*head, "time saved, measured:"), lines)


def verdict(found: list[Pair], findings: dict[str, list[dict]]) -> str:
    """How often no more was saved than was said, in words."""
    said = [said_of(pair, findings) or 0 for pair in found]
    measured = [saved_pct(pair) for pair in found]
    within = sum(got <= most + NOISE_PCT for got, most in zip(measured, said, strict=True))
    text = f"In {within} of {len(found)} pairs no more was saved than was said, to {NOISE_PCT} % of the time."
    none = [got for got, most in zip(measured, said, strict=True) if most == 0]
    if none:
        text += f" Where none was expected, {min(none):.1f} to {max(none):.1f} % was."
    differences = [most - got for got, most in zip(measured, said, strict=True) if most > 0]
    if differences:
        text += f" Elsewhere the bound is above what was measured by {min(differences):.1f} to {max(differences):.1f} % of the time."
    return text


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rows", type=Path, metavar="FILE.csv", help="rows of the program `advice`")
    declare_binaries(parser)


def run(options: argparse.Namespace) -> None:
    occbench = Occbench(binaries_of(options) / "occbench")
    rows = read_rows(options.rows, occbench)
    if rows.is_empty():
        raise WrongInput(f"{options.rows} has no rows: run the program `advice` with --occ_csv first")
    findings = explained(options.rows, occbench)
    found = pairs(rows)
    of_theory = [pair for pair in found if parameter_of(pair["asked"], "change")]
    of_grids = [pair for pair in found if not parameter_of(pair["asked"], "change")]
    gpu, driver = rows.select("gpu", "driver").row(0)
    print(
        "# Advice, tried on the GPU\n"
        f"Both launches of each pair were measured on {gpu}, driver {driver}. Launches are blocks x threads.\n\n"
        "## Grids and block sizes\n"
        "The simulator looked for a grid or block size near the launch that does the same work in less time, as "
        "`occbench predict` does. The kernel is `spin`. `explain` bounds what its remedies save of the time.\n"
    )
    print(grid_table(of_grids, findings))
    print(f"\n{verdict(of_grids, findings)}")
    if not of_theory:
        return
    print(
        "\n## Theory\n"
        "The step is among those that `occbench calc` and `explain` list first, applied to launches in whole waves. "
        "`explain` said of the asked launch what the step saves.\n"
    )
    print(theory_table(of_theory, findings))
    print(f"\n{verdict(of_theory, findings)}")
