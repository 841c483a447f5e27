"""Theory, prediction and counter against each other, and runs against each other."""

import altair as alt
import polars as pl

from occbench_tools.dataset import error, median, quantile
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    GROUP,
    LIST,
    Drawing,
    Missing,
    Panel,
    counted,
    dashed_rule,
    grouped,
    numbered,
    swatches,
    tips,
    told_apart,
)

MOST_GROUPS = 30
ROW = 24


def agreement(rows: Rows) -> Drawing:
    frame, noun = grouped(rows.frame.drop_nulls("achieved_pct"))
    if frame.is_empty():
        raise Missing("no row was counted")
    kinds = ["theoretical", "predicted"]
    errors = frame.select(RUN, GROUP, *(error(f"{kind}_pct").alias(kind) for kind in kinds))
    long = errors.unpivot(kinds, index=[RUN, GROUP], variable_name="kind", value_name="error").drop_nulls("error")
    means = long.group_by(RUN, GROUP, "kind", maintain_order=True).agg(
        pl.col("error").mean(), pl.col("error").max().alias("most"), pl.len().alias("cases")
    )
    top = means.group_by(GROUP, maintain_order=True).agg(pl.col("cases").sum())
    top = top.sort("cases", descending=True, maintain_order=True).head(MOST_GROUPS)
    means = means.filter(pl.col(GROUP).is_in(top[GROUP].implode())).sort("error", descending=True)
    order = alt.EncodingSortField("error", op="max", order="descending")
    of_group = alt.Tooltip(f"{GROUP}:N", title=noun)
    marks = alt.Chart(means).mark_point(filled=True, size=80, opacity=1)
    marks = marks.encode(
        y=alt.Y(f"{GROUP}:N", title=None, sort=order, axis=alt.Axis(grid=True)),
        x=alt.X("error:Q", title="mean distance from counter, points"),
        tooltip=tips(rows, of_group, "kind", error="mean, points", most="most, points", cases="cases"),
        **told_apart(rows, "kind", kinds, swatches(kinds)),
    )
    of_prediction = means.filter(pl.col("kind") == "predicted")
    if of_prediction.is_empty():
        sentence = "No row is predicted: only theory can be compared with the counter."
    else:
        closest, worst = of_prediction.row(-1, named=True), of_prediction.row(0, named=True)
        sentence = (
            f"The prediction is {worst['error']:.2f} points from the counter on average, and {worst['most']:.1f} at most."
            if of_prediction[GROUP].n_unique() == 1
            else f"The prediction is {errors['predicted'].mean():.1f} points from the counter on average: closest in {closest[GROUP]} "
            f"({closest['error']:.2f}), worst in {worst[GROUP]} ({worst['error']:.2f}, {worst['most']:.1f} at most)."
        )
    return Drawing(sentence, [Panel("", marks, 70 + ROW * means[GROUP].n_unique())])


def matched(rows: Rows) -> pl.DataFrame:
    """Cases of every later run beside the same case of the first: medians where a case was recorded more than once."""
    values = ["achieved_pct", "time_us"]
    frame, _ = grouped(rows.frame)
    middle = frame.group_by(RUN, GROUP, "experiment", "case", maintain_order=True).agg(median(pl.col(values)))
    first = middle.filter(pl.col(RUN) == rows.runs[0]).drop(RUN)
    others = middle.filter(pl.col(RUN) != rows.runs[0])
    return others.join(first, on=[GROUP, "experiment", "case"], suffix="_first").with_columns(
        achieved_difference=pl.col("achieved_pct") - pl.col("achieved_pct_first"),
        time_ratio=pl.col("time_us") / pl.col("time_us_first"),
    )


def difference_panel(rows: Rows, frame: pl.DataFrame, value: str, title: str, same: float) -> Panel | None:
    frame = frame.drop_nulls(value).filter(pl.col(value).is_finite())
    if frame.is_empty():
        return None
    shares = {"least": 0, "low": 0.25, "middle": 0.5, "high": 0.75, "most": 1}
    quartiles = (
        frame.group_by(RUN, GROUP, maintain_order=True)
        .agg(cases=pl.len(), **{name: quantile(pl.col(value), share) for name, share in shares.items()})
        .filter(pl.col(GROUP).rank("dense") <= MOST_GROUPS)
    )
    later = rows.runs[1:]
    base = alt.Chart(quartiles).encode(
        y=alt.Y(f"{GROUP}:N", title=None, axis=alt.Axis(grid=True)),
        yOffset=alt.YOffset(f"{RUN}:N", scale=alt.Scale(domain=later)),
        color=alt.Color(f"{RUN}:N", title=None, scale=numbered(rows.runs), legend=alt.Legend(**LIST, values=later)),
        tooltip=tips(rows, GROUP, **{name: name for name in (*shares, "cases")}),
    )
    x = alt.X("least:Q", title=title, scale=alt.Scale(zero=False))
    layers = [
        dashed_rule(same),
        base.mark_rule(strokeWidth=1).encode(x=x, x2="most:Q"),
        base.mark_rule(strokeWidth=4).encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(x="middle:Q"),
    ]
    return Panel(title.capitalize(), alt.layer(*layers), 60 + ROW * quartiles[GROUP].n_unique() * max(1, len(later)))


def differences(rows: Rows) -> Drawing:
    if len(rows.runs) < 2:
        raise Missing("needs two runs: files of two GPUs, of two commits, or two files")
    frame = matched(rows)
    panels = [
        difference_panel(rows, frame, "achieved_difference", "difference in achieved occupancy, points", 0),
        difference_panel(rows, frame, "time_ratio", "time over that of the first run", 1),
    ]
    panels = [panel for panel in panels if panel]
    if not panels:
        raise Missing("the runs have no measured case in common")
    told = []
    for run in rows.runs[1:]:
        one = frame.filter(pl.col(RUN) == run)
        difference, ratio = one["achieved_difference"].drop_nulls(), one["time_ratio"].drop_nulls()
        words = [f"{counted(len(one), 'case')} in common"]
        if len(difference):
            words.append(
                f"achieved occupancy differs by {difference.abs().mean():.2f} points on average and {difference.abs().max():.1f} at most"
            )
        if len(ratio):
            words.append(f"time by × {median(ratio):.3f} at the median")
        told.append(f"{run} against {rows.runs[0]}: {', '.join(words)}")
    return Drawing(f"{'; '.join(told)}.", panels, "Point: median; thick line: quartiles; thin line: all.")
