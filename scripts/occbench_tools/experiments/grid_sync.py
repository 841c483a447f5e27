import polars as pl

from occbench_tools.dataset import clock_hz, each, first, parameter, parameter_of, pick
from occbench_tools.markdown import cell, table
from occbench_tools.verdicts import WORTH, Finding, Findings


def sync_cost_us(rows, **wanted):
    """Of one grid.sync(): a round with it less a round without."""
    grid, alone = (first(rows, variant=variant, **wanted) for variant in ("grid", "alone"))
    return 1e6 / grid["throughput"] - 1e6 / alone["throughput"] if grid and alone else None


def findings(of):
    limits, beyond = (pick(of.every, grid=grid) for grid in ("limit", "limit_plus_one"))
    if limits.is_empty() or beyond.is_empty():
        return []
    ran = len(limits.filter(check="ok"))
    refused = len(beyond.filter(pl.col("time_status") == "skipped", pl.col("note").str.contains("is refused")))
    found = [
        Finding("the limit", ran == len(limits), f"ran in {ran} of {len(limits)} cases"),
        Finding("one block more", refused == len(beyond), f"refused in {refused} of {len(beyond)}"),
    ]
    told = [f"the limit {found[0].measured}, one block more was {found[1].measured}"]
    grids = pick(of.rows, variant="grid", block_threads=256)
    counts = grids.select(parameter("blocks_per_sm").cast(int).unique().sort().drop_nulls()).to_series()
    cost_of = {count: sync_cost_us(of.rows, block_threads=256, blocks_per_sm=count) for count in counts}
    known = {count: cost for count, cost in cost_of.items() if cost is not None}
    if len(known) > 1:
        few, many = min(known), max(known)
        measured = f"{known[few]:.2f} µs with {few} block of 256 an SM, {known[many]:.2f} with {many}"
        found.append(Finding("its cost", known[many] >= WORTH * known[few], measured))
        told.append(f"grid.sync() {measured}")
    return Findings([*found, *findings_of_clusters(of.rows)], "; ".join(told))


def findings_of_clusters(rows):
    for threads in (256, 1024):
        held = pick(rows, kernel="spin", block_threads=threads)
        alone = first(held, cluster=1)
        if not alone or len(held) < 2:
            continue
        slower = held["time_us"].max() / alone["time_us"]
        yield Finding(
            f"clusters of blocks of {threads}",
            slower < WORTH,
            f"up to {held['cluster_blocks'].max()} blocks, as many clusters as the calculator allows: at most × {slower:.2f} of a wave's time",
        )


def grids(of):
    lines = []
    for row in each(pick(of.rows, variant="grid")):
        blocks = parameter_of(row, "blocks_per_sm")
        if not blocks:
            continue
        cost = sync_cost_us(of.rows, block_threads=row["block_threads"], blocks_per_sm=blocks)
        occupancies = (cell(row, f"{kind}_pct", 2) for kind in ("theoretical", "achieved"))
        lines.append(
            (row["block_threads"], blocks, row["grid_blocks"], *occupancies, "" if cost is None else f"{cost:.2f}")
        )
    head = ("threads a block:", "blocks per SM:", "blocks:", "theory:", "achieved:", "grid.sync(), µs:")
    return table(head, lines)


def groups(of):
    lines = []
    for row in each(pick(of.rows, kernel="grid_barrier")):
        group = row["variant"]
        if group in ("grid", "alone") or (group == "cluster" and row["block_threads"] != 256):
            continue
        size = f" of {row['cluster_blocks']}" if group == "cluster" else f", {row['block_threads']} threads a block"
        seconds = 1 / row["throughput"]
        per_round = (f"{1e9 * seconds:.0f}", f"{clock_hz(row) * seconds:.0f}")
        lines.append((group.replace("_", " of ") + size, cell(row, "achieved_pct"), *per_round))
    return table(("group", "achieved:", "ns a round:", "cycles:"), lines)


def clusters(of):
    lines = [
        (
            row["block_threads"],
            row["cluster_blocks"],
            row["grid_blocks"],
            cell(row, "waves", 3),
            cell(row, "achieved_pct", 2),
            cell(row, "achieved_elapsed_pct", 2),
            cell(row, "time_us"),
        )
        for row in each(pick(of.rows, kernel="spin"))
    ]
    head = (
        *("threads a block:", "blocks a cluster:", "blocks at once:", "of a wave:"),
        *("achieved:", "over elapsed cycles:", "time, µs:"),
    )
    return table(head, lines)


BLOCKS = {"grids": grids, "groups": groups, "clusters": clusters}
