"""What occupancy is worth: useful throughput against it, and where more of it does not help."""

import altair as alt
import parameters
import polars as pl
from rows import RUN, Rows
from style import Drawing, Missing, Panel, colour, medians, numbered, tip, told_apart, tooltip

# Throughput that counts as all of it, and how far occupancy has to go for the question to make sense.
WHOLE_PCT = 95
LEAST_RANGE_POINTS = 10
SAME_POINTS = 1
MOST_SERIES = 6
MOST_PANELS = 12
# Work that is residency itself: its throughput is occupancy by another name.
RESIDENCY = "warp-cycles/s"


def candidates(rows: Rows) -> pl.DataFrame:
    """Rows of whole warps and at least a wave, whose useful work is not holding a place."""
    return rows.frame.filter(
        pl.col("throughput") > 0,
        pl.col("achieved_pct").is_not_null(),
        pl.col("throughput_unit") != RESIDENCY,
        (pl.col("block_threads").fill_null(32) % 32) == 0,
        pl.col("waves").fill_null(1) >= 1,
    )


def factors(frame: pl.DataFrame) -> dict[str, pl.Expr]:
    """What an experiment's rows differ in, as text."""
    named = {name: parameters.parameter(name).fill_null("") for name in parameters.names(frame)}
    columns = {name: pl.col(name).fill_null("") for name in ("kernel", "variant")}
    return {name: value for name, value in (named | columns).items() if frame.select(value.n_unique()).item() > 1}


def moves_occupancy(frame: pl.DataFrame, name: str, others: list[str]) -> bool:
    """Whether theory changes with this factor, all others equal."""
    theory = pl.col("theoretical_pct")
    means = frame.group_by(*others, name).agg(theory.mean())
    ranges = means.group_by(others).agg(theory.max() - theory.min(), values=pl.len()).filter(pl.col("values") > 1)
    return not ranges.is_empty() and ranges["theoretical_pct"].median() >= SAME_POINTS


def series_of(frame: pl.DataFrame) -> pl.DataFrame:
    """`series`: the factors that leave theoretical occupancy as it is. Those that change it move along a series."""
    values = factors(frame)
    columns = {name: f"factor {name}" for name in values}
    frame = frame.with_columns(value.alias(columns[name]) for name, value in values.items())
    kept: list[str] = []
    for name in values:
        told = frame.select(pl.struct(RUN, *(columns[other] for other in kept)).n_unique()).item()
        adds = frame.select(pl.struct(RUN, *(columns[other] for other in [*kept, name])).n_unique()).item() > told
        others = [RUN, *(columns[other] for other in values if other != name)]
        if adds and not moves_occupancy(frame, columns[name], others):
            kept.append(name)
    texts = [pl.format("{}={}", pl.lit(name), pl.col(columns[name])) for name in kept]
    return frame.with_columns(series=pl.concat_str(texts, separator=", ") if texts else pl.lit(""))


def knees(points: pl.DataFrame) -> pl.DataFrame:
    """Of each series the least occupancy that has WHOLE_PCT of its most throughput."""
    reached = points.filter(pl.col("relative") >= WHOLE_PCT).sort("achieved_pct")
    return reached.group_by(RUN, "series", maintain_order=True).first()


def throughput_panel(rows: Rows, points: pl.DataFrame, title: str) -> Panel:
    names = points["series"].unique().sort().to_list()
    encoding = told_apart(rows, "series", names, numbered(names))
    encoding["color"].legend = alt.Legend(columns=1) if len(names) > 1 or len(rows.runs) > 1 else None
    base = alt.Chart(points).encode(
        x=alt.X(
            "achieved_pct:Q", title=rows.occbench.title("achieved_pct"), scale=alt.Scale(domainMin=0, domainMax=105)
        ),
        y=alt.Y("relative:Q", title="throughput, % of the most", scale=alt.Scale(domainMin=0, domainMax=105)),
        tooltip=[
            *tip(rows),
            alt.Tooltip("series:N"),
            tooltip("achieved_pct", rows.occbench.title("achieved_pct")),
            tooltip("relative", "throughput, % of the most"),
            alt.Tooltip("throughput:Q", title="throughput", format=".4~s"),
            alt.Tooltip("throughput_unit:N", title="unit"),
        ],
        **encoding,
    )
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6)
    marks = base.mark_point(filled=True, size=35, opacity=1)
    knee = base.transform_filter("datum.knee").mark_point(
        size=200, strokeWidth=2, opacity=1, shape="diamond", stroke=colour("ink")
    )
    return Panel(title, alt.layer(lines, marks, knee))


def throughput(rows: Rows) -> Drawing:
    panels = []
    told = []
    for (experiment, unit), frame in candidates(rows).group_by("experiment", "throughput_unit", maintain_order=True):
        frame = series_of(frame)
        points = medians(
            frame.with_columns(pl.col("achieved_pct").round(0).alias("at")),
            ["series", "at"],
            ["achieved_pct", "throughput"],
        )
        spread = pl.col("achieved_pct").max() - pl.col("achieved_pct").min()
        points = points.filter(spread.over(RUN, "series") >= LEAST_RANGE_POINTS, pl.len().over(RUN, "series") >= 3)
        if points.is_empty():
            continue
        points = points.with_columns(
            relative=100 * pl.col("throughput") / pl.col("throughput").max().over(RUN, "series"),
            throughput_unit=pl.lit(unit),
        ).sort("achieved_pct")
        found = knees(points)
        points = points.join(
            found.select(RUN, "series", "achieved_pct", knee=pl.lit(True)),
            on=[RUN, "series", "achieved_pct"],
            how="left",
        )
        told.append((experiment, found))
        names = points["series"].unique(maintain_order=True).sort().to_list()
        for first in range(0, len(names), MOST_SERIES):
            chosen = points.filter(pl.col("series").is_in(names[first : first + MOST_SERIES]))
            panels.append(throughput_panel(rows, chosen, f"{experiment} ({unit})"))
    if not panels:
        raise Missing(
            f"needs counted rows that differ in occupancy by {LEAST_RANGE_POINTS} points and whose throughput is not {RESIDENCY}"
        )
    return Drawing(
        sentence_of(told) + (f" {MOST_PANELS} of {len(panels)} panels are drawn." if len(panels) > MOST_PANELS else ""),
        panels[:MOST_PANELS],
    )


def sentence_of(told: list[tuple[str, pl.DataFrame]]) -> str:
    both = pl.concat([found.with_columns(experiment=pl.lit(experiment)) for experiment, found in told])
    both = both.with_columns(
        name=pl.when(pl.col("series") == "").then("experiment").otherwise(pl.format("{} ({})", "experiment", "series"))
    )
    early, late = (
        both.row(index, named=True) for index in (both["achieved_pct"].arg_min(), both["achieved_pct"].arg_max())
    )
    half = (both["achieved_pct"] <= 50).sum()
    return (
        f"Outlined is the least occupancy with {WHOLE_PCT} % of a series' most throughput: {early['achieved_pct']:.0f} % is "
        f"enough for {early['name']}, while {late['name']} needs "
        f"{late['achieved_pct']:.0f} %. For {half} of {len(both)} series half the warps or fewer are enough."
    )
