"""Figures of advice.md: launches that were advised beside those that were asked for, what was said and what was measured."""

import json
from collections.abc import Callable
from functools import partial

import polars as pl

from occbench_tools.dataset import Results, Row, each, error, parameter, parameter_of
from occbench_tools.figures.accuracy import is_inside
from occbench_tools.markdown import listed, stamped, table_by

FILE = "advice.csv"
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


def explained(results: Results) -> dict[str, list[dict]]:
    """The findings of `occbench explain` by case."""
    text = results.occbench.output("explain", results.file(FILE), "--top", "0", "--format", "json")
    return {row["case"]: row["findings"] for row in json.loads(text)}


def said_pct(findings: list[dict], kind: str) -> float | None:
    """What the remedies of a list save at most; None where none is about time."""
    said = [finding["time_saved_at_most_pct"] for finding in findings if finding["list"] == kind and "time" in finding]
    return max(said, default=None)


def said_of(pair: Pair, findings: dict[str, list[dict]]) -> float | None:
    """What was said of the asked launch. Where theory changes too, the bound of its losses has the rounds of blocks, and that of the
    limit adds theory alone."""
    asked, advised = pair["asked"], pair["advised"]
    of_asked = findings[asked["case"]]
    limit = said_pct(of_asked, "limits")
    if parameter_of(asked, "change"):
        return limit
    said = said_pct(of_asked, "losses")
    if said is None or not limit:
        return said
    return 100 - (100 - said) * asked["theoretical_pct"] / advised["theoretical_pct"]


def grids(pair: Pair, findings: dict[str, list[dict]]) -> dict[str, str]:
    asked, advised = pair["asked"], pair["advised"]
    gain = {name: advised[name] - asked[name] for name in ("predicted_pct", "achieved_pct")}
    said = said_of(pair, findings)
    predicted = 100 * (1 - longest_cycles(advised) / longest_cycles(asked))
    return {
        "work": f"`{asked['work']}`",
        "asked": launch(asked),
        "advised": launch(advised),
        "achieved, %": achieved(pair),
        "predicted, points:": f"{gain['predicted_pct']:+.1f}",
        "measured, points:": f"{gain['achieved_pct']:+.1f}",
        "time saved, `predict`:": f"{predicted:.1f} %",
        "`explain`, at most:": "" if said is None else f"{said:.1f} %",
        "measured:": f"{saved_pct(pair):.1f} %",
    }


def theory(pair: Pair, findings: dict[str, list[dict]]) -> dict[str, str]:
    asked, advised = pair["asked"], pair["advised"]
    axis, before, after = parameter_of(asked, "change").split(":")
    limit = next(finding for finding in findings[asked["case"]] if finding["list"] == "limits")
    return {
        "kernel": f"`{asked['kernel']}/{asked['variant']}`",
        "asked": launch(asked),
        "step": f"{axis} {before} → {after}",
        "theory, %": f"{asked['theoretical_pct']:.4g} → {advised['theoretical_pct']:.4g}",
        "achieved, %": achieved(pair),
        "time saved, said": limit["time"].removesuffix("."),
        "time saved, measured:": f"{saved_pct(pair):.1f} %",
    }


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


def block(line: Callable[[Pair, dict], dict[str, str]], results: Results) -> str:
    """The pairs whose theory was changed, or those whose grid was."""
    findings = explained(results)
    found = [
        pair for pair in pairs(results.rows(FILE)) if bool(parameter_of(pair["asked"], "change")) == (line is theory)
    ]
    if not found:
        return "Not recorded."
    lines = [line(pair, findings) for pair in found]
    return f"{table_by(lines)}\n\n{verdict(found, findings)}{predictions(found) if line is grids else ''}"


def predictions(found: list[Pair]) -> str:
    """How far those of the launches that were asked for are off, in words."""
    asked = pl.DataFrame([pair["asked"] for pair in found], infer_schema_length=None)
    off = asked.select(error()).to_series()
    outside = len(asked) - asked.select(is_inside()).to_series().sum()
    return (
        f" Predictions of the asked launches ({listed(asked['device_profile'].unique().sort())}) are {off.mean():.1f} points off on "
        f"average, {off.max():.1f} at most; {outside} of {len(asked)} counters are outside the 90 % interval."
    )


def measured_on(results: Results) -> str:
    rows = results.rows(FILE)
    return f"Both launches of each pair were measured on an {stamped(rows)}. Launches are blocks x threads."


BLOCKS = {"advice": measured_on, "advice: grids": partial(block, grids), "advice: theory": partial(block, theory)}
