"""Launches that differ in one resource, all else equal, and what the calculator says between them."""

import altair as alt
import polars as pl

from occbench_tools.report.rows import Rows
from occbench_tools.report.style import colour

SHARED = "shared_bytes_per_block"
# Axes of the calculator.
AXES = {
    "block_threads": "threads per block",
    "registers_per_thread": "registers per thread",
    SHARED: "shared memory per block, B",
}
USAGE = ["compute_capability", *AXES]


def shared() -> pl.Expr:
    return (pl.col("static_shared_bytes").fill_null(0) + pl.col("dynamic_shared_bytes").fill_null(0)).alias(SHARED)


def plain_launches(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that the calculator's curves describe, with SHARED. The curves know neither carveouts nor clusters."""
    plain = pl.col("carveout_pct").is_null() & (pl.col("cluster_blocks").fill_null(1) <= 1)
    return frame.with_columns(shared()).filter(plain).drop_nulls([*USAGE, "theoretical_pct"])


def equal_but_for(axis: str) -> list[str]:
    """The columns that are equal in launches that differ in `axis` alone."""
    return ["experiment", "kernel", *(name for name in USAGE if name != axis)]


def candidates(frame: pl.DataFrame, axis: str) -> pl.DataFrame:
    """Each set of launches that differ in `axis` alone, with how many `values` of it, `rows` and the `highest` theory: those of
    most values first. A kernel that spills more does more: values of equal spills are counted."""
    same = equal_but_for(axis)
    counts = frame.group_by(*same, "spill_bytes").agg(
        pl.col(axis).n_unique().alias("values"),
        pl.len().alias("rows"),
        pl.col("theoretical_pct").max().alias("highest"),
    )
    order = ["values", "rows", *same]
    return counts.sort(order, descending=[True, True, *[False] * len(same)])


def of_candidate(frame: pl.DataFrame, axis: str, chosen: pl.DataFrame) -> pl.DataFrame:
    return frame.join(chosen, on=equal_but_for(axis), how="semi", nulls_equal=True, maintain_order="left")


def theory(rows: Rows, launch: dict, axis: str) -> pl.DataFrame | None:
    """What the calculator says along `axis` around a launch: `value`, `theoretical_pct`, `limiter` in the order of the
    values. None where it refuses the launch."""
    curve = rows.occbench.curves(*(launch[name] for name in USAGE))
    if curve is None:
        return None
    return curve.filter(pl.col("axis") == axis).sort("value")


def corners(steps: pl.DataFrame) -> pl.DataFrame:
    """The first value and the last of each step: all that a step line needs."""
    last_of_step = (pl.col("theoretical_pct") != pl.col("theoretical_pct").shift(-1)).fill_null(True)
    return steps.filter(last_of_step | (pl.int_range(pl.len()) == 0))


def step_line(steps: pl.DataFrame) -> alt.Chart:
    """Of `value` and `theoretical_pct`, to be encoded."""
    return alt.Chart(corners(steps).select("value", occupancy="theoretical_pct")).mark_line(
        interpolate="step-before", strokeWidth=2, color=colour("theoretical")
    )
