"""Sweeps: theory, prediction and counter over the axis of most values, time below; a second axis as colour, a third as panels."""

import altair as alt
import polars as pl

from occbench_tools.dataset import parameter
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    Drawing,
    Missing,
    Panel,
    colour,
    counted,
    medians,
    numbered,
    occupancy_axis,
    swatches,
    tip,
    told_apart,
    tooltip,
)

MOST_PANELS = 12
MOST_SERIES = 6
MOST_CLIFFS = 6
CLIFF_POINTS = 1
# Work that is residency itself, or not known: its throughput says nothing that its time does not.
UNTOLD = ("warp-cycles/s", "launches/s")
X, SERIES, PANEL = "x", "series", "panel"
VALUES = ["theoretical_pct", "predicted_pct", "achieved_pct", "time_us", "throughput"]
KINDS = {"theoretical_pct": "theoretical", "predicted_pct": "predicted", "achieved_pct": "achieved"}


def names_of(parameters: str | None) -> tuple[str, ...]:
    return tuple(pair.split("=", 1)[0] for pair in (parameters or "").split(";") if pair)


def sweeps_of(rows: Rows) -> list[tuple[str, list[str], pl.DataFrame]]:
    """Kernel, axes and rows of each sweep: rows of one kernel that have the same axes."""
    # A benchmark of the user's own is an experiment of one kernel, which its build compiled.
    own = (pl.col("experiment") == pl.col("kernel")) & (pl.col("variant") == "compiled")
    frame = rows.frame.filter((pl.col("experiment") == "sweep") | own)
    frame = frame.filter(pl.col("theoretical_pct").is_not_null())
    frame = frame.with_columns(
        axes=pl.col("parameters").fill_null("").map_elements(lambda text: ",".join(names_of(text)), str)
    )
    return [
        (kernel, axes.split(","), of) for (kernel, axes), of in frame.group_by("kernel", "axes", maintain_order=True)
    ]


def is_numeric(frame: pl.DataFrame, name: str) -> bool:
    texts = frame.select(parameter(name)).to_series()
    return bool(texts.cast(pl.Float64, strict=False).is_not_null().all())


def ordered_axes(frame: pl.DataFrame, axes: list[str]) -> list[str]:
    """Those of several values: of the numeric ones that with most values first, then the others by their values."""
    counts = {name: frame.select(parameter(name).n_unique()).item() for name in axes}
    several = [name for name in axes if counts[name] > 1]
    numeric = [name for name in several if is_numeric(frame, name)]
    if not numeric:
        return []
    first = max(numeric, key=lambda name: counts[name])
    return [first, *sorted((name for name in several if name != first), key=lambda name: -counts[name])]


def placed(frame: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """`x`, `series` and `panel` of each row."""
    first, *others = axes
    named = [pl.format("{}={}", pl.lit(name), parameter(name)) for name in others]
    return frame.with_columns(
        parameter(first).cast(pl.Float64).alias(X),
        (named[0] if named else pl.lit("")).alias(SERIES),
        (pl.concat_str(named[1:], separator=", ") if named[1:] else pl.lit("")).alias(PANEL),
    )


def cliffs(points: pl.DataFrame) -> pl.DataFrame:
    """Where theory falls from one value of the axis to the next, by how much, and what then limits the SM."""
    steps = points.sort(RUN, SERIES, X).with_columns(
        drop=(pl.col("theoretical_pct").shift(1) - pl.col("theoretical_pct")).over(RUN, SERIES)
    )
    steps = steps.filter(pl.col("drop") >= CLIFF_POINTS).sort("drop", descending=True, maintain_order=True)
    return steps.unique([X, "limiter"], keep="first", maintain_order=True).head(MOST_CLIFFS)


def cliff_marks(found: pl.DataFrame) -> list[alt.Chart]:
    if found.is_empty():
        return []
    texts = found.select(X, cause=pl.col("limiter").fill_null("?").str.replace_all("+", " + ", literal=True))
    base = alt.Chart(texts).encode(x=alt.X(f"{X}:Q"))
    rules = base.mark_rule(strokeDash=[3, 3], color=colour("muted"), opacity=0.7)
    labels = base.mark_text(angle=270, align="left", dx=4, dy=-5, fontSize=10, color=colour("muted")).encode(
        y=alt.datum(0), text="cause:N"
    )
    return [rules, labels]


def series_channels(rows: Rows, points: pl.DataFrame) -> dict:
    return told_apart(rows, SERIES, points[SERIES].unique(maintain_order=True).to_list())


def occupancy_panel(rows: Rows, points: pl.DataFrame, x_title: str, title: str) -> Panel:
    long = points.unpivot(
        [name for name in KINDS if name in points.columns],
        index=[RUN, X, SERIES],
        variable_name="kind",
        value_name="occupancy",
    ).drop_nulls("occupancy")
    long = long.with_columns(pl.col("kind").replace_strict(KINDS))
    one = long[SERIES].n_unique() == 1 and len(rows.runs) == 1
    channels = (
        told_apart(rows, "kind", list(KINDS.values()), swatches(list(KINDS.values())))
        if one
        else series_channels(rows, points)
    )
    base = alt.Chart(long).encode(
        x=alt.X(f"{X}:Q", title=x_title, scale=alt.Scale(zero=False)),
        y=occupancy_axis(),
        tooltip=[
            *tip(rows),
            tooltip(X, x_title),
            alt.Tooltip(f"{SERIES}:N"),
            alt.Tooltip("kind:N"),
            tooltip("occupancy", "occupancy, %"),
        ],
        **channels,
    )
    theory = base.transform_filter(alt.datum["kind"] == "theoretical").mark_line(strokeWidth=2)
    predicted = base.transform_filter(alt.datum["kind"] == "predicted").mark_line(strokeDash=[4, 2], strokeWidth=1.5)
    achieved = base.transform_filter(alt.datum["kind"] == "achieved").mark_point(filled=True, size=30, opacity=1)
    return Panel(title, alt.layer(*cliff_marks(cliffs(points)), theory, predicted, achieved))


def time_panel(rows: Rows, points: pl.DataFrame, x_title: str, unit: str | None) -> Panel | None:
    column = "throughput" if unit and unit not in UNTOLD else "time_us"
    read = points.drop_nulls(column)
    if read.is_empty():
        return None
    title = f"throughput, {unit}" if column == "throughput" else rows.occbench.title("time_us")
    names = read[SERIES].unique(maintain_order=True).to_list()
    channels = told_apart(rows, SERIES, names, numbered(names))
    if len(names) == 1 and len(rows.runs) == 1:
        channels = {"color": alt.value(colour("achieved"))}
    base = alt.Chart(read).encode(
        x=alt.X(f"{X}:Q", title=x_title, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(domainMin=0), axis=alt.Axis(format="~s")),
        tooltip=[*tip(rows), tooltip(X, x_title), alt.Tooltip(f"{SERIES}:N"), tooltip(column, title)],
        **channels,
    )
    return Panel(title, alt.layer(base.mark_line(strokeWidth=1.5, opacity=0.6), base.mark_point(filled=True, size=30)))


def panels_of(rows: Rows, kernel: str, axes: list[str], frame: pl.DataFrame) -> list[Panel]:
    x_title = axes[0].replace("_", " ")
    panels: list[Panel] = []
    for (name,), of in placed(frame, axes).group_by(PANEL, maintain_order=True):
        kept = of[SERIES].unique(maintain_order=True).head(MOST_SERIES)
        of = of.filter(pl.col(SERIES).is_in(kept.implode()))
        points = medians(of, [X, SERIES], VALUES).sort(SERIES, X)
        limiters = of.group_by(RUN, X, SERIES).agg(pl.col("limiter").first())
        points = points.join(limiters, on=[RUN, X, SERIES], how="left")
        units = of["throughput_unit"].drop_nulls().unique().to_list()
        title = f"{kernel} over {x_title}" + (f", {name}" if name else "")
        panels.append(occupancy_panel(rows, points, x_title, title))
        below = time_panel(rows, points, x_title, units[0] if len(units) == 1 else None)
        panels += [below] if below else []
    return panels


def sentence_of(kernel: str, axes: list[str], frame: pl.DataFrame) -> str:
    text = (
        f"{kernel}: {counted(len(frame), 'configuration')} of {' and '.join(name.replace('_', ' ') for name in axes)}"
    )
    read = frame.drop_nulls("achieved_pct")
    if len(read):
        worst = (read["theoretical_pct"] - read["achieved_pct"]).abs().max()
        text += f", the counter within {worst:.1f} points of theory"
    timed = frame.filter(pl.col("time_us") > 0, pl.col("time_status") == "ok")
    if len(timed) > 1:
        fastest = timed.row(timed["time_us"].arg_min(), named=True)
        values = dict(pair.split("=", 1) for pair in fastest["parameters"].split(";"))
        at = ", ".join(f"{name.replace('_', ' ')} {values[name]}" for name in axes)
        text += f"; the fastest takes {fastest['time_us']:.1f} µs ({at})"
    return text + "."


def sweeps(rows: Rows) -> Drawing:
    panels: list[Panel] = []
    sentences: list[str] = []
    for kernel, names, frame in sweeps_of(rows):
        axes = ordered_axes(frame, names)
        if not axes:
            continue
        panels += panels_of(rows, kernel, axes, frame)
        sentences.append(sentence_of(kernel, axes, frame))
    if not panels:
        raise Missing("needs rows of `occbench sweep` with an axis of several numbers")
    more = f" {MOST_PANELS} of {len(panels)} panels are drawn." if len(panels) > MOST_PANELS else ""
    return Drawing(" ".join(sentences) + more, panels[:MOST_PANELS])
