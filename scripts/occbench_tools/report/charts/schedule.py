"""How blocks are placed, run and replaced: waves, imbalance and its remedies, occupancy over time and over SMs."""

import altair as alt
import polars as pl

from occbench_tools.dataset import error, median, parameter
from occbench_tools.report.charts import windows
from occbench_tools.report.charts.resources import USAGE, plain_launches
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    BAR,
    GROUP,
    Drawing,
    Missing,
    Panel,
    bars_of,
    binned,
    colour,
    counted,
    dashed_rule,
    grouped,
    kernel_name,
    medians,
    most_frequent,
    names_in,
    occupancy_panel,
    percent,
    shapes,
    swatches,
    tips,
    titles,
    told_apart,
    tooltip,
)

MOST_BARS = 24
MOST_RECORDINGS = 6
LEAST_GRIDS = 4


def over_elapsed(frame: pl.DataFrame) -> pl.DataFrame:
    """With the occupancy over elapsed cycles in the place of that over active ones."""
    return frame.with_columns(pl.col(f"{kind}_elapsed_pct").alias(f"{kind}_pct") for kind in ("predicted", "achieved"))


def sweep_of_grids(rows: Rows) -> pl.DataFrame:
    """The rows of the launch that was measured with most grids, all else equal."""
    same = ["experiment", "kernel", *USAGE]
    frame = plain_launches(rows.frame).drop_nulls("waves")
    counts = frame.group_by(same, maintain_order=True).agg(
        pl.col("waves").n_unique().alias("grids"), pl.col("waves").max().alias("largest")
    )
    several = counts.filter(pl.col("grids") >= LEAST_GRIDS, pl.col("largest") > 1)
    if several.is_empty():
        raise Missing(f"needs rows of one launch with {LEAST_GRIDS} grids or more, the largest of more than a wave")
    most = several.sort("grids", descending=True, maintain_order=True).head(1)
    return frame.join(most, on=same, how="semi", nulls_equal=True, maintain_order="left")


def waves(rows: Rows) -> Drawing:
    frame = sweep_of_grids(rows)
    panels = [
        occupancy_panel(rows, frame, "waves", "Waves: the grid over the blocks that the device holds at once"),
        occupancy_panel(rows, over_elapsed(frame), "waves", "The same over elapsed cycles"),
    ]
    launch = frame.with_columns(kernel_name().fill_null("?").alias("kernel")).row(0, named=True)
    key = f"These are grids of {launch['kernel']} with {launch['block_threads']} threads a block."
    read = frame.drop_nulls("achieved_pct")
    teeth = read.filter(pl.col("waves") > 1).drop_nulls("theoretical_pct")
    if teeth.is_empty():
        return Drawing(f"{counted(len(frame), 'grid')}, none of more than a wave was counted.", panels, key)
    deepest = teeth.row(teeth["achieved_pct"].arg_min(), named=True)
    off = read.select(error().drop_nulls()).to_series()
    sentence = (
        f"Past a full wave the counter falls to {deepest['achieved_pct']:.1f} % at {deepest['waves']:.2f} waves, where theory "
        f"stays at {deepest['theoretical_pct']:.0f} %: the partial last wave leaves SMs idle."
    )
    if len(off):
        sentence += f" Over {counted(len(off), 'grid')} the prediction is {off.mean():.1f} points from the counter"
        over_all = over_elapsed(read).select(error().drop_nulls()).to_series()
        sentence += f", and {over_all.mean():.2f} over elapsed cycles." if len(over_all) else "."
    return Drawing(sentence, panels, key)


def loss_columns(rows: Rows) -> list[str]:
    return [name for name in rows.occbench.columns if name.startswith("loss_")]


def loss_name(column: str) -> str:
    return column.removeprefix("loss_").removesuffix("_points").replace("_", " ")


def stacked(rows: Rows, frame: pl.DataFrame, by: str, title: str) -> Panel:
    """A bar of 100 % for each value of `by`: what is predicted, what each loss takes, and the counter as a tick."""
    losses = loss_columns(rows)
    means = frame.group_by(by, maintain_order=True).agg(
        pl.col("predicted_pct", "achieved_pct", "theoretical_pct", *losses).mean()
    )
    means = means.head(MOST_BARS)
    parts = means.rename({"predicted_pct": "predicted"} | {name: loss_name(name) for name in losses})
    names = ["predicted", *map(loss_name, losses)]
    parts = parts.unpivot(names, index=by, variable_name="part", value_name="points").drop_nulls("points")
    # The differences between simulations can be slightly negative: drawn as nothing, told as they are.
    parts = parts.with_columns(drawn=pl.col("points").clip(0))
    x = alt.X("drawn:Q", title="share of the SM's warps, %", scale=alt.Scale(domain=[0, 100]))
    tooltips = [alt.Tooltip(f"{by}:N", title="of"), alt.Tooltip("part:N"), tooltip("points", "points")]
    bars = bars_of(parts, by, names, part_colours(names), x, tooltips)
    ticks = alt.Chart(means.select(by, "achieved_pct").drop_nulls()).mark_tick(
        thickness=3, color=colour("ink"), size=BAR - 2
    )
    ticks = ticks.encode(
        y=alt.Y(f"{by}:N", title=None, sort=None),
        x="achieved_pct:Q",
        tooltip=[f"{by}:N", tooltip("achieved_pct", rows.occbench.title("achieved_pct"))],
    )
    return Panel(title, alt.layer(bars, ticks), 60 + BAR * len(means))


def part_colours(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[colour("predicted"), *(colour(f"loss-{i}") for i in range(1, len(names)))])


def each_run(rows: Rows, frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Of each run its rows and what a title says of it: nothing where there is one run."""
    several = len(rows.runs) > 1
    return [(f" · {run}" if several else "", frame.filter(pl.col(RUN) == run)) for run in rows.runs]


def with_losses(rows: Rows, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop_nulls(["predicted_pct", "theoretical_pct", *loss_columns(rows)])


def losses(rows: Rows) -> Drawing:
    frame, noun = grouped(with_losses(rows, rows.frame))
    if frame.is_empty():
        raise Missing("no row has a prediction with its losses")
    means = frame.select(pl.col(loss_columns(rows)).mean()).row(0, named=True)
    order = sorted(means, key=means.get, reverse=True)
    lost = pl.sum_horizontal(loss_columns(rows)).mean().alias("lost")
    worst = frame.group_by(GROUP, maintain_order=True).agg(lost).sort("lost", maintain_order=True)
    sentence = (
        f"Over {counted(len(frame), 'predicted case')} the prediction is {sum(means.values()):.1f} points below theory on "
        f"average. The largest losses are “{loss_name(order[0])}” ({means[order[0]]:.1f}) and “{loss_name(order[1])}” "
        f"({means[order[1]]:.1f})."
    )
    if len(worst) > 1:
        sentence += f" {worst[GROUP][-1]} loses most, {worst['lost'][-1]:.1f} points."
    return Drawing(
        sentence,
        [
            stacked(rows, part, GROUP, f"Mean over each {noun} (tick: counter){run}")
            for run, part in each_run(rows, frame)
        ],
    )


def imbalance(rows: Rows) -> Drawing:
    panels = []
    told = []
    for setting, words in (
        ("waves", "Uneven blocks, waves: {}"),
        ("warps_per_block", "Uneven warps, warps per block: {}"),
    ):
        alone = rows.frame.filter(parameter("remedy").is_null())
        frame = with_losses(rows, alone).with_columns(
            shape=parameter("shape"), setting=parameter(setting).cast(pl.Float64, strict=False)
        )
        frame = frame.drop_nulls(["shape", "setting"])
        if frame.is_empty():
            continue
        for value in sorted({frame["setting"].min(), frame["setting"].max()}):
            chosen = frame.filter(pl.col("setting") == value)
            title = words.format(f"{value:g}")
            panels += [stacked(rows, part, "shape", title + run) for run, part in each_run(rows, chosen)]
        worst = frame.row(frame["predicted_pct"].arg_min(), named=True)
        loss = max(loss_columns(rows), key=worst.get)
        achieved = f"{worst['achieved_pct']:.1f}" if worst["achieved_pct"] is not None else "not counted"
        told.append(
            f"of {counted(len(frame), 'case')} of {worst['experiment']}, {worst['parameters']} has the lowest occupancy: "
            f"it loses {worst[loss]:.1f} points “{loss_name(loss)}”, predicted {worst['predicted_pct']:.1f} %, achieved {achieved} %"
        )
    if not panels:
        raise Missing("needs predicted rows with the parameters shape, and waves or warps_per_block")
    sentence = "; ".join(told)
    return Drawing(f"{sentence[0].upper()}{sentence[1:]}.", panels, "The tick is the counter.", together=2)


def tail_remedies(rows: Rows) -> Drawing:
    frame = rows.frame.with_columns(
        remedy=parameter("remedy"), waves_text=parameter("waves"), shape=parameter("shape").fill_null("")
    )
    frame = frame.drop_nulls(["remedy", "waves_text"]).filter(pl.col("throughput") > 0)
    frame = most_frequent(most_frequent(frame, "waves_text"), "remedy", MOST_BARS)
    keys = [RUN, "waves_text", "shape"]
    plain = frame.filter(pl.col("remedy") == "plain").group_by(keys).agg(median(pl.col("throughput")).alias("plain"))
    frame = frame.filter(pl.col("remedy") != "plain").join(plain, on=keys)
    frame = frame.with_columns(
        gain=pl.col("throughput") / pl.col("plain"), remedy=pl.col("remedy").str.replace_all("_", " ")
    )
    if frame.is_empty():
        raise Missing("needs rows with the parameters remedy (a plain one and others) and waves, with throughput")
    points = medians(frame, ["remedy", "waves_text", "shape"], ["gain", "achieved_pct", "time_us"]).rename(
        {"waves_text": "waves"}
    )
    counts = names_in(points["waves"])
    told = {"gain": "throughput over plain"} | titles(rows, "achieved_pct", "time_us")
    panels = []
    for shape in points["shape"].unique(maintain_order=True).head(MOST_RECORDINGS):
        chosen = points.filter(pl.col("shape") == shape)
        marks = alt.Chart(chosen).mark_point(filled=True, size=70, opacity=1)
        marks = marks.encode(
            y=alt.Y("remedy:N", title=None, sort=None),
            x=alt.X("gain:Q", title="throughput over that of the plain launch", scale=alt.Scale(zero=False)),
            tooltip=tips(rows, "remedy", "waves", **told),
            **waves_of_remedies(rows, counts),
        )
        height = 70 + 30 * chosen["remedy"].n_unique()
        panels.append(Panel(f"Work: {shape}" if shape else "", alt.layer(dashed_rule(1), marks), height))
    best = points.row(points["gain"].arg_max(), named=True)
    means = points.group_by("remedy").agg(median(pl.col("gain"))).sort("gain", descending=True)
    ranking = ", ".join(f"{name} × {gain:.2f}" for name, gain in means.iter_rows())
    sentence = (
        f"Median gain in throughput over the plain launch: {ranking}. The most is × {best['gain']:.2f}, {best['remedy']} at "
        f"{best['waves']} waves{' of ' + best['shape'] + ' work' if best['shape'] else ''}."
    )
    return Drawing(sentence, panels)


def waves_of_remedies(rows: Rows, counts: list[str]) -> dict:
    channels = told_apart(rows, "waves", counts)
    if len(rows.runs) == 1:
        channels["color"].title = "waves"
        channels["shape"] = alt.Shape("waves:N", title="waves", scale=shapes(counts))
    return channels


def recordings(frame: pl.DataFrame) -> tuple[list[tuple[str, str]], int]:
    """(experiment, case) of what is drawn, experiments in turn, and of how many."""
    cases = frame.select("experiment", "case").unique(maintain_order=True)
    turns = cases.with_columns(turn=pl.int_range(pl.len()).over("experiment")).sort("turn", maintain_order=True)
    return turns.select("experiment", "case").head(MOST_RECORDINGS).rows(), len(cases)


def of_case(frame: pl.DataFrame, experiment: str, case: str) -> pl.DataFrame:
    return frame.filter(pl.col("experiment") == experiment, pl.col("case") == case)


def shown(drawn: int, all_of_them: int) -> str:
    return f" {drawn} of {all_of_them} recorded cases are drawn." if drawn < all_of_them else ""


def timeline(rows: Rows) -> Drawing:
    if rows.windows:
        return windows.drawing(rows.windows)
    frame = rows.timeline.drop_nulls(["time_us", "active_warps_pct"])
    if frame.is_empty():
        raise Missing("needs recordings of occupancy over time (--timeline FOLDER, or FILE.json of occbench trace)")
    cases, count = recordings(frame)
    kinds = {"predicted_active_warps_pct": "predicted", "active_warps_pct": "achieved"}
    panels = []
    for experiment, case in cases:
        points = binned(of_case(frame, experiment, case), "time_us").rename(kinds)
        points = points.group_by("time_us").agg(pl.col(kinds.values()).mean()).sort("time_us")
        long = points.unpivot(list(kinds.values()), index="time_us", variable_name="kind", value_name="active")
        lines = alt.Chart(long.drop_nulls()).mark_line(strokeWidth=1.5, interpolate="step-after")
        names = list(kinds.values())
        lines = lines.encode(
            x=alt.X("time_us:Q", title="time since the launch began, us"),
            y=percent(alt.Y, "active", "active warps, %"),
            color=alt.Color("kind:N", title=None, sort=names, scale=swatches(names)),
            tooltip=[tooltip("time_us", "time, us"), alt.Tooltip("kind:N"), tooltip("active", "active warps, %")],
        )
        panels.append(Panel(f"{experiment}: {case}", lines))
    difference = (frame["active_warps_pct"] - frame["predicted_active_warps_pct"]).abs().drop_nulls()
    sentence = (
        f"At {counted(len(difference), 'instant')} of {counted(count, 'case')} the simulation is {difference.mean():.1f} points from what "
        f"was measured on average and {difference.max():.1f} at most."
        if len(difference)
        else f"{counted(count, 'case')} measured over time, without a simulation to compare with."
    )
    return Drawing(sentence + shown(len(cases), count), panels)
