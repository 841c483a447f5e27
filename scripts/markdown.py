"""What the texts are made of: tables, lists, and figures in words."""

import re
import statistics


def table(head, lines):
    """`head`: names, those of columns of numbers with a colon at their end."""
    names = [name.rstrip(":") for name in head]
    rule = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join(
        [f"| {' | '.join(names)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(line)} |" for line in lines)]
    )


def bullets(*lines):
    return "\n".join(f"- {line}" for line in lines)


def cell(row, column, decimals=1, scale=1.0):
    return f"{row.number(column) * scale:.{decimals}f}" if row[column] else ""


def misses(rows, elapsed=False):
    """How far predictions are from the counter, in words."""
    said, counted = (f"{kind}_{'elapsed_' if elapsed else ''}pct" for kind in ("predicted", "achieved"))
    points = [row.miss(said, counted) for row in rows if row[said] and row[counted]]
    return (
        f"{statistics.median(points):.2f} points at the median, {statistics.mean(points):.2f} on average, "
        f"{max(points):.1f} at most, in {len(points)} cases"
    )


def revision(row):
    """Commit and day; what follows the hash, as -dirty does, is kept."""
    commit = re.sub(r"^([0-9a-f]{12})[0-9a-f]*", r"\1", row["commit"])
    return f"commit `{commit}`, {row['recorded_at'][:10]}"


def machine(row):
    return (
        f"{row['gpu']} ({row['sm_count']} SMs, compute capability {row['compute_capability']}), driver {row['driver']}, "
        f"CUDA {row['cuda_toolkit']}, {revision(row)}"
    )
