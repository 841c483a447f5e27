"""How far the recorded suite is from its predictions by kind of work, for results/nvidia-h200/block-scheduling.md."""

import statistics

from recorded import suite
from wording import table

LONG = 20_000  # cycles
COMPETE = ("issue=", "pipe=", "bytes=")


def predicted():
    return [row for row in suite().rows if row["predicted_pct"] and row["achieved_pct"]]


def competes(row):
    return any(demand in row["work"] for demand in COMPETE)


def is_long(row):
    return float(row["work"].removeprefix("warp/").split(":")[1]) >= LONG


def is_equal(row):
    return row["work"].startswith("equal:")


def is_partial(row):
    waves = row.number("waves")
    return waves > 1 and abs(waves - round(waves)) > 1e-6


def percentile_95(points):
    return sorted(points)[round(0.95 * (len(points) - 1))]


def active_pct(row):
    return 100 * abs(row.number("predicted_cycles_active") / row.number("sm_cycles_active_avg") - 1)


def that_hold():
    rows = [row for row in predicted() if not competes(row) and is_long(row)]
    by_block = [row for row in rows if not row["work"].startswith("warp/")]
    kinds = {
        "work that differs by block or is equal": by_block,
        "of these equal, in partial waves beyond the first": [r for r in by_block if is_equal(r) and is_partial(r)],
        "of these uneven": [row for row in by_block if not is_equal(row)],
        "work that differs by warp": [row for row in rows if row not in by_block],
    }
    lines = []
    for kind, chosen in kinds.items():
        points = [row.miss() for row in chosen]
        figures = (statistics.mean(points), statistics.median(points), percentile_95(points))
        active = statistics.median(map(active_pct, chosen))
        lines.append((kind, str(len(chosen)), *(f"{figure:.2f}" for figure in figures), f"{active:.2f} %"))
    head = (
        "rows of `full.csv`",
        "rows:",
        "mean error, points:",
        "median:",
        "95th percentile:",
        "active cycles, median:",
    )
    return table(head, lines)


def that_compete():
    rows = [row for row in predicted() if competes(row)]
    kinds = {
        "multiply-adds in one or two chains": lambda row: row["variant"] in ("multiply_add_1", "multiply_add_2"),
        "multiply-adds in four chains": lambda row: row["variant"] == "multiply_add_4",
        "multiply-adds in eight chains": lambda row: row["variant"] == "multiply_add_8",
        "exponentials": lambda row: row["variant"].startswith("exponential"),
        "streaming reads": lambda row: row["kernel"] == "reads",
    }
    lines = []
    for kind, of_kind in kinds.items():
        points = [row.miss() for row in rows if of_kind(row)]
        shares = (100 * sum(each <= limit for each in points) / len(points) for limit in (2, 4))
        lines.append(
            (
                kind,
                str(len(points)),
                f"{statistics.mean(points):.2f}",
                f"{max(points):.1f}",
                *(f"{share:.0f} %" for share in shares),
            )
        )
    head = ("rows of `full.csv`", "rows:", "mean error, points:", "most:", "within 2 points:", "within 4:")
    return table(head, lines)


BLOCKS = {"scheduling: that hold": that_hold, "scheduling: that compete": that_compete}
