"""What the launch's resources allow, against the counter: the calculator's curves, the register cliff, register caps."""

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
    most_frequent,
    names_in,
    occupancy_axis,
    swatches,
    tip,
    told_apart,
    tooltip,
)
from occbench_tools.statistics import median

SHARED = "shared_bytes_per_block"
# Axes of the calculator and the experiment that varies each.
AXES = {"block_threads": "block_size", "registers_per_thread": "register_cliff", SHARED: "shared_memory"}


def configurations(rows: Rows, axis: str) -> pl.DataFrame:
    """The rows of the launch configuration that was measured at most values of `axis`, all else equal."""
    shared = (pl.col("static_shared_bytes").fill_null(0) + pl.col("dynamic_shared_bytes").fill_null(0)).alias(SHARED)
    frame = rows.of(AXES[axis]).with_columns(shared)
    frame = frame.filter(
        pl.col("carveout_pct").is_null(), pl.col("cluster_blocks").fill_null(1) <= 1, pl.col("waves").fill_null(1) >= 1
    ).drop_nulls(["compute_capability", *list(AXES), "theoretical_pct"])
    others = ["compute_capability", *(name for name in AXES if name != axis)]
    counts = frame.group_by(others).agg(pl.col(axis).n_unique().alias("values"), pl.len().alias("rows"))
    best = counts.sort(["values", "rows", *others], descending=[True, True, *[False] * len(others)]).head(1)
    return frame.join(best, on=others)


def calculator_panel(rows: Rows, axis: str) -> tuple[Panel, pl.DataFrame] | None:
    measured = configurations(rows, axis)
    if measured[axis].n_unique() < 2:
        return None
    first = measured.row(0, named=True)
    curve = rows.occbench.curves(
        first["compute_capability"], first["block_threads"], first["registers_per_thread"], first[SHARED]
    )
    if curve is None:
        return None
    curve = curve.filter(pl.col("axis") == axis)
    # The ends of its steps are all of it.
    last_of_step = (pl.col("theoretical_pct") != pl.col("theoretical_pct").shift(-1)).fill_null(True)
    curve = curve.filter(last_of_step | (pl.int_range(pl.len()) == 0))
    names = {name: rows.occbench.title(name) for name in AXES if name != SHARED} | {
        SHARED: "shared memory per block, B"
    }
    values = {"block_threads": "threads", "registers_per_thread": "registers", SHARED: "B of shared memory"}
    fixed = ", ".join(f"{first[name]} {unit}" for name, unit in values.items() if name != axis)
    x = alt.X("value:Q", title=names[axis], scale=alt.Scale(domainMin=0, domainMax=curve["value"].max(), nice=False))
    kinds, several = swatches(["theoretical", "achieved"]), len(rows.runs) > 1
    line = (
        alt.Chart(curve.select("value", "theoretical_pct"))
        .mark_line(interpolate="step-before", strokeWidth=2, color=colour("theoretical"))
        .encode(x=x, y=alt.Y("theoretical_pct:Q"), **({} if several else {"color": alt.datum("theoretical")}))
    )
    points = medians(measured, [axis], ["achieved_pct", "theoretical_pct"]).drop_nulls("achieved_pct")
    points = points.rename({axis: "value", "achieved_pct": "occupancy"}).with_columns(kind=pl.lit("achieved"))
    marks = (
        alt.Chart(points)
        .mark_point(filled=True, size=45, opacity=1)
        .encode(
            x=x,
            y=occupancy_axis(),
            **told_apart(rows, "kind", ["achieved"], kinds),
            tooltip=[
                *tip(rows),
                tooltip("value", names[axis]),
                tooltip("occupancy", rows.occbench.title("achieved_pct")),
                tooltip("theoretical_pct", rows.occbench.title("theoretical_pct")),
            ],
        )
    )
    title = f"{fixed} on compute capability {first['compute_capability']}"
    return Panel(title, alt.layer(line, marks)), points


def calculator(rows: Rows) -> Drawing:
    drawn = [drawn for axis in AXES if (drawn := calculator_panel(rows, axis))]
    if not drawn:
        raise Missing(
            f"needs rows of {', '.join(AXES.values())} that vary one resource, all else equal, as the calculator allows"
        )
    points = pl.concat([points for _, points in drawn])
    if points.is_empty():
        raise Missing("no row of its experiments was counted")
    differences = (points["occupancy"] - points["theoretical_pct"]).abs()
    worst = points.row(differences.arg_max(), named=True)
    sentence = (
        f"The counter is within {median(differences):.1f} points of the calculator's line (grey) at the median of "
        f"{counted(len(points), 'measured point')}; the worst case reads {worst['occupancy']:.1f} % where theory is "
        f"{worst['theoretical_pct']:.1f} %."
    )
    return Drawing(sentence, [panel for panel, _ in drawn])


def cliff_sentence(steps: pl.DataFrame) -> str:
    """Of `steps`, one body's points in the order of their registers, with `relative` throughput."""
    drops = steps.with_columns(
        drop=pl.col("theoretical_pct").shift(1) - pl.col("theoretical_pct"),
        before=pl.col("registers_per_thread").shift(1),
        achieved_before=pl.col("achieved_pct").shift(1),
        throughput_before=pl.col("throughput").shift(1),
    ).drop_nulls(["drop", "throughput", "throughput_before"])
    if drops.is_empty():
        return ""
    worst = drops.row(drops["drop"].arg_max(), named=True)
    change = 100 * (worst["throughput"] / worst["throughput_before"] - 1)
    achieved = (
        f", achieved {worst['achieved_before']:.1f} → {worst['achieved_pct']:.1f} %"
        if worst["achieved_before"] is not None and worst["achieved_pct"] is not None
        else ""
    )
    return (
        f"{worst['before']} → {worst['registers_per_thread']} registers change the {worst['series']}-bound kernel's throughput by "
        f"{change:+.0f} % (theory {worst['theoretical_pct'] + worst['drop']:.0f} → {worst['theoretical_pct']:.0f} %{achieved})"
    )


def register_cliff(rows: Rows) -> Drawing:
    frame = rows.of("register_cliff").filter(parameter("grid").is_null(), pl.col("throughput") > 0)
    threads = block_size_of_cliff(frame)
    frame = frame.filter(pl.col("block_threads") == threads).with_columns(
        series=parameter("body").fill_null("?"),
        padded_as=parameter("padded_as").cast(pl.Int64, strict=False).fill_null(0),
    )
    keys = ["registers_per_thread", "series", "padded_as"]
    points = medians(frame, keys, ["theoretical_pct", "achieved_pct", "throughput"]).sort(keys)
    # A control is drawn where the registers that it stands for are.
    points = points.with_columns(
        relative=100 * pl.col("throughput") / pl.col("throughput").max().over(RUN, "series"),
        padded=pl.col("padded_as") > 0,
        place=pl.when(pl.col("padded_as") > 0).then("padded_as").otherwise("registers_per_thread"),
    )
    points = most_frequent(points, "series")
    bodies = names_in(points["series"])
    title = rows.occbench.title
    tips = [
        *tip(rows),
        alt.Tooltip("series:N", title="kernel bound by"),
        tooltip("registers_per_thread", title("registers_per_thread")),
        *(tooltip(name, title(name)) for name in ("theoretical_pct", "achieved_pct")),
        tooltip("relative", "throughput, % of the most"),
    ]
    base = alt.Chart(points).encode(
        x=alt.X("place:Q", title=title("registers_per_thread"), scale=alt.Scale(zero=False)), tooltip=tips
    )
    plain = base.transform_filter("!datum.padded")
    control = base.transform_filter("datum.padded").mark_point(size=130, strokeWidth=1.5, opacity=1)
    encoding = told_apart(rows, "series", bodies)
    theory = plain.mark_line(interpolate="step-before", color=colour("theoretical"), strokeWidth=2).encode(
        y="theoretical_pct:Q"
    )
    achieved = plain.mark_point(filled=True, size=45, opacity=1).encode(
        y=alt.Y("achieved_pct:Q", title="occupancy, %", scale=alt.Scale(domainMin=0, domainMax=105)), **encoding
    )
    y = alt.Y("relative:Q", title="throughput, % of the most", scale=alt.Scale(domainMin=0, domainMax=105))
    throughput = plain.mark_line(point={"filled": True, "size": 45}, strokeWidth=2).encode(y=y, **encoding)
    first_run = points.filter(~pl.col("padded"), pl.col(RUN) == rows.runs[0])
    told = [cliff_sentence(first_run.filter(pl.col("series") == body)) for body in bodies]
    told = [one for one in told if one]
    sentence = f"With blocks of {threads} threads, {'; '.join(told)}." if told else f"Blocks of {threads} threads."
    key = (
        "Outlined points are controls: a kernel of fewer registers, held to the same occupancy by shared memory. Where they "
        "lie on the line, occupancy alone made the difference."
    )
    return Drawing(
        sentence,
        [
            Panel(f"Occupancy, blocks of {threads} threads (grey: theory)", alt.layer(theory, achieved)),
            Panel("Throughput (outlined: control)", alt.layer(throughput, control.encode(y=y, **encoding))),
        ],
        key if points["padded"].any() else "",
    )


def block_size_of_cliff(frame: pl.DataFrame) -> int:
    """Of those that ran with every number of registers the one that falls from highest, and of these the largest, whose
    steps are the highest."""
    registers = pl.col("registers_per_thread").n_unique().alias("registers")
    order = ["registers", "theoretical_pct", "block_threads"]
    plain = frame.filter(parameter("padded_as").is_null()).drop_nulls(["block_threads", "registers_per_thread"])
    sizes = plain.group_by("block_threads").agg(registers, pl.col("theoretical_pct").max()).sort(order)
    if sizes.is_empty() or sizes["registers"][-1] < 2:
        raise Missing("needs rows of register_cliff that differ in registers, with throughput")
    return sizes["block_threads"][-1]


def register_cap(rows: Rows) -> Drawing:
    frame = rows.of("register_cap").drop_nulls(["registers_per_thread", "spill_bytes"]).filter(pl.col("time_us") > 0)
    frame = frame.with_columns(
        series=pl.format("{} threads a block", "block_threads"),
        occupancy=pl.coalesce("achieved_pct", "theoretical_pct"),
    ).drop_nulls(["series", "occupancy"])
    frame = most_frequent(frame, "series")
    if frame.is_empty():
        raise Missing("needs rows of register_cap with spills, time and occupancy")
    values = ["theoretical_pct", "achieved_pct", "occupancy", "spill_bytes", "time_us"]
    points = medians(frame, ["registers_per_thread", "series"], values).sort("registers_per_thread", "series")
    names = names_in(points["series"])
    points = points.with_columns(fastest=pl.col("time_us") == pl.col("time_us").min().over(RUN, "series"))
    title = rows.occbench.title
    shown = "achieved_pct" if points["achieved_pct"].is_not_null().any() else "theoretical_pct"
    base = alt.Chart(points).encode(
        x=alt.X("occupancy:Q", title=title(shown), scale=alt.Scale(domainMin=0, domainMax=105)),
        order="registers_per_thread:Q",
        tooltip=[
            *tip(rows),
            alt.Tooltip("series:N", title="launch"),
            *(tooltip(n, title(n)) for n in ("registers_per_thread", "achieved_pct", "spill_bytes", "time_us")),
        ],
        **told_apart(rows, "series", names),
    )
    line = base.mark_line(point={"filled": True, "size": 45}, strokeWidth=2)
    fastest = base.transform_filter("datum.fastest").mark_point(size=220, strokeWidth=2, opacity=1)
    one = points.filter(pl.struct(RUN, "series") == pl.struct(RUN, "series").last())
    launch = one["series"][0]
    fewest, most = one.row(0, named=True), one.row(-1, named=True)
    best = one.row(one["time_us"].arg_min(), named=True)
    sentence = (
        f"With {launch}, {fewest['registers_per_thread']} registers reach {fewest['occupancy']:.0f} % and spill "
        f"{fewest['spill_bytes']:.0f} B, {most['registers_per_thread']} reach {most['occupancy']:.0f} % and spill "
        f"{most['spill_bytes']:.0f} B; {best['registers_per_thread']} registers ({best['occupancy']:.0f} %, "
        f"{best['spill_bytes']:.0f} B) are the fastest, in {best['time_us'] / fewest['time_us']:.0%} of the time of the "
        f"fewest registers and {best['time_us'] / most['time_us']:.0%} of that of the most."
    )
    return Drawing(
        sentence,
        [
            Panel("Spills", line.encode(y=alt.Y("spill_bytes:Q", title=title("spill_bytes")))),
            Panel(
                "Time (circle: the fastest)",
                alt.layer(
                    line.encode(y=alt.Y("time_us:Q", title=title("time_us"))),
                    fastest.encode(y="time_us:Q"),
                ),
            ),
        ],
    )
