from occbench_tools.dataset import each, first, parameter, parameter_of, pick
from occbench_tools.markdown import bullets, cell, table_of
from occbench_tools.verdicts import ENOUGH, WORTH, Finding, Findings

WAYS = {
    "thread": "an atomic a thread",
    "warp": "an atomic a warp",
    "serial": "thread 0 of a block",
    "shuffle": "shuffle tree",
    "cooperative_groups": "cooperative groups' reduce",
    "cub_block": "cub::BlockReduce",
    "cluster": "cluster, distributed shared memory",
    "last_block": "last block finishes",
    "cub_device": "cub::DeviceReduce",
}
BLOCKS_FIRST = ("shuffle", "cooperative_groups", "cub_block", "cluster", "last_block", "cub_device")
BYTES = 4 << 26
GRIDS = {"wave": "one wave", "load_a_thread": "a load a thread", "its_own": "its own grid"}


def traffic(row):
    """Bytes per microsecond that cross the memory's bus, whatever they are for."""
    return row["dram_bytes"] / row["time_us"] if row["dram_bytes"] else None


def findings(of):
    limit = first(of.rows, by="nothing")
    found, told = [], []
    for way in BLOCKS_FIRST if limit and traffic(limit) else ():
        rates = [traffic(row) for row in each(pick(of.rows, by=way)) if traffic(row)]
        if not rates:
            continue
        share = max(rates) / traffic(limit)
        found.append(Finding(WAYS[way], share >= ENOUGH, f"{100 * share:.0f} % of the traffic of reads alone"))
        told.append(100 * share)
    summary = f"blocks first: {min(told):.0f} to {max(told):.0f} % of the traffic of reads alone" if told else ""
    tree = first(of.rows, by="shuffle", grid="load_a_thread")
    slower = []
    for way in ("thread", "warp", "serial") if tree else ():
        row = first(of.rows, by=way, grid="load_a_thread")
        if not row:
            continue
        ratio = row["time_us"] / tree["time_us"]
        found.append(Finding(f"{WAYS[way]}, a load a thread", ratio >= WORTH, f"{ratio:.2f} × the shuffle tree's time"))
        slower.append(f"{WAYS[way]} × {ratio:.1f}")
    if slower:
        summary += f"; a load a thread, over the shuffle tree's time: {', '.join(slower)}"
    return Findings(found, summary)


def cases(of):
    limit = first(of.rows, by="nothing")

    def share(row):
        return f"{100 * traffic(row) / traffic(limit):.0f}" if limit and traffic(limit) and traffic(row) else ""

    columns = {
        "put together by": lambda row: WAYS[parameter_of(row, "by")],
        "grid": lambda row: GRIDS[parameter_of(row, "grid")],
        "blocks:": "{grid_blocks}",
        "time, µs:": "{time_us:.1f}",
        "GB/s:": "{throughput:.0f/1e9}",
        "% of traffic:": share,
        "achieved:": "{achieved_pct:.0f}",
        "over elapsed cycles:": "{achieved_elapsed_pct:.0f}",
    }
    return table_of(filter(None, (first(of.rows, by=way, grid=grid) for grid in GRIDS for way in WAYS)), columns)


def figures(of):
    limit = first(of.rows, by="nothing")
    waves = pick(of.rows.filter(parameter("by") != "nothing"), grid="wave")
    if not limit or waves.is_empty():
        return ""
    slowest = max(each(waves), key=lambda row: row["time_us"])
    sums = of.rows.filter(parameter("by") != "nothing")["dram_bytes"]
    return bullets(
        f"Reads alone reach {cell(limit, 'throughput', 0, 1e-9)} GB/s. They read {limit['dram_bytes'] / 1e6:.0f} MB.",
        f"Over the memory's bus go {sums.median() / 1e6:.0f} MB for {BYTES / 1e6:.0f} MB of values (median of the sums).",
        f"In one wave of blocks the slowest way, {WAYS[parameter_of(slowest, 'by')]}, takes "
        f"{slowest['time_us'] / waves['time_us'].min():.2f} times as long as the fastest.",
    )


BLOCKS = {"cases": cases, "figures": figures}
