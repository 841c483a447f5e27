import polars as pl

from occbench_tools.dataset import clock_hz, first, parameter, parameter_of, pick
from occbench_tools.markdown import fill, table_of
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
        largest = f"up to {held['cluster_blocks'].max()} blocks, as many clusters as the calculator allows"
        measured = f"{largest}: at most × {slower:.2f} of a wave's time"
        yield Finding(f"clusters of blocks of {threads}", slower < WORTH, measured)


def grids(of):
    def cost(row):
        blocks = parameter_of(row, "blocks_per_sm")
        cost = sync_cost_us(of.rows, block_threads=row["block_threads"], blocks_per_sm=blocks)
        return "" if cost is None else f"{cost:.2f}"

    columns = {
        "threads a block:": "{block_threads}",
        "blocks per SM:": lambda row: parameter_of(row, "blocks_per_sm"),
        "blocks:": "{grid_blocks}",
        "theory:": "{theoretical_pct:.2f}",
        "achieved:": "{achieved_pct:.2f}",
        "grid.sync(), µs:": cost,
    }
    return table_of(pick(of.rows, variant="grid").filter(parameter("blocks_per_sm").is_not_null()), columns)


def groups(of):
    def group(row):
        size = " of {cluster_blocks}" if row["variant"] == "cluster" else ", {block_threads} threads a block"
        return row["variant"].replace("_", " of ") + fill(size, row)

    columns = {
        "group": group,
        "achieved:": "{achieved_pct:.1f}",
        "ns a round:": lambda row: f"{1e9 / row['throughput']:.0f}",
        "cycles:": lambda row: f"{clock_hz(row) / row['throughput']:.0f}",
    }
    whole = pl.col("variant").is_in(["grid", "alone"])
    rows = pick(of.rows, kernel="grid_barrier").filter(~whole)
    return table_of(rows.filter((pl.col("variant") != "cluster") | (pl.col("block_threads") == 256)), columns)


def clusters(of):
    columns = {
        "threads a block:": "{block_threads}",
        "blocks a cluster:": "{cluster_blocks}",
        "blocks at once:": "{grid_blocks}",
        "of a wave:": "{waves:.3f}",
        "achieved:": "{achieved_pct:.2f}",
        "over elapsed cycles:": "{achieved_elapsed_pct:.2f}",
        "time, µs:": "{time_us:.1f}",
    }
    return table_of(pick(of.rows, kernel="spin"), columns)


BLOCKS = {"grids": grids, "groups": groups, "clusters": clusters}
