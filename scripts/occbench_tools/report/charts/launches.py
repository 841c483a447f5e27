"""What is drawn of any launch, whatever its experiment: the calculator's curves around it, and what its warps issue."""

import altair as alt
import polars as pl

from occbench_tools.dataset import median, unit_use
from occbench_tools.report.charts.resources import AXES, SHARED, USAGE, plain_launches, step_line, theory
from occbench_tools.report.rows import Rows
from occbench_tools.report.style import (
    Drawing,
    Missing,
    Panel,
    colour,
    counted,
    kernel_name,
    medians,
    most_frequent,
    names_in,
    occupancy_axis,
    percent,
    tips,
    told_apart,
    tooltip,
)

MOST_LAUNCHES = 3
# By their keys in the column unit_use.
UNITS = {
    "fma": "FP32",
    "alu": "integers and logic",
    "fp64": "FP64",
    "xu": "special functions",
    "tensor": "tensors",
    "l1": "L1 and shared memory",
    "l2": "L2",
}
LEAST_USE_PCT = 50


def longest_launches(rows: Rows) -> pl.DataFrame:
    """The launch configurations that most time was spent on, one row each."""
    grouped = plain_launches(rows.frame).group_by([*USAGE, "theoretical_pct"], maintain_order=True)
    values = grouped.agg(
        median(pl.col("achieved_pct")),
        kernel_name().drop_nulls().unique(maintain_order=True).alias("kernels"),
        pl.col("achieved_pct").count().alias("counted"),
        pl.col("time_us").sum().alias("total_time_us"),
        pl.len().alias("rows"),
    )
    return values.sort("total_time_us", "rows", descending=True, maintain_order=True).head(MOST_LAUNCHES)


def usage_in_words(launch: dict) -> str:
    return f"{launch['block_threads']} threads, {launch['registers_per_thread']} registers, {launch[SHARED]} B shared"


def kernels_in_words(names: list[str]) -> str:
    if len(names) < 3:
        return ", ".join(names) or "launch"
    return f"{names[0]} and {len(names) - 1} other kernels"


def curve_panel(steps: pl.DataFrame, axis: str, launch: dict) -> Panel:
    """Theory along one axis as a step line; the launch's own theory circled, its counter as a dot."""
    title = f"{kernels_in_words(launch['kernels'])}: {usage_in_words(launch)}"
    # A circle at 0 stays clear of the other axis.
    scale = alt.Scale(domainMin=0, domainMax=steps["value"].max(), nice=False, padding=12)
    place = {"x": alt.X("value:Q", title=AXES[axis], scale=scale), "y": occupancy_axis()}
    marks = {"theoretical": {"size": 220, "strokeWidth": 2, "color": colour("ink")}}
    marks["achieved"] = {"filled": True, "size": 45, "color": colour("achieved")}
    tooltips = [alt.Tooltip("kind:N"), tooltip("value", AXES[axis]), tooltip("occupancy", "occupancy, %")]
    layers = [step_line(steps).encode(**place)]
    for kind, mark in marks.items():
        if launch[f"{kind}_pct"] is not None:
            point = pl.DataFrame({"value": [launch[axis]], "kind": [kind], "occupancy": [launch[f"{kind}_pct"]]})
            layers.append(alt.Chart(point).mark_point(opacity=1, **mark).encode(**place, tooltip=tooltips))
    return Panel(title, alt.layer(*layers))


def calculator_of_launches(rows: Rows) -> Drawing:
    panels, drawn = [], []
    for launch in longest_launches(rows).rows(named=True):
        steps = {axis: theory(rows, launch, axis) for axis in AXES}
        if all(of is not None for of in steps.values()):
            panels += [curve_panel(of, axis, launch) for axis, of in steps.items()]
            drawn.append(launch)
    if not panels:
        raise Missing(
            "needs rows with threads, registers and theory, without carveout or clusters, as the calculator allows"
        )
    first = drawn[0]
    of_several = f", median of {first['counted']:,} rows" if first["counted"] > 1 else ""
    read = "" if first["achieved_pct"] is None else f", its counter {first['achieved_pct']:.4g} % (dot{of_several})"
    longest = " with most time in these rows" if first["total_time_us"] else ""
    return Drawing(
        f"{counted(len(drawn), 'launch configuration')}{longest}; each panel varies one resource and keeps the other two. --filter "
        f"draws other launches. {usage_in_words(first)}: theory is {first['theoretical_pct']:.4g} % (circle){read}.",
        panels,
        together=len(AXES),
    )


def counter_panel(rows: Rows, points: pl.DataFrame, value: str, series: str, title: str, **scale) -> Panel:
    x_title = rows.occbench.title("achieved_pct")
    marks = alt.Chart(points).mark_point(filled=True, size=35, opacity=0.85)
    marks = marks.encode(
        x=percent(alt.X, "achieved_pct", x_title),
        y=alt.Y(f"{value}:Q", title=title, scale=alt.Scale(domainMin=0, **(scale or {"nice": True}))),
        tooltip=tips(rows, series, **{"achieved_pct": x_title, value: title, "rows": "rows"}),
        **told_apart(rows, series, names_in(points[series])),
    )
    return Panel(title, marks)


def issue(rows: Rows) -> Drawing:
    values = ["issue_active_pct", "eligible_warps"]
    frame = rows.frame.with_columns(kernel_name().fill_null("?").alias("kernel")).drop_nulls(["achieved_pct", *values])
    if frame.is_empty():
        raise Missing("needs counted rows: achieved_pct, issue_active_pct and eligible_warps")
    points = medians(most_frequent(frame, "kernel"), ["kernel", "achieved_pct"], values)
    title = rows.occbench.title
    full = frame.filter(pl.col("achieved_pct") >= 90)
    idle = len(full.filter(pl.col("issue_active_pct") < 50))
    sentence = (
        f"Of {counted(len(full), 'row')} with 90 % achieved occupancy or more, {idle} issued instructions in fewer than half of the cycles: "
        "resident warps that wait are no eligible warps."
        if len(full)
        else f"{counted(len(frame), 'row')}, none with 90 % achieved occupancy or more."
    )
    return Drawing(
        sentence,
        [
            counter_panel(rows, points, "issue_active_pct", "kernel", title("issue_active_pct"), domainMax=105),
            counter_panel(rows, points, "eligible_warps", "kernel", "eligible warps per scheduler"),
        ],
    )


def pipes(rows: Rows) -> Drawing:
    panels, told = [], []
    used = rows.frame.with_columns(pl.col("variant").fill_null("?"), *(unit_use(unit).alias(unit) for unit in UNITS))
    used = used.drop_nulls("achieved_pct").with_columns(pl.max_horizontal(*UNITS).alias("most"))
    for unit, name in UNITS.items():
        # The unit that a launch leaves alone says nothing, nor does one that none fills.
        frame = used.filter(pl.col(unit) == pl.col("most"))
        if frame.is_empty() or frame[unit].max() < LEAST_USE_PCT:
            continue
        points = medians(most_frequent(frame, "variant"), ["variant", "achieved_pct"], [unit])
        title = f"use of {unit} ({name}), %"
        panels.append(counter_panel(rows, points, unit, "variant", title, domainMax=105))
        best = frame.row(frame[unit].arg_max(), named=True)
        alike = frame.filter(pl.col("variant") == best["variant"], pl.col(unit) >= 0.95 * best[unit])
        enough = alike["achieved_pct"].min()
        told.append(f"{name}: {best[unit]:.0f} % at most, and 95 % of that from {enough:.0f} % achieved occupancy on")
    if not panels:
        raise Missing(
            f"needs counted rows of which unit_use has a unit with {LEAST_USE_PCT} % or more: the full suite and sweeps read it"
        )
    return Drawing(f"{'; '.join(told)}.", panels)
