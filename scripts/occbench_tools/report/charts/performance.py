"""What occupancy is worth: useful throughput against it."""

import itertools

import altair as alt
import polars as pl

from occbench_tools.dataset import least, median, most, parameter, parameter_names
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    MOST_POINTS,
    Drawing,
    Missing,
    Panel,
    colour,
    medians,
    names_in,
    percent,
    series_channels,
    tips,
)

# Throughput that counts as all of it, and how far occupancy has to go for the question to make sense.
WHOLE_PCT = 95
LEAST_RANGE_POINTS = 10
SAME_POINTS = 1
MOST_SERIES = 6
MOST_PANELS = 12
MOST_FACTORS = 12
GROUP = ["experiment", "throughput_unit"]
# Work that is residency itself: its throughput is occupancy by another name.
RESIDENCY = "warp-cycles/s"


def candidates(rows: Rows) -> pl.DataFrame:
    """Rows of whole warps and at least a wave, whose useful work is not holding a place; of the experiments that have most
    of them, by unit."""
    frame = rows.frame.with_columns(pl.col("experiment").fill_null("?")).filter(
        pl.col("throughput") > 0,
        pl.col("achieved_pct").is_not_null(),
        pl.col("theoretical_pct").is_not_null(),
        pl.col("throughput_unit") != RESIDENCY,
        (pl.col("block_threads").fill_null(32) % 32) == 0,
        pl.col("waves").fill_null(1) > 0.999,
    )
    largest = frame.group_by(GROUP, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    return frame.join(largest.head(MOST_PANELS), on=GROUP, how="semi", maintain_order="left")


def factors(frame: pl.DataFrame) -> dict[str, pl.Expr]:
    """What an experiment's rows differ in, as text."""
    named = {name: parameter(name).fill_null("") for name in parameter_names(frame)[:MOST_FACTORS]}
    columns = {name: pl.col(name).fill_null("") for name in ("kernel", "variant")}
    return {name: value for name, value in (named | columns).items() if frame.select(value.n_unique()).item() > 1}


def in_words(values: dict[str, pl.Expr]) -> pl.Expr:
    """`name=value, ...` of the factors that a row has a value of."""
    texts = [pl.when(value != "").then(pl.format("{}={}", pl.lit(name), value)) for name, value in values.items()]
    return pl.concat_str(texts, separator=", ", ignore_nulls=True) if texts else pl.lit("")


def moves_occupancy(frame: pl.DataFrame, name: str, others: list[str]) -> bool:
    """Whether theory changes with this factor, all others equal."""
    theory = pl.col("theoretical_pct")
    means = frame.group_by(*others, name).agg(theory.mean())
    ranges = means.group_by(others).agg(theory.max() - theory.min(), values=pl.len()).filter(pl.col("values") > 1)
    return len(ranges) > 0 and median(ranges["theoretical_pct"]) >= SAME_POINTS


def series_of(frame: pl.DataFrame) -> pl.DataFrame:
    """`series`: the factors that leave theoretical occupancy as it is. Those that change it move along a series."""
    values = {name: value.alias(f"factor {name}") for name, value in factors(frame).items()}
    frame = frame.with_columns(values.values())
    columns = {name: pl.col(f"factor {name}") for name in values}
    still = {
        name: column
        for name, column in columns.items()
        if not moves_occupancy(
            frame, f"factor {name}", [RUN, *(f"factor {other}" for other in values if other != name)]
        )
    }
    kept = told_once(frame, still, RUN)
    series = in_words({name: columns[name] for name in kept})
    return frame.with_columns(series=pl.when((series == "") & bool(kept)).then(pl.lit("others")).otherwise(series))


def launches(frame: pl.DataFrame) -> pl.DataFrame:
    """A point for each launch that was measured: launches that differ may read the same occupancy and not get as much done."""
    points = medians(frame, ["series", "case", "theoretical_pct"], ["achieved_pct", "throughput"]).drop("case")
    if len(points) <= MOST_POINTS:
        return points
    return medians(points, ["series", "achieved_pct"], ["theoretical_pct", "throughput"]).select(points.columns)


def knees(points: pl.DataFrame) -> pl.DataFrame:
    """Of each series the least occupancy that has WHOLE_PCT of its most throughput."""
    reached = points.filter(pl.col("relative") >= WHOLE_PCT).sort("achieved_pct")
    return reached.group_by(RUN, "series", maintain_order=True).first()


def told_difference_parts(points: pl.DataFrame) -> list[pl.DataFrame]:
    """As many series each as can be told apart; more are split by all their factors but the last."""
    names = names_in(points["series"])
    if len(names) <= MOST_SERIES:
        return [points]
    groups = [list(group) for _, group in itertools.groupby(names, key=lambda name: name.rpartition(", ")[0])]
    parts = [group[first : first + MOST_SERIES] for group in groups for first in range(0, len(group), MOST_SERIES)]
    return [points.filter(pl.col("series").is_in(part)) for part in parts]


def throughput_panel(rows: Rows, points: pl.DataFrame, title: str) -> Panel:
    x_title, y_title = rows.occbench.title("achieved_pct"), "throughput, % of the series' most"
    useful = alt.Tooltip("throughput:Q", title="throughput", format=".4~s")
    unit = alt.Tooltip("throughput_unit:N", title="unit")
    base = alt.Chart(points).encode(
        x=percent(alt.X, "achieved_pct", x_title),
        y=percent(alt.Y, "relative", y_title),
        tooltip=[*tips(rows, "series", achieved_pct=x_title, relative=y_title), useful, unit],
        **series_channels(rows, points),
    )
    through = {name: f"median({name})" for name in ("achieved_pct", "relative")}
    middles = base.transform_aggregate(**through, groupby=[RUN, "series", "theoretical_pct"])
    lines = middles.mark_line(strokeWidth=1.5, opacity=0.6, tooltip=None)
    marks = base.mark_point(filled=True, size=35, opacity=1)
    outline = {"size": 200, "strokeWidth": 2, "opacity": 1, "shape": "diamond", "stroke": colour("ink")}
    return Panel(title, alt.layer(lines, marks, base.transform_filter("datum.knee").mark_point(**outline)))


def throughput(rows: Rows) -> Drawing:
    panels = []
    told = []
    for (experiment, unit), frame in candidates(rows).group_by(GROUP, maintain_order=True):
        points = launches(series_of(frame))
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
        panels += [throughput_panel(rows, part, f"{experiment} ({unit})") for part in told_difference_parts(points)]
    if not panels:
        raise Missing(
            f"needs counted rows that differ in occupancy by {LEAST_RANGE_POINTS} points and whose throughput is not {RESIDENCY}"
        )
    return Drawing(
        sentence_of(told) + (f" {MOST_PANELS} of {len(panels)} panels are drawn." if len(panels) > MOST_PANELS else ""),
        panels[:MOST_PANELS],
        f"A line goes through the medians of launches of equal theory. Outlined is the least occupancy with {WHOLE_PCT} % of "
        "a series' most throughput.",
    )


def sentence_of(told: list[tuple[str, pl.DataFrame]]) -> str:
    both = pl.concat([found.with_columns(experiment=pl.lit(experiment)) for experiment, found in told])
    both = both.with_columns(
        name=pl.when(pl.col("series") == "").then("experiment").otherwise(pl.format("{} ({})", "experiment", "series"))
    )
    early, late = least(both, "achieved_pct"), most(both, "achieved_pct")
    half = (both["achieved_pct"] <= 50).sum()
    return (
        f"{early['achieved_pct']:.0f} % achieved occupancy is enough for {early['name']}, while {late['name']} needs "
        f"{late['achieved_pct']:.0f} %. For {half} of {len(both)} series half the warps or fewer are enough."
    )


def told_once(frame: pl.DataFrame, values: dict[str, pl.Expr], *keys: str) -> list[str]:
    """The factors that tell rows apart which the `keys` and the factors before them do not."""
    kept: list[str] = []
    for name in values:
        told, more = (
            frame.select(pl.struct(pl.lit(0), *keys, *(values[one].alias(one) for one in of)).n_unique()).item()
            for of in (kept, [*kept, name])
        )
        kept += [name] if more > told else []
    return kept
