"""The calculator's curves with measured points on them."""

import altair as alt
import polars as pl

from occbench_tools.dataset import median
from occbench_tools.report.charts.resources import (
    AXES,
    SHARED,
    candidates,
    of_candidate,
    plain_launches,
    step_line,
    theory,
)
from occbench_tools.report.rows import Rows
from occbench_tools.report.style import (
    Drawing,
    Missing,
    Panel,
    counted,
    medians,
    occupancy_axis,
    swatches,
    tips,
    titles,
    told_apart,
)

UNITS = {"block_threads": "threads", "registers_per_thread": "registers", SHARED: "B of shared memory"}


def calculator_panel(rows: Rows, axis: str) -> tuple[Panel, pl.DataFrame] | None:
    """Of the launch that was measured at most values of `axis`, in at least a wave."""
    frame = plain_launches(rows.frame).filter(pl.col("waves").fill_null(1) >= 1)
    measured = of_candidate(frame, axis, candidates(frame, axis).head(1))
    if measured[axis].n_unique() < 2:
        return None
    first = measured.row(0, named=True)
    steps = theory(rows, first, axis)
    if steps is None:
        return None
    fixed = ", ".join(f"{first[name]} {unit}" for name, unit in UNITS.items() if name != axis)
    name = AXES[axis] if axis == SHARED else rows.occbench.title(axis)
    x = alt.X("value:Q", title=name, scale=alt.Scale(domainMin=0, domainMax=steps["value"].max(), nice=False))
    colours = {} if len(rows.runs) > 1 else {"color": alt.datum("theoretical")}
    line = step_line(steps).encode(x=x, y=alt.Y("occupancy:Q"), **colours)
    points = medians(measured, [axis], ["achieved_pct", "theoretical_pct"]).drop_nulls("achieved_pct")
    points = points.rename({axis: "value", "achieved_pct": "occupancy"}).with_columns(kind=pl.lit("achieved"))
    told = titles(rows, "achieved_pct", "theoretical_pct")
    tooltips = tips(rows, value=name, occupancy=told.pop("achieved_pct"), **told)
    marks = alt.Chart(points).mark_point(filled=True, size=45, opacity=1)
    marks = marks.encode(
        x=x,
        y=occupancy_axis(),
        **told_apart(rows, "kind", ["achieved"], swatches(["theoretical", "achieved"])),
        tooltip=tooltips,
    )
    return Panel(f"{fixed} on compute capability {first['compute_capability']}", alt.layer(line, marks)), points


def calculator(rows: Rows) -> Drawing:
    drawn = [drawn for axis in AXES if (drawn := calculator_panel(rows, axis))]
    if not drawn:
        raise Missing("needs rows of one kernel that differ in threads, registers or shared memory, all else equal")
    points = pl.concat([points for _, points in drawn], how="vertical_relaxed")
    if points.is_empty():
        raise Missing("none of the rows that differ in one resource was counted")
    differences = (points["occupancy"] - points["theoretical_pct"]).abs()
    worst = points.row(differences.arg_max(), named=True)
    sentence = (
        f"The counter is within {median(differences):.1f} points of the calculator's line (grey) at the median of "
        f"{counted(len(points), 'measured point')}; the worst case reads {worst['occupancy']:.1f} % where theory is "
        f"{worst['theoretical_pct']:.1f} %."
    )
    return Drawing(sentence, [panel for panel, _ in drawn])
