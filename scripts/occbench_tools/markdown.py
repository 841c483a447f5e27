"""What the texts are made of: tables, lists, and figures in words."""

import re

import polars as pl

from occbench_tools.dataset import Row, error
from occbench_tools.statistics import median


def table(head, lines) -> str:
    """`head`: names; those of columns of numbers have a colon at their end."""
    names = [name.rstrip(":") for name in head]
    rule = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join(
        [f"| {' | '.join(names)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(map(str, line))} |" for line in lines)]
    )


def bullets(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines)


def cell(row: Row, column: str, decimals: int = 1, scale: float = 1.0) -> str:
    return "" if row[column] is None else f"{row[column] * scale:.{decimals}f}"


def prediction_error(rows: pl.DataFrame, elapsed: bool = False) -> str:
    """How far predictions are from the counter, in words."""
    columns = (f"{kind}_{'elapsed_' if elapsed else ''}pct" for kind in ("predicted", "achieved"))
    points = rows.select(error(*columns)).to_series().drop_nulls()
    return (
        f"{median(points):.2f} points at the median, {points.mean():.2f} on average, {points.max():.1f} at most, "
        f"in {len(points)} cases"
        if len(points)
        else "none"
    )


def short(commit: str) -> str:
    """What follows the hash, as -dirty does, is kept."""
    return re.sub(r"^([0-9a-f]{12})[0-9a-f]*", r"\1", commit)


def revision(row: Row) -> str:
    """Commit and day."""
    return f"commit `{short(row['commit'])}`, {row['recorded_at'][:10]}"


def of_most(rows: pl.DataFrame, tell_gpus: bool = False) -> tuple[Row, str]:
    """A row of the build that recorded most of the rows, and in words which experiments another build recorded; with
    `tell_gpus`, also where it was on another GPU."""
    builds = [each for _, each in rows.group_by("commit", maintain_order=True)]
    builds.sort(key=len, reverse=True)
    on, *later = (build.row(0, named=True) for build in builds)
    others = []
    for row, build in zip(later, builds[1:], strict=True):
        names = ", ".join(f"`{name}`" for name in build["experiment"].unique().sort())
        elsewhere = ", another GPU of this model" if tell_gpus and row["gpu_uuid"] != on["gpu_uuid"] else ""
        others.append(f" ({names}: `{short(row['commit'])}`{elsewhere})")
    return on, "".join(others)


def machine(row: Row) -> str:
    return (
        f"{row['gpu']} ({row['sm_count']} SMs, compute capability {row['compute_capability']}), driver {row['driver']}, "
        f"CUDA {row['cuda_toolkit']}, {revision(row)}"
    )
