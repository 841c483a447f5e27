"""Sweeps: theory, prediction and counter over the axis of most values, time below; a second axis as colour, a third as panels."""

import altair as alt
import polars as pl

from occbench_tools import experiments
from occbench_tools.dataset import least, most, parameter, parameter_of
from occbench_tools.report.charts.registers import UNTOLD
from occbench_tools.report.charts.resources import AXES, USAGE, corners, plain_launches, theory
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    Drawing,
    Missing,
    Panel,
    colour,
    counted,
    medians,
    occupancy_axis,
    series_channels,
    swatches,
    tips,
    told_apart,
    tooltip,
)

MOST_PANELS = 12
MOST_SERIES = 6
MOST_CLIFFS = 6
CLIFF_POINTS = 1
# Times over the fastest that are told apart by colour.
MOST_TIMES = 4
# Theory of a row and the calculator's are the same to rounding.
SAME_POINTS = 0.01
# Of these the launches are an axis each where their parameters do not name it.
LAUNCH = ("block_threads", "registers_per_thread", "dynamic_shared_bytes", "static_shared_bytes", "grid_blocks")
# Of those the ones that are totals of shapes, as 16x16, and their axes.
TOTALS = {"block_threads": "block_size", "grid_blocks": "grid"}
# Rows of other commands than run and sweep.
NO_SWEEPS = ("advice", "binary", "calibration", "curves", "trace", "validation")
X, SERIES, PANEL = "x", "series", "panel"
VALUES = ["theoretical_pct", "predicted_pct", "achieved_pct", "time_us", "throughput"]
KINDS = {"theoretical_pct": "theoretical", "predicted_pct": "predicted", "achieved_pct": "achieved"}


def with_launch_axes(frame: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """With `parameters` for what the launches differ in although their parameters are equal, and for the totals of shapes."""
    for column in LAUNCH:
        per_point = frame.group_by(RUN, "parameters").agg(pl.col(column).n_unique())
        shapes = TOTALS.get(column) in names and not is_numeric(frame, TOTALS[column])
        if per_point[column].max() > 1 or shapes:
            value = pl.format("{}={}", pl.lit(column), pl.col(column).fill_null(0))
            before = pl.when(pl.col("parameters") != "").then(pl.col("parameters") + ";").otherwise(pl.lit(""))
            frame, names = frame.with_columns(parameters=before + value), [*names, column]
    return frame, names


def sweeps_of(rows: Rows) -> list[tuple[str, list[str], pl.DataFrame]]:
    """Kernel, axes and rows of each sweep: rows of one kernel that have the same axes, of any experiment that the suite does
    not have."""
    own = ~pl.col("experiment").fill_null("").is_in([*experiments.MODULES, *NO_SWEEPS])
    frame = rows.frame.filter(own, pl.col("theoretical_pct").is_not_null())
    frame = frame.with_columns(pl.col("parameters").fill_null(""))
    frame = frame.with_columns(axes=pl.col("parameters").str.replace_all("=[^;]*", ""))
    found = []
    for (experiment, kernel, axes), of in frame.group_by("experiment", "kernel", "axes", maintain_order=True):
        of, names = with_launch_axes(of, [name for name in axes.split(";") if name])
        found.append((kernel or experiment or "launches", names, of))
    return found


def is_numeric(frame: pl.DataFrame, name: str) -> bool:
    texts = frame.select(parameter(name)).to_series()
    return bool(texts.cast(pl.Float64, strict=False).is_not_null().all())


def is_paired(frame: pl.DataFrame, first: str, other: str) -> bool:
    """Whether a value of the first axis has one value of the other."""
    per_value = frame.group_by(parameter(first)).agg(n=parameter(other).n_unique())
    return per_value["n"].max() == 1


def ordered_axes(frame: pl.DataFrame, axes: list[str]) -> list[str]:
    """Those of several values: of the numeric ones that with most values first, then the others by their values. Values that
    go with those of the first, as --zip pairs them, are no axis beside it."""
    counts = {name: frame.select(parameter(name).n_unique()).item() for name in axes}
    several = [name for name in axes if counts[name] > 1]
    numeric = [name for name in several if is_numeric(frame, name)]
    if not numeric:
        return []
    first = max(numeric, key=lambda name: counts[name])
    beside = [name for name in several if name != first and not (name in numeric and is_paired(frame, first, name))]
    return [first, *sorted(beside, key=lambda name: -counts[name])]


def placed(frame: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """`x`, `series` and `panel` of each row."""
    first, *others = axes
    named = [pl.format("{}={}", pl.lit(name), parameter(name)) for name in others]
    return frame.with_columns(
        parameter(first).cast(pl.Float64).alias(X),
        (named[0] if named else pl.lit("")).alias(SERIES),
        (pl.concat_str(named[1:], separator=", ") if named[1:] else pl.lit("")).alias(PANEL),
    )


def calculated(rows: Rows, of: pl.DataFrame) -> pl.DataFrame | None:
    """Theory of one series between its first and its last X, where X is a resource, or differs from it by a constant, and all
    else is equal. None where it is not, or where the calculator says something else than the rows do."""
    plain = plain_launches(of)
    if len(plain) < len(of):
        return None
    for axis in AXES:
        offset = plain[axis] - plain[X]
        if offset.n_unique() > 1 or any(plain[name].n_unique() > 1 for name in USAGE if name != axis):
            continue
        steps = theory(rows, plain.row(0, named=True), axis)
        if steps is None:
            return None
        steps = steps.select(pl.col("value").cast(pl.Float64) - offset[0], "theoretical_pct", "limiter").rename(
            {"value": X}
        )
        measured = plain.select(X, measured="theoretical_pct").sort(X).join_asof(steps, on=X, strategy="forward")
        differs = (pl.col("measured") - pl.col("theoretical_pct")).abs() > SAME_POINTS
        if measured.select((differs | pl.col("theoretical_pct").is_null()).any()).item():
            return None
        # A value between two of the calculator's belongs to the step of the upper one.
        ends = measured.select(X, "theoretical_pct", "limiter")
        inside = steps.filter(pl.col(X).is_between(plain[X].min(), plain[X].max()))
        return pl.concat([inside, ends]).unique(X).sort(X)
    return None


def with_theory(rows: Rows, of: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """RUN, X, SERIES, `theoretical_pct` and `limiter`: `stepped` where the calculator says what is between the points."""
    found = []
    for (run, series), measured in of.group_by(RUN, SERIES, maintain_order=True):
        steps = calculated(rows, measured)
        here = points.filter(pl.col(RUN) == run, pl.col(SERIES) == series)
        lines = (here if steps is None else steps).with_columns(pl.lit(run).alias(RUN), pl.lit(series).alias(SERIES))
        found.append(lines.select(RUN, X, SERIES, "theoretical_pct", "limiter", stepped=pl.lit(steps is not None)))
    return pl.concat(found)


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


def occupancies(points: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Long form, `kind` and `occupancy`: theory by its `lines`, the others by the points."""
    index = [RUN, X, SERIES]
    kinds = {name: kind for name, kind in KINDS.items() if name in points.columns and name != "theoretical_pct"}
    long = points.unpivot(list(kinds), index=index, variable_name="kind", value_name="occupancy").drop_nulls(
        "occupancy"
    )
    long = long.with_columns(pl.col("kind").replace_strict(kinds), stepped=pl.lit(False))
    drawn = [corners(of) if of["stepped"][0] else of for _, of in lines.group_by(RUN, SERIES, maintain_order=True)]
    theory = pl.concat(drawn).with_columns(kind=pl.lit("theoretical"), occupancy="theoretical_pct")
    return pl.concat([theory.select(long.columns), long.select(long.columns)])


def occupancy_panel(rows: Rows, points: pl.DataFrame, lines: pl.DataFrame, x_title: str, title: str) -> Panel:
    """Points of each place, and the lines of theory."""
    long = occupancies(points, lines)
    one = long[SERIES].n_unique() == 1 and len(rows.runs) == 1
    kinds = list(KINDS.values())
    base = alt.Chart(long).encode(
        x=alt.X(f"{X}:Q", title=x_title, scale=alt.Scale(zero=False)),
        y=occupancy_axis(),
        tooltip=tips(rows, tooltip(X, x_title), SERIES, "kind", occupancy="occupancy, %"),
        **(told_apart(rows, "kind", kinds, swatches(kinds)) if one else series_channels(rows, points)),
    )
    of_kind = {kind: base.transform_filter(alt.datum["kind"] == kind) for kind in long["kind"].unique()}
    layers = [
        of_kind["theoretical"]
        .transform_filter(alt.datum["stepped"] == stepped)
        .mark_line(strokeWidth=2, interpolate="step-before" if stepped else "linear")
        for stepped in long.filter(pl.col("kind") == "theoretical")["stepped"].unique()
    ]
    if "predicted" in of_kind:
        layers.append(of_kind["predicted"].mark_line(strokeDash=[4, 2], strokeWidth=1.5))
    if "achieved" in of_kind:
        layers.append(of_kind["achieved"].mark_point(filled=True, size=30, opacity=1))
    return Panel(title, alt.layer(*cliff_marks(cliffs(lines)), *layers))


def time_panel(rows: Rows, points: pl.DataFrame, x_title: str, units: list[str]) -> Panel | None:
    unit = units[0] if len(units) == 1 else UNTOLD[0]
    column = "time_us" if unit in UNTOLD else "throughput"
    read = points.drop_nulls(column)
    if read.is_empty():
        return None
    title = f"throughput, {unit}" if column == "throughput" else rows.occbench.title("time_us")
    one = read[SERIES].n_unique() == 1 and len(rows.runs) == 1
    base = alt.Chart(read).encode(
        x=alt.X(f"{X}:Q", title=x_title, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(format="~s")),
        tooltip=tips(rows, tooltip(X, x_title), SERIES, **{column: title}),
        **({"color": alt.value(colour("achieved"))} if one else series_channels(rows, read)),
    )
    return Panel(title, alt.layer(base.mark_line(strokeWidth=1.5, opacity=0.6), base.mark_point(filled=True, size=30)))


def panels_of(rows: Rows, kernel: str, axes: list[str], frame: pl.DataFrame) -> list[list[Panel]]:
    """Occupancy, and time where it is there, of each value of the axes that are neither drawn along nor as colour."""
    x_title = axes[0].replace("_", " ")
    panels: list[list[Panel]] = []
    for (name,), of in placed(frame, axes).group_by(PANEL, maintain_order=True):
        kept = of[SERIES].unique(maintain_order=True).head(MOST_SERIES)
        of = of.filter(pl.col(SERIES).is_in(kept.implode()))
        points = medians(of, [X, SERIES], VALUES).sort(SERIES, X)
        # Shapes lie one by one along their totals.
        along = (
            points.group_by(RUN).agg(pl.col(X).n_unique())
            if axes[0] in TOTALS
            else points.group_by(RUN, SERIES).len("x")
        )
        if along["x"].max() < 2:
            continue  # nothing to see along the axis
        limiters = of.group_by(RUN, X, SERIES).agg(pl.col("limiter").first())
        points = points.join(limiters, on=[RUN, X, SERIES], how="left")
        units = of["throughput_unit"].drop_nulls().unique().to_list()
        title = f"{kernel} over {x_title}" + (f", {name}" if name else "")
        both = (
            occupancy_panel(rows, points, with_theory(rows, of, points), x_title, title),
            time_panel(rows, points, x_title, units),
        )
        panels.append([panel for panel in both if panel])
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
        fastest = least(timed, "time_us")
        at = ", ".join(f"{name.replace('_', ' ')} {parameter_of(fastest, name)}" for name in axes)
        text += f"; the fastest takes {fastest['time_us']:.1f} µs ({at})"
    return text + "."


def sweeps(rows: Rows) -> Drawing:
    groups: list[list[Panel]] = []
    sentences: list[str] = []
    for kernel, names, frame in sweeps_of(rows):
        axes = ordered_axes(frame, names)
        if not axes:
            continue
        found = panels_of(rows, kernel, axes, frame)
        if found:
            groups += found
            sentences.append(sentence_of(kernel, axes, frame))
    if not groups:
        raise Missing(
            "needs rows of `occbench sweep`, or of another experiment than the suite's, with an axis of numbers"
        )
    panels = [panel for group in groups for panel in group]
    more = f" {MOST_PANELS} of {len(panels)} panels are drawn." if len(panels) > MOST_PANELS else ""
    together = 2 if all(len(group) == 2 for group in groups) else 0
    return Drawing(" ".join(sentences) + more, panels[:MOST_PANELS], together=together)


def sweep_points(rows: Rows) -> Drawing:
    """Every measured configuration of sweeps of several axes: theory, the counter, and how long it takes."""
    panels, sentences = [], []
    for kernel, names, frame in sweeps_of(rows):
        read = frame.filter(pl.col("achieved_pct").is_not_null(), pl.col("time_us") > 0)
        several = [name for name in names if read.select(parameter(name).n_unique()).item() > 1]
        if len(several) < 2 or len(read) < 2:
            continue
        times = pl.col("time_us") / pl.col("time_us").min().over(RUN)
        read = read.with_columns(times.alias("times"), pl.col("parameters").str.replace_all(";", ", ", literal=True))
        for (run,), of in read.group_by(RUN, maintain_order=True):
            title = f"{kernel}, {run}" if read[RUN].n_unique() > 1 else kernel
            panels.append(Panel(title, points_of_theory(rows, of)))
            fastest, fullest = least(of, "times"), most(of, "achieved_pct")
            sentences.append(
                f"{title}: the fastest of {counted(len(of), 'configuration')} has {fastest['theoretical_pct']:.3g} % in theory and "
                f"{fastest['achieved_pct']:.3g} % by the counter; the one with most, {fullest['achieved_pct']:.3g} %, takes "
                f"{fullest['times']:.2f} times as long."
            )
    if not panels:
        raise Missing("needs measured rows of `occbench sweep` over two axes or more")
    return Drawing(" ".join(sentences), panels[:MOST_PANELS])


def points_of_theory(rows: Rows, of: pl.DataFrame) -> alt.LayerChart:
    equal = alt.Chart(pl.DataFrame({"theoretical_pct": [0, 100], "achieved_pct": [0, 100]}))
    line = equal.mark_line(color=colour("muted"), strokeDash=[4, 3]).encode(x="theoretical_pct:Q", y="achieved_pct:Q")
    told = {"theoretical_pct": "theoretical, %", "achieved_pct": "achieved, %", "time_us": "time, us"}
    told["times"] = "over the fastest"
    # The fastest are drawn last, and so are seen.
    shown = of.sort("times", descending=True).select(RUN, "parameters", *told)
    scale = alt.Scale(type="log", domain=[1, MOST_TIMES], clamp=True, scheme="viridis")
    marks = alt.Chart(shown).mark_point(filled=True, size=30, opacity=0.9)
    marks = marks.encode(
        x=alt.X("theoretical_pct:Q", title="theoretical occupancy, %"),
        y=alt.Y("achieved_pct:Q", title="achieved occupancy, %"),
        color=alt.Color("times:Q", title="time over the fastest", scale=scale),
        tooltip=tips(rows, "parameters", **told),
    )
    return alt.layer(line, marks)
