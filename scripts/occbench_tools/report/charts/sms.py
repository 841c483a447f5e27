"""Occupancy of each SM, and the share of the launch in which it had no warps."""

import altair as alt
import polars as pl

from occbench_tools.dataset import least, most
from occbench_tools.report.charts.schedule import of_case, recordings, shown
from occbench_tools.report.rows import Rows
from occbench_tools.report.style import Drawing, Missing, Panel, colour, percent, tooltip

IDLE = "idle_pct"
IDLE_TITLE = "idle, % of the launch"


def of_each_sm(frame: pl.DataFrame, sm_count: int | None) -> pl.DataFrame:
    """Means over the launches of a case. An SM is idle before its first block starts and after its last one ends; one that
    ran nothing has no line in the file and is idle for the whole launch."""
    begin, end = pl.col("first_start_us"), pl.col("last_end_us")
    length = (end.max() - begin.min()).over("launch")
    sms = (
        frame.with_columns((100 * (1 - (end - begin) / length)).alias(IDLE))
        .group_by("sm")
        .agg(pl.col("achieved_pct", "blocks", IDLE).mean(), launches=pl.len())
    )
    if sm_count:
        every = pl.DataFrame({"sm": range(sm_count)}, schema={"sm": pl.Int64})
        nothing = (pl.col(name).fill_null(value) for name, value in (("achieved_pct", 0), ("blocks", 0), (IDLE, 100)))
        sms = every.join(sms, on="sm", how="left").with_columns(*nothing, pl.col("launches").fill_null(0))
    return sms.sort("sm")


def bars(sms: pl.DataFrame, value: str, title: str, shade: str) -> alt.LayerChart:
    """One bar an SM; the mean as a line."""
    labelled = [sm for sm in sms["sm"] if sm % (20 if len(sms) > 40 else 4) == 0]
    told = {"sm": "SM", value: title, "blocks": "blocks", "launches": "launches"}
    each = alt.Chart(sms).mark_bar(color=colour(shade), stroke=colour("paper"), strokeWidth=0.3)
    each = each.encode(
        x=alt.X("sm:O", title="SM", axis=alt.Axis(labelAngle=0, values=labelled)),
        y=percent(alt.Y, value, title),
        tooltip=[tooltip(field, name) for field, name in told.items()],
    )
    middle = pl.DataFrame({"mean": [sms[value].mean()]})
    mean = alt.Chart(middle).mark_rule(color=colour("ink"), strokeWidth=1.5, strokeDash=[6, 3])
    return alt.layer(each, mean.encode(y="mean:Q", tooltip=[tooltip("mean", "mean over SMs")]))


def per_sm(rows: Rows) -> Drawing:
    frame = rows.per_sm.drop_nulls(["sm", "achieved_pct"])
    if frame.is_empty():
        raise Missing("needs recordings of each SM (--per-sm FOLDER)")
    cases, count = recordings(frame)
    panels = []
    spreads = []
    for experiment, case in cases:
        # Of the device as the case's row says, which need not be in the files.
        sm_count = of_case(rows.frame, experiment, case)["sm_count"].max()
        sms = of_each_sm(of_case(frame, experiment, case), sm_count)
        spreads.append((sms["achieved_pct"].max() - sms["achieved_pct"].min(), experiment, case, sms))
        name = f"{experiment}: {case}"
        panels.append(Panel(name, bars(sms, "achieved_pct", rows.occbench.title("achieved_pct"), "achieved")))
        if sms[IDLE].is_not_null().any():
            panels.append(Panel(f"{name}, idle share", bars(sms, IDLE, IDLE_TITLE, "theoretical")))
    spread, experiment, case, sms = max(spreads, key=lambda entry: entry[0])
    low, high = least(sms, "achieved_pct"), most(sms, "achieved_pct")
    sentence = (
        f"SMs differ most in {experiment}, {case}: SM {low['sm']} holds {low['achieved_pct']:.1f} % with "
        f"{low['blocks'] or 0:.4g} blocks, SM {high['sm']} {high['achieved_pct']:.1f} % with {high['blocks'] or 0:.4g}; "
        f"SMs idle for {sms[IDLE].mean() or 0:.1f} % of that launch on average."
    )
    key = (
        "A dashed line is the mean. Each SM is known by the trace inside the kernel only: the hardware counter reads sums "
        "over all SMs."
    )
    return Drawing(sentence + shown(len(cases), count), panels, key, together=2)
