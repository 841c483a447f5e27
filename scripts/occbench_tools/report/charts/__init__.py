"""The charts. To add one: a function from rows to a drawing, and a line in CHARTS."""

import contextlib
import traceback
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from occbench_tools.report.charts import (
    compare,
    curves,
    launches,
    performance,
    programs,
    registers,
    schedule,
    sms,
    sweeps,
    theory,
)
from occbench_tools.report.rows import Rows
from occbench_tools.report.style import Drawing, Missing


class Chart(NamedTuple):
    name: str  # of its picture files, and its anchor on the page
    title: str
    needs: list[str]  # columns of which at least one row must have a value
    draw: Callable[[Rows], Drawing]


CHARTS = [
    Chart("agreement", "How far from the counter", ["theoretical_pct", "achieved_pct"], compare.agreement),
    Chart("differences", "Differences between runs", [], compare.differences),
    Chart("programs", "Where the time of a program goes", ["launches", "total_time_us"], programs.programs),
    Chart("losses", "Where the occupancy went", ["predicted_pct"], schedule.losses),
    Chart("calculator", "The calculator's three curves", ["theoretical_pct"], theory.calculator),
    Chart("curves", "Theoretical occupancy over block size, registers and shared memory", [], curves.curves),
    Chart(
        "calculator_of_launches",
        "The calculator's curves around each launch",
        ["theoretical_pct", "registers_per_thread"],
        launches.calculator_of_launches,
    ),
    Chart(
        "register_cliff", "The register cliff", ["registers_per_thread", "theoretical_pct"], registers.register_cliff
    ),
    Chart("register_cap", "Spills against occupancy", ["spill_bytes", "time_us"], registers.register_cap),
    Chart("sweeps", "Sweeps", ["theoretical_pct"], sweeps.sweeps),
    Chart("sweep_points", "Sweeps: theory and the counter", ["theoretical_pct", "achieved_pct"], sweeps.sweep_points),
    Chart("waves", "The sawtooth of waves", ["waves"], schedule.waves),
    Chart("imbalance", "Imbalance between blocks and within a block", ["predicted_pct"], schedule.imbalance),
    Chart("tail_remedies", "Remedies for the tail", ["throughput"], schedule.tail_remedies),
    Chart("timeline", "Occupancy over time", [], schedule.timeline),
    Chart("per_sm", "Occupancy of each SM", [], sms.per_sm),
    Chart("throughput", "Throughput against occupancy", ["achieved_pct", "throughput"], performance.throughput),
    Chart(
        "issue", "Issue and eligible warps against occupancy", ["issue_active_pct", "eligible_warps"], launches.issue
    ),
    Chart("pipes", "Use of pipes against occupancy", ["achieved_pct"], launches.pipes),
]


class Drawn(NamedTuple):
    chart: Chart
    drawing: Drawing


class LeftOut(NamedTuple):
    chart: Chart
    reason: str
    fault: bool = False  # of ours, not of the rows


def told_of_each(chart: Chart, rows: Rows, drawing: Drawing) -> Drawing:
    """A line for each of several runs, except where the chart is about more than one or about none."""
    sentences = {}
    for run in rows.runs if len(rows.runs) > 1 else []:
        with contextlib.suppress(Missing):
            sentences[run] = chart.draw(rows.of_run(run)).sentence
    if len(set(sentences.values())) < 2:
        return drawing
    return drawing._replace(sentence="\n".join(f"{run}: {sentence}" for run, sentence in sentences.items()))


def draw_all(rows: Rows, wanted: list[str] | None = None) -> tuple[list[Drawn], list[LeftOut]]:
    """Every chart, or those of these names, whose data is there, and why the others are not."""
    drawn: list[Drawn] = []
    left_out: list[LeftOut] = []
    # The report of a program begins with where its time goes, and ends with how far the prediction is.
    last = {"programs": 0, "timeline": 0, "agreement": 2} if rows.are_of_programs else {}
    for chart in sorted(CHARTS, key=lambda chart: last.get(chart.name, 1)):
        if wanted and chart.name not in wanted:
            continue
        try:
            absent = [name for name in chart.needs if not rows.frame.select(pl.col(name).is_not_null().any()).item()]
            if absent:
                raise Missing(f"no row has a value in {', '.join(absent)}")
            drawn.append(Drawn(chart, told_of_each(chart, rows, chart.draw(rows))))
        except Missing as reason:
            left_out.append(LeftOut(chart, str(reason)))
        except Exception:
            # The other charts and the table are worth having still.
            traceback.print_exc()
            left_out.append(LeftOut(chart, "an internal fault; see standard error", fault=True))
    return drawn, left_out
