"""Where the time of traced programs goes: a bar for each kernel, as long as the share of the GPU's time that it takes."""

import altair as alt
import polars as pl

from occbench_tools.report.rows import RUN, Rows
from occbench_tools.report.style import BAR, Drawing, Missing, Panel, bars_of, colour, counted, milliseconds, tooltip

MOST_KERNELS = 20
MOST_REGIONS = 4
DETAILS = ["launches", "theoretical_pct", "predicted_pct", "achieved_pct"]
PARTS = {"achieved": "achieved", "lost": "loss-2", "beyond theory": "loss-7"}


def with_parts(frame: pl.DataFrame) -> pl.DataFrame:
    """Milliseconds of each row that its warps filled, that theory allows beside them, and that it does not; where nothing was
    counted the prediction stands in for the counter."""
    reached = pl.coalesce("achieved_pct", "predicted_pct", "theoretical_pct")
    ms = pl.col("total_time_us") / 1000
    return frame.with_columns(
        ms.alias("ms"),
        (ms * reached / 100).alias("achieved"),
        (ms * (pl.col("theoretical_pct") - reached) / 100).alias("lost"),
        (ms * (100 - pl.col("theoretical_pct")) / 100).alias("beyond theory"),
    )


def bars(frame: pl.DataFrame, title: str, of: str = "case") -> Panel:
    names = list(PARTS)
    details = [name for name in DETAILS if of == "case" or name == "launches"]
    parts = frame.drop("ms").unpivot(names, index=[of, *details], variable_name="part", value_name="ms")
    kernel = alt.Tooltip(f"{of}:N", title="kernel" if of == "case" else of)
    tooltips = [kernel, alt.Tooltip("part:N"), *(tooltip(name, name) for name in ("ms", *details))]
    colours = alt.Scale(domain=names, range=[*map(colour, PARTS.values())])
    x = alt.X("drawn:Q", title="GPU time, ms")
    return Panel(
        title,
        bars_of(parts.with_columns(drawn=pl.col("ms").clip(0)), of, names, colours, x, tooltips),
        60 + BAR * len(frame),
    )


#: Of a row, as the table of `occbench trace` names it too.
REGION = pl.col("region").fill_null("(no range)")


def by_region(frame: pl.DataFrame) -> pl.DataFrame:
    """Sums of each region, longest first; of rows that were launched in several, by all their names."""
    sums = pl.col("launches", "ms", *PARTS).sum()
    return frame.group_by(REGION).agg(sums).sort("ms", "region", descending=[True, False])


def remedies(frame: pl.DataFrame) -> str:
    """What to do in each of the longest regions: the first finding of the kernel that has most of its time below theory."""
    whole = frame["ms"].sum()
    lines = []
    for (region,), part in sorted(frame.group_by(REGION), key=lambda one: -one[1]["ms"].sum()):
        worst = part.sort("lost", descending=True).row(0, named=True)
        why = f": {worst['explanation']}" if worst["explanation"] else ""
        lines.append(
            f" {region}: {100 * part['ms'].sum() / whole:.0f} % of the time; most of it below theory in {worst['case']}{why}."
        )
    return "".join(line.replace("..", ".") for line in lines[:MOST_REGIONS])


def programs(rows: Rows) -> Drawing:
    frame = rows.frame.drop_nulls(["launches", "theoretical_pct"]).filter(pl.col("total_time_us") > 0)
    if frame.is_empty():
        raise Missing("needs rows of occbench trace with a time")
    frame = with_parts(frame)
    has_regions = frame["region"].n_unique() > 1
    several = len(rows.runs) > 1
    panels = []
    for run in rows.runs:
        longest = frame.filter(pl.col(RUN) == run).sort("ms", descending=True, maintain_order=True).head(MOST_KERNELS)
        if has_regions and len(longest):
            regions = by_region(frame.filter(pl.col(RUN) == run)).head(MOST_KERNELS)
            panels.append(bars(regions, f"GPU time by region{f' · {run}' if several else ''}", "region"))
        if len(longest):
            panels.append(bars(longest, f"GPU time by kernel{f' · {run}' if several else ''}"))
    whole, lost = frame["ms"].sum(), frame["lost"].sum()
    worst = frame.sort("lost", descending=True).row(0, named=True)
    allowed = (frame["ms"] * frame["theoretical_pct"]).sum() / whole
    reached = 100 * frame["achieved"].sum() / whole
    uncounted = frame["achieved_pct"].null_count()
    how = (
        "was reached"
        if not uncounted
        else "is predicted"
        if uncounted == len(frame)
        else "was reached, or is predicted"
    )
    sentence = (
        f"{counted(len(frame), 'kernel configuration')} took {milliseconds(frame['total_time_us'].sum())}. Weighted by time, theory "
        f"allows {allowed:.1f} % occupancy and {reached:.1f} % {how}. Time x points below theory is {lost:.2f} ms, most of it "
        f"in {worst['case']}: {worst['lost']:.2f} ms. `occbench explain` says what remedies can save."
    )
    return Drawing(sentence + (remedies(frame) if has_regions else ""), panels)
