from occbench_tools.dataset import pick
from occbench_tools.markdown import cell, table
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
        rows = rows.filter((rows["theoretical_pct"] == 50) | (rows["theoretical_pct"] == 100))
        if len(rows) != 2:
            continue
        half, full = rows.row(0, named=True), rows.row(1, named=True)
        grows = full["eligible_warps"] >= WORTH * half["eligible_warps"]
        found.append(
            Finding(
                f"eligible, {bound_by}",
                grows == helps,
                f"{bound_by}, 50 → 100 %: eligible {cell(half, 'eligible_warps', 2)} → {cell(full, 'eligible_warps', 2)}",
            )
        )
        issues = full["issue_active_pct"] >= WORTH * half["issue_active_pct"]
        found.append(
            Finding(
                f"issue, {bound_by}",
                issues == helps,
                f"issue {cell(half, 'issue_active_pct', 0)} → {cell(full, 'issue_active_pct', 0)} %",
            )
        )
    return found


def cases(of):
    """Of one warp scheduler, means over active cycles. `ncu` calls a cycle without an issue one without an eligible warp."""
    lines = []
    for bound_by in BOUND_BY:
        for row in by_occupancy(of, bound_by).iter_rows(named=True):
            resident = row["blocks_per_sm"] * row["block_threads"] / WARP / SCHEDULERS
            active = row["achieved_pct"] / row["theoretical_pct"] * resident
            eligible, issue = row["eligible_warps"], row["issue_active_pct"]
            counts = (f"{value:.2f}" for value in (active, eligible, active - eligible, issue / 100))
            stalled = cell(row, "memory_stall_warps", 2)
            lines.append((bound_by, f"{row['theoretical_pct']:g}", *counts, f"{100 - issue:.1f}", stalled))
    head = ("bound by", "theory:", "active:", "eligible:", "stalled:", "issued:", "cycles without one, %:")
    return table((*head, "stalled by memory:"), lines)


BLOCKS = {"cases": cases}
