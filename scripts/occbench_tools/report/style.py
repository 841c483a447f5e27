"""How charts look: colours by the custom properties of page.css, so that light, dark and print are one specification."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import altair as alt
import polars as pl

from occbench_tools import printable
from occbench_tools.dataset import median
from occbench_tools.report.rows import RUN, Rows

KINDS = ("theoretical", "predicted", "achieved")
# More marks than this on an axis cannot be told apart, and make the page slow.
MOST_POINTS = 400
HEIGHT = 260
BAR = 18
GROUP = "group"
# Of a legend with longer names: they stand below each other, and fit a panel of 300 pixels.
LONG_NAME = 15
LIST = {"columns": 1, "labelLimit": 260}


class Missing(Exception):
    """Why a chart cannot be drawn from these rows."""


class Panel(NamedTuple):
    title: str
    chart: alt.Chart | alt.LayerChart
    height: int = HEIGHT


class Drawing(NamedTuple):
    sentence: str  # what to see in it, computed from the data
    panels: list[Panel]
    key: str = ""  # how to read its marks: the same for all runs
    together: int = 0  # so many consecutive panels stand in a row of their own; 0: as many as there is room for

    @property
    def text(self) -> str:
        between = "\n" if "\n" in self.sentence else " "
        return self.sentence + between + self.key if self.key else self.sentence


def colour(name: str) -> str:
    return f"var(--{name.replace('_', '-')})"


def light_colours() -> dict[str, str]:
    """Of page.css's first block, by `var(--NAME)`."""
    css = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    return {f"var({name})": value for name, value in re.findall(r"(--[\w-]+):\s*(#\w+);", css.split("}")[0])}


def configuration() -> dict:
    axis = {
        "labelColor": colour("muted"),
        "titleColor": colour("ink"),
        "gridColor": colour("line"),
        "domainColor": colour("muted"),
        "tickColor": colour("muted"),
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 170,
    }
    return {
        "font": "system-ui, 'DejaVu Sans', Arial, sans-serif",
        "background": "transparent",
        "aria": False,
        "axis": axis,
        # A mitred corner would reach beyond the values that meet in it.
        "line": {"strokeJoin": "round"},
        "axisX": {"tickCount": 8},
        "axisY": {"tickCount": 6},
        "legend": {
            "orient": "top",
            "columns": 2,
            "columnPadding": 6,
            "labelColor": colour("ink"),
            "titleColor": colour("ink"),
            "labelFontSize": 11,
            "labelLimit": 240,
            "symbolStrokeWidth": 2,
            # Several legends stand below each other.
            "layout": {"top": {"anchor": "start", "direction": "vertical"}},
        },
        "title": {"color": colour("ink"), "anchor": "start", "fontSize": 13},
        "view": {"stroke": None},
    }


def swatches(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[colour(name) for name in names])


def numbered(names: list[str]) -> alt.Scale:
    """Colours of things that have none of their own: runs, series."""
    return alt.Scale(domain=names, range=[colour(f"series-{i % 6 + 1}") for i in range(len(names))])


def shapes(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])


SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def kernel_name() -> pl.Expr:
    """Of a traced launch the short name in front of its `<<<...>>>`: the whole one may fill a page."""
    case = pl.col("case")
    return pl.when(case.str.contains("<<<", literal=True)).then(case.str.split("<<<").list.first()).otherwise("kernel")


def grouped(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """With GROUP, the experiment, and what it is called. Rows of one experiment are told apart by their kernels."""
    named = {"experiment": pl.col("experiment"), "kernel": kernel_name()}
    several = [name for name, value in named.items() if frame.select(value.n_unique()).item() > 1]
    noun = several[0] if several else "experiment"
    return frame.with_columns(named[noun].fill_null("?").alias(GROUP)), noun


def legend_of(names: list[str]) -> alt.Legend:
    return alt.Legend(**LIST) if max(map(len, names), default=0) > LONG_NAME else alt.Legend()


def names_in(values: pl.Series) -> list[str]:
    """Each once, block_threads=64 before block_threads=128."""

    def by_number(name: str) -> list:
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]

    return sorted(values.unique().to_list(), key=by_number)


def told_apart(rows: Rows, series: str, names: list[str], scale: alt.Scale | None = None, dashes: bool = False) -> dict:
    """Channels for `series`: by colour; where several runs are laid over each other those have the colours, and series differ
    in shape, or as lines in dashes."""
    if len(rows.runs) == 1:
        return {"color": alt.Color(f"{series}:N", title=None, scale=scale or numbered(names), legend=legend_of(names))}
    channels = {"color": alt.Color(f"{RUN}:N", title=None, scale=numbered(rows.runs), legend=alt.Legend(**LIST))}
    if len(names) > 1 and dashes:
        patterns = alt.Scale(domain=names, range=[[2, 3], [1, 0], [8, 3], [6, 2, 2, 2]][: len(names)])
        channels["strokeDash"] = alt.StrokeDash(f"{series}:N", title=None, scale=patterns, legend=legend_of(names))
    elif len(names) > 1:
        channels["detail"] = f"{series}:N"
        channels["shape"] = alt.Shape(f"{series}:N", title=None, scale=shapes(names), legend=legend_of(names))
    return channels


def binned(frame: pl.DataFrame, x: str) -> pl.DataFrame:
    """At most MOST_POINTS values of a numeric column: more are rounded to the middles of as many bins."""
    if not frame[x].dtype.is_numeric() or frame[x].n_unique() <= MOST_POINTS:
        return frame
    low, width = frame[x].min(), (frame[x].max() - frame[x].min()) / MOST_POINTS
    middle = low + (((pl.col(x) - low) / width).floor().clip(0, MOST_POINTS - 1) + 0.5) * width
    return frame.with_columns(middle.alias(x))


def medians(frame: pl.DataFrame, keys: list[str], values: list[str]) -> pl.DataFrame:
    """One point for all rows that are drawn at the same place, with how many there are."""
    for key in keys:
        frame = binned(frame, key)
    return frame.group_by(RUN, *keys, maintain_order=True).agg(median(pl.col(values)), pl.len().alias("rows"))


def most_frequent(frame: pl.DataFrame, column: str, most: int = 6) -> pl.DataFrame:
    """The rows of those values that most rows have: what can be told apart in one chart."""
    values = frame.group_by(column, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    return frame.join(values.head(most), on=column, how="semi", maintain_order="left")


def drawable(value: object) -> object:
    """JSON has no infinities: what overflowed is not drawn. SVG has few control characters: the renderer of pictures aborts at
    others."""
    if isinstance(value, dict):
        return {printable(key): drawable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [drawable(one) for one in value]
    if isinstance(value, str):
        return printable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def occupancies(frame: pl.DataFrame, x: str) -> pl.DataFrame:
    """Long form, `kind` and `occupancy`, of the three occupancies over a column."""
    columns = [f"{kind}_pct" for kind in KINDS]
    return (
        medians(frame, [x], columns)
        .unpivot(columns, index=[RUN, x, "rows"], variable_name="kind", value_name="occupancy")
        .drop_nulls("occupancy")
        .with_columns(pl.col("kind").str.strip_suffix("_pct"))
        .sort(x, maintain_order=True)
    )


def occupancy_axis() -> alt.Y:
    return percent(alt.Y, "occupancy", "occupancy, %")


def occupancy_panel(rows: Rows, frame: pl.DataFrame, x: str, title: str) -> Panel:
    """Theory and prediction as lines, the counter as points."""
    x_title = rows.occbench.title(x)
    points = occupancies(frame, x)
    base = alt.Chart(points).encode(
        x=alt.X(f"{x}:Q", title=x_title),
        y=occupancy_axis(),
        tooltip=tips(rows, tooltip(x, x_title), "kind", occupancy="occupancy, %"),
    )
    lines = base.transform_filter(alt.datum["kind"] != "achieved").mark_line(strokeWidth=2)
    marks = base.transform_filter(alt.datum["kind"] == "achieved").mark_point(filled=True, size=40, opacity=1)
    kinds = list(KINDS)
    encodings = [told_apart(rows, "kind", kinds, swatches(kinds))] * 2
    if len(rows.runs) > 1:
        encodings = [told_apart(rows, "kind", kinds[:2], dashes=True), told_apart(rows, "kind", kinds[2:])]
    layers = [lines.encode(**encodings[0])]
    if "achieved" in points["kind"]:
        layers.append(marks.encode(**encodings[1]))
    return Panel(title, alt.layer(*layers))


def tooltip(field: str, title: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", title=title, format=",.4~g")


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def milliseconds(microseconds: float) -> str:
    """As `occbench trace` prints them."""
    return f"{microseconds / 1000:,.{3 if microseconds < 10_000 else 1}f} ms"


def percent(channel: type, field: str, title: str):
    """An axis from 0 to a little above 100."""
    return channel(f"{field}:Q", title=title, scale=alt.Scale(domainMin=0, domainMax=105))


def series_channels(rows: Rows, points: pl.DataFrame) -> dict:
    """As `told_apart`; one series of one run needs no legend."""
    names = names_in(points["series"])
    channels = told_apart(rows, "series", names)
    if len(names) == 1 and len(rows.runs) == 1:
        channels["color"].legend = None
    return channels


def titles(rows: Rows, *columns: str) -> dict[str, str]:
    return {name: rows.occbench.title(name) for name in columns}


def tips(rows: Rows, /, *names: str | alt.Tooltip, **numbers: str) -> list[alt.Tooltip]:
    """What a mark says of itself: its run, where there are several, its names, and numbers by their titles."""
    run = [alt.Tooltip(f"{RUN}:N", title="run")] if len(rows.runs) > 1 else []
    named = (alt.Tooltip(f"{name}:N") if isinstance(name, str) else name for name in names)
    return [*run, *named, *(tooltip(field, title) for field, title in numbers.items())]


def dashed_rule(value: float) -> alt.Chart:
    """Where two things are equal."""
    rule = alt.Chart(pl.DataFrame({"equal": [value]})).mark_rule(color=colour("muted"), strokeDash=[4, 3])
    return rule.encode(x="equal:Q")


def bars_of(parts: pl.DataFrame, by: str, names: list[str], scale: alt.Scale, x: alt.X, tooltips: list) -> alt.Chart:
    """A bar for each value of `by`, of `part`s in the order of `names`, as long as `drawn`."""
    order = pl.col("part").replace_strict({name: i for i, name in enumerate(names)}, return_dtype=pl.Int64)
    marks = alt.Chart(parts.with_columns(order=order)).mark_bar(
        stroke=colour("paper"), strokeWidth=0.5, height=BAR - 4, clip=True
    )
    return marks.encode(
        y=alt.Y(f"{by}:N", title=None, sort=None),
        x=x,
        color=alt.Color("part:N", title=None, sort=names, scale=scale),
        order=alt.Order("order:Q"),
        tooltip=tooltips,
    )
