"""What registers cost: the register cliff, and caps that spill."""

import altair as alt
import polars as pl

from occbench_tools.dataset import parameter
from occbench_tools.report.charts.performance import factors, in_words, told_once
from occbench_tools.report.charts.resources import (
    candidates,
    equal_but_for,
    of_candidate,
    plain_launches,
    step_line,
    theory,
)
from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import (
    Drawing,
    Missing,
    Panel,
    kernel_name,
    medians,
    most_frequent,
    names_in,
    occupancy_axis,
    percent,
    series_channels,
    tips,
    titles,
    told_apart,
)

REGISTERS = "registers_per_thread"
# Work that is residency itself, or not known: its throughput says nothing that its time does not.
UNTOLD = ("warp-cycles/s", "launches/s")
MOST_FALLS = 6


def series_along(frame: pl.DataFrame, axis: str) -> pl.Expr:
    """What rows differ in beside `axis`, as text: neither what goes along with it nor what says the same as another."""
    values = {
        name: value
        for name, value in factors(frame).items()
        if frame.group_by(value.alias("value")).agg(pl.col(axis).n_unique())[axis].max() > 1
    }
    return in_words({name: values[name] for name in told_once(frame, values)})


def sweep_of_registers(rows: Rows) -> pl.DataFrame:
    """The rows of one kernel at the block size that ran with most numbers of registers; of several the one that falls from
    highest, and of these the largest, whose steps are the highest. With `series`, and with its controls, `padded`: they have
    the registers that they stand for in `value`."""
    control = parameter("padded_as").cast(pl.Int64, strict=False)
    frame = plain_launches(rows.frame).with_columns(padded=control.is_not_null(), value=pl.coalesce(control, REGISTERS))
    measured = pl.any_horizontal(pl.col("achieved_pct", "time_us", "throughput").is_not_null())
    plain = frame.filter(~pl.col("padded"), measured)
    order = ["values", "highest", "block_threads"]
    chosen = candidates(plain, REGISTERS).sort(order, descending=True, maintain_order=True, nulls_last=True).head(1)
    plain = of_candidate(plain, REGISTERS, chosen)
    if plain[REGISTERS].n_unique() < 2:
        raise Missing("needs measured rows of one kernel that differ in registers, all else equal")
    same = [name for name in equal_but_for(REGISTERS) if name in ("experiment", "kernel", "block_threads")]
    controls = frame.filter("padded", measured).join(
        chosen, on=same, how="semi", nulls_equal=True, maintain_order="left"
    )
    # A variant may be named after its registers.
    found = pl.concat([plain, controls]).with_columns(
        pl.col("variant").str.replace_all(r"\d+", "N"), pl.col("parameters").str.replace(r";?padded_as=[^;]*", "")
    )
    return most_frequent(found.with_columns(series=series_along(found, REGISTERS)), "series")


def gain_of(points: pl.DataFrame) -> str:
    """Throughput, where the work is known, else time."""
    units = points["throughput_unit"].drop_nulls().unique().to_list()
    return "throughput" if len(units) == 1 and units[0] not in UNTOLD else "time_us"


def cliff_sentence(steps: pl.DataFrame, column: str) -> str:
    """Of `steps`, one series' points in the order of their registers."""
    drops = steps.with_columns(
        drop=pl.col("theoretical_pct").shift(1) - pl.col("theoretical_pct"),
        before=pl.col(REGISTERS).shift(1),
        achieved_before=pl.col("achieved_pct").shift(1),
        change=100 * (pl.col(column) / pl.col(column).shift(1) - 1),
    ).drop_nulls(["drop", "change"])
    if drops.is_empty():
        return ""
    worst = drops.row(drops["drop"].arg_max(), named=True)
    achieved = (
        f", achieved {worst['achieved_before']:.1f} → {worst['achieved_pct']:.1f} %"
        if worst["achieved_before"] is not None and worst["achieved_pct"] is not None
        else ""
    )
    return (
        f" {worst['series']}{': ' if worst['series'] else ''}{worst['before']} → {worst[REGISTERS]} registers change "
        f"{'throughput' if column == 'throughput' else 'the time'} by {worst['change']:+.0f} % "
        f"(theory {worst['theoretical_pct'] + worst['drop']:.0f} → {worst['theoretical_pct']:.0f} %{achieved})."
    )


def falls(steps: pl.DataFrame) -> str:
    fallen = steps.filter(pl.col("theoretical_pct") < pl.col("theoretical_pct").shift(1))["value"].to_list()
    told = ", ".join(map(str, fallen[:MOST_FALLS])) + (", ..." if len(fallen) > MOST_FALLS else "")
    return f"theory falls at {told} registers" if fallen else "theory falls nowhere"


def register_cliff(rows: Rows) -> Drawing:
    frame = sweep_of_registers(rows)
    first = frame.row(0, named=True)
    column = gain_of(frame)
    keys = ["value", REGISTERS, "series", "padded"]
    points = medians(frame, keys, ["theoretical_pct", "achieved_pct", "throughput", "time_us"]).sort(keys)
    points = points.with_columns(relative=100 * pl.col("throughput") / pl.col("throughput").max().over(RUN, "series"))
    plain = points.filter(~pl.col("padded"))
    calculated = theory(rows, first, REGISTERS)
    steps = plain.select("value", "theoretical_pct").unique("value").sort("value") if calculated is None else calculated
    steps = steps.filter(pl.col("value").is_between(plain["value"].min(), plain["value"].max()))
    name = frame.select(kernel_name()).to_series()[0]
    launch = f"{name + ', ' if name else ''}{first['block_threads']} threads a block"
    first_run = plain.filter(pl.col(RUN) == frame[RUN][0])
    told = [cliff_sentence(of, column) for _, of in first_run.group_by("series", maintain_order=True)]
    controls = (
        "Outlined points are controls: a kernel of fewer registers, held to the same occupancy by shared memory. Where they "
        "lie on the line, occupancy alone made the difference."
    )
    key = [controls] if points["padded"].any() else []
    if frame["spill_bytes"].n_unique() > 1:
        key.append("These rows differ in spills too, which cost time.")
    panels = [cliff_panel(rows, plain, steps, f"Occupancy, {launch} (grey: theory)"), gain_panel(rows, points, column)]
    return Drawing(
        f"{launch}: {falls(steps)}.{''.join(told)}",
        [panel for panel in panels if panel],
        " ".join(key),
    )


def place(rows: Rows) -> alt.X:
    return alt.X("value:Q", title=rows.occbench.title(REGISTERS), scale=alt.Scale(zero=False))


def cliff_panel(rows: Rows, points: pl.DataFrame, steps: pl.DataFrame, title: str) -> Panel:
    line = step_line(steps).encode(x=place(rows), y=occupancy_axis())
    counted = points.drop_nulls("achieved_pct").with_columns(occupancy="achieved_pct")
    marks = alt.Chart(counted).mark_point(filled=True, size=45, opacity=1)
    tooltips = tips(rows, "series", **numbers(rows))
    marks = marks.encode(x=place(rows), y=occupancy_axis(), tooltip=tooltips, **series_channels(rows, counted))
    return Panel(title, alt.layer(line, *[marks] if len(counted) else []))


def gain_panel(rows: Rows, points: pl.DataFrame, column: str) -> Panel | None:
    # One number of registers has nothing to be compared with.
    points = points.filter(pl.col(column) > 0, pl.col("value").n_unique().over(RUN, "series") > 1)
    if points.is_empty():
        return None
    of_most = "throughput, % of the most"
    base = alt.Chart(points).encode(
        x=place(rows),
        y=percent(alt.Y, "relative", of_most)
        if column == "throughput"
        else alt.Y("time_us:Q", title=rows.occbench.title("time_us"), scale=alt.Scale(zero=True, nice=True)),
        tooltip=tips(rows, "series", **numbers(rows), relative=of_most),
        **series_channels(rows, points),
    )
    line = base.transform_filter("!datum.padded").mark_line(point={"filled": True, "size": 45}, strokeWidth=2)
    control = base.transform_filter("datum.padded").mark_point(size=130, strokeWidth=1.5, opacity=1)
    name = "Throughput" if column == "throughput" else "Time"
    if not points["padded"].any():
        return Panel(name, line)
    return Panel(f"{name} (outlined: control)", alt.layer(line, control))


def most_spills(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the kernel whose numbers of registers spill most differently."""
    kernel = ["experiment", "kernel"]
    counts = frame.group_by(kernel, maintain_order=True).agg(pl.col("spill_bytes", REGISTERS).n_unique())
    differing = counts.filter(pl.col("spill_bytes") > 1, pl.col(REGISTERS) > 1)
    most = differing.sort("spill_bytes", descending=True, maintain_order=True).head(1)
    return frame.join(most, on=kernel, how="semi", nulls_equal=True, maintain_order="left")


def register_cap(rows: Rows) -> Drawing:
    frame = most_spills(rows.frame.drop_nulls([REGISTERS, "spill_bytes"]).filter(pl.col("time_us") > 0))
    frame = frame.with_columns(
        series=pl.format("{} threads a block", "block_threads"),
        occupancy=pl.coalesce("achieved_pct", "theoretical_pct"),
    )
    frame = most_frequent(frame.drop_nulls(["series", "occupancy"]), "series")
    if frame.is_empty():
        raise Missing("needs rows of one kernel that differ in registers and spills, with time and occupancy")
    values = ["theoretical_pct", "achieved_pct", "occupancy", "spill_bytes", "time_us"]
    points = medians(frame, [REGISTERS, "series"], values).sort(REGISTERS, "series")
    points = points.with_columns(fastest=pl.col("time_us") == pl.col("time_us").min().over(RUN, "series"))
    title = rows.occbench.title
    shown = "achieved_pct" if points["achieved_pct"].is_not_null().any() else "theoretical_pct"
    told = titles(rows, REGISTERS, "achieved_pct", "spill_bytes", "time_us")
    base = alt.Chart(points).encode(
        x=percent(alt.X, "occupancy", title(shown)),
        order=f"{REGISTERS}:Q",
        tooltip=tips(rows, alt.Tooltip("series:N", title="launch"), **told),
        **told_apart(rows, "series", names_in(points["series"])),
    )
    line = base.mark_line(point={"filled": True, "size": 45}, strokeWidth=2)
    spills, time = (line.encode(y=alt.Y(f"{name}:Q", title=title(name))) for name in ("spill_bytes", "time_us"))
    fastest = base.transform_filter("datum.fastest").mark_point(size=220, strokeWidth=2, opacity=1)
    one = points.filter(pl.struct(RUN, "series") == pl.struct(RUN, "series").last())
    fewest, most = one.row(0, named=True), one.row(-1, named=True)
    best = one.row(one["time_us"].arg_min(), named=True)
    reach = "{registers_per_thread} reach {occupancy:.0f} % and spill {spill_bytes:.0f} B"
    sentence = (
        f"With {one['series'][0]}, {reach.format(**fewest).replace(' reach', ' registers reach')}, {reach.format(**most)}; "
        f"{best[REGISTERS]} registers ({best['occupancy']:.0f} %, "
        f"{best['spill_bytes']:.0f} B) are the fastest, in {100 * best['time_us'] / fewest['time_us']:.0f} % of the time of the "
        f"fewest registers and {100 * best['time_us'] / most['time_us']:.0f} % of that of the most."
    )
    both = alt.layer(time, fastest.encode(y="time_us:Q"))
    return Drawing(sentence, [Panel("Spills", spills), Panel("Time (circle: the fastest)", both)])


def numbers(rows: Rows) -> dict[str, str]:
    return titles(rows, REGISTERS, "theoretical_pct", "achieved_pct", "time_us")
