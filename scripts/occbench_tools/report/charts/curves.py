"""What `occbench calc --curves --format csv` writes: theoretical occupancy over block size, registers and shared memory."""

import altair as alt
import polars as pl

from occbench_tools.dataset import parameter
from occbench_tools.report.charts.resources import AXES, SHARED, corners, shared
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import Drawing, Missing, Panel, colour, percent, told_apart, tooltip

UNITS = AXES | {SHARED: "B of shared memory"}  # in the sentence


def points(rows: Rows) -> pl.DataFrame:
    """`axis, value, current, theoretical_pct` and the run, in the order of the values."""
    frame = rows.frame.with_columns(shared(), axis=parameter("axis"), current=parameter("current") == "1")
    frame = frame.drop_nulls(["axis", "current", "theoretical_pct"])
    value = pl.coalesce(pl.when(pl.col("axis") == axis).then(pl.col(axis)) for axis in AXES)
    return frame.with_columns(value=value).drop_nulls("value").sort(RUN, "axis", "value")


def panel(rows: Rows, frame: pl.DataFrame, axis: str) -> Panel:
    on_axis = frame.filter(pl.col("axis") == axis).select(RUN, "value", "theoretical_pct", "blocks_per_sm", "current")
    title = AXES[axis]
    x = alt.X("value:Q", title=title, scale=alt.Scale(nice=False))
    y = percent(alt.Y, "theoretical_pct", "theoretical occupancy, %")
    several = len(rows.runs) > 1
    colours = told_apart(rows, RUN, rows.runs) if several else {"color": alt.value(colour("theoretical"))}
    told = {"value": title, "theoretical_pct": "theoretical occupancy, %", "blocks_per_sm": "blocks"}
    steps = pl.concat(
        corners(of).select(RUN, "value", "theoretical_pct") for _, of in on_axis.group_by(RUN, maintain_order=True)
    )
    line = alt.Chart(steps).mark_line(interpolate="step-before", strokeWidth=2)
    marks = alt.Chart(on_axis.filter("current").drop("current")).mark_point(filled=True, size=90, opacity=1)
    tooltips = [tooltip(field, name) for field, name in told.items()]
    layers = [line.encode(x=x, y=y, **colours), marks.encode(x=x, y=y, tooltip=tooltips, **colours)]
    return Panel(f"Over {title.split(',')[0]}", alt.layer(*layers))


def curves(rows: Rows) -> Drawing:
    frame = points(rows)
    axes = [axis for axis in AXES if frame.filter(pl.col("axis") == axis)["value"].n_unique() > 1]
    if not axes:
        raise Missing("needs rows of curves, as occbench calc --curves --format csv writes them")
    current = frame.filter("current")
    at = current.row(0, named=True) if len(current) else frame.row(0, named=True)
    sentence = (
        f"{at['block_threads']} threads per block, {at['registers_per_thread']} registers per thread and "
        f"{at[SHARED]} B of shared memory on compute capability {at['compute_capability']}: "
        f"{at['theoretical_pct']:.4g} % in theory (the point)."
    )
    steps = []
    for axis in axes:
        on_axis = frame.filter(pl.col("axis") == axis, pl.col(RUN) == at[RUN])
        lower = on_axis.filter(pl.col("value") > at[axis], pl.col("theoretical_pct") < at["theoretical_pct"])
        if len(lower):
            steps.append(f"{lower['value'][0]} {UNITS[axis]} give {lower['theoretical_pct'][0]:.4g} %")
    if steps:
        sentence += f" The next steps down: {'; '.join(steps)}."
    return Drawing(sentence, [panel(rows, frame, axis) for axis in axes])
