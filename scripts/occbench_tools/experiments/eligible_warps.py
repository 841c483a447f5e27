import polars as pl

from occbench_tools.dataset import each, pick
from occbench_tools.markdown import fill, table_of
from occbench_tools.verdicts import WORTH, Finding

BOUND_BY = {"latency": True, "fp32": False, "xu": False, "memory": False}  # whether more warps should help
WARP, SCHEDULERS = 32, 4


def by_occupancy(of, bound_by):
    return pick(of.rows, bound_by=bound_by).sort("theoretical_pct")


def findings(of):
    """From half of the warps to all of them: what is full then was full before."""
    found = []
    for bound_by, helps in BOUND_BY.items():
        rows = by_occupancy(of, bound_by).drop_nulls("eligible_warps")
        rows = rows.filter(rows["theoretical_pct"].is_in([50.0, 100.0]))
        if len(rows) != 2:
            continue
        half, full = each(rows)
        for what, column, form, words in (
            ("eligible", "eligible_warps", "{eligible_warps:.2f}", f"{bound_by}: eligible {{}} → {{}}"),
            ("issue", "issue_active_pct", "{issue_active_pct:.0f}", "issue {} → {} %"),
        ):
            grows = full[column] >= WORTH * half[column]
            measured = ("" if found else "50 → 100 %: ") + words.format(fill(form, half), fill(form, full))
            found.append(Finding(f"{what}, {bound_by}", grows == helps, measured))
    return found


def cases(of):
    """Of one warp scheduler, means over active cycles. `ncu` calls a cycle without an issue one without an eligible warp."""
    resident = pl.col("blocks_per_sm") * pl.col("block_threads") / WARP / SCHEDULERS
    active = pl.col("achieved_pct") / pl.col("theoretical_pct") * resident
    more = {"active": active, "stalled": active - pl.col("eligible_warps"), "idle": 100 - pl.col("issue_active_pct")}
    columns = {
        "bound by": "{bound_by}",
        "theory:": "{theoretical_pct:g}",
        "active:": "{active:.2f}",
        "eligible:": "{eligible_warps:.2f}",
        "stalled:": "{stalled:.2f}",
        "issued:": "{issue_active_pct:.2f/100}",
        "cycles without one, %:": "{idle:.1f}",
        "stalled by memory:": "{memory_stall_warps:.2f}",
    }
    rows = (row for bound_by in BOUND_BY for row in each(by_occupancy(of, bound_by).with_columns(**more)))
    return table_of(rows, columns)


BLOCKS = {"cases": cases}
