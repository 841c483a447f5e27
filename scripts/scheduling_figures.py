"""How far predictions are from the counters by kind of work, for README.md and results/nvidia-h200/block-scheduling.md:
the recorded suite, and launches random; and what other launches recorded on an H200 read."""

import csv
import statistics

from markdown import table
from recorded import RESULTS, read_rows, suite

LONG = 20_000  # cycles
COMPETE = ("issue=", "pipe=", "bytes=")
KINDS_DRAWN = {
    "blocks_from_20000_cycles": "20,000 cycles and more, equal or by block",
    "warps_from_20000_cycles": "20,000 cycles and more, by warp",
    "blocks_of_8000_cycles": "8,000 cycles, equal or by block",
    "blocks_of_1000_to_8000_cycles": "1,000 to 8,000 cycles, equal or by block",
    "issue_bound": "bound by issue slots or a pipe: one or two chains, exponentials",
    "always_issuing": "could issue in every cycle: four or eight chains",
    "memory_bound": "bound by bandwidth: reads",
}


def predicted(rows):
    return [row for row in rows if row["predicted_pct"] and row["achieved_pct"]]


def contends(row):
    return any(demand in row["work"] for demand in COMPETE)


def is_long(row):
    return float(row["work"].removeprefix("warp/").split(":")[1]) >= LONG


def is_equal(row):
    return row["work"].startswith("equal:")


def is_partial(row):
    waves = row.number("waves")
    return waves > 1 and abs(waves - round(waves)) > 1e-6


def percentile_95(points):
    return statistics.quantiles(points, n=20, method="inclusive")[-1]


def active_pct(row):
    return 100 * abs(row.number("predicted_cycles_active") / row.number("sm_cycles_active_avg") - 1)


def figures(rows):
    """Mean, median and 95th percentile of the points that predictions are off, and active cycles."""
    points = [row.miss() for row in rows]
    off = (statistics.mean(points), statistics.median(points), percentile_95(points))
    return (*(f"{figure:.2f}" for figure in off), f"{statistics.median(map(active_pct, rows)):.2f} %")


def drawn_by_chance():
    rows = read_rows(RESULTS / "validation.csv")
    lines = []
    for kind, name in KINDS_DRAWN.items():
        of_kind = rows.pick(kind=kind)
        theory = statistics.mean(row.miss("theoretical_pct") for row in of_kind)
        lines.append((name, str(len(of_kind)), f"{theory:.1f}", *figures(of_kind)))
    if sum(int(line[1]) for line in lines) != len(rows):
        raise SystemExit("validation.csv has launches of a kind that is not described")
    head = (
        "work",
        "launches:",
        "theory, mean error, points:",
        "prediction, mean:",
        "median:",
        "95th percentile:",
        "active cycles, median:",
    )
    return (
        f"{len(rows)} launches random (block size, grid, shared memory, work), on which nothing was tuned, on one more "
        f"H200, commit `{rows[0]['commit']}`, {rows[0]['recorded_at'][:10]}, predicted with the profile that `occbench calibrate` had made there just "
        f"before:\n\n{table(head, lines)}"
    )


def that_hold():
    def held(rows, by_warp):
        of_kind = (row for row in predicted(rows) if row["work"].startswith("warp/") == by_warp)
        return [row for row in of_kind if not contends(row) and is_long(row)]

    by_block = held(suite().rows, by_warp=False)
    kinds = {
        "work that differs by block or is equal": by_block,
        "of these equal, in partial waves beyond the first": [r for r in by_block if is_equal(r) and is_partial(r)],
        "of these uneven": [row for row in by_block if not is_equal(row)],
        "work that differs by block or is equal, in the second run (`again.csv`)": held(
            read_rows(RESULTS / "again.csv"), by_warp=False
        ),
        "work that differs by warp": held(suite().rows, by_warp=True),
    }
    lines = []
    for kind, chosen in kinds.items():
        lines.append((kind, str(len(chosen)), *figures(chosen)))
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
    rows = [row for row in predicted(suite().rows) if contends(row)]
    kinds = {
        "multiply-adds in one or two chains": lambda row: row["variant"] in ("fma_1", "fma_2"),
        "multiply-adds in four chains": lambda row: row["variant"] == "fma_4",
        "multiply-adds in eight chains": lambda row: row["variant"] == "fma_8",
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


def recorded_launches(name):
    with (RESULTS.parents[1] / "tests/data/h200_launches" / name).open() as file:
        return list(csv.DictReader(file))


def tails():
    """SMs that take a tail after one whole wave of equal blocks."""
    launches = [row for row in recorded_launches("tails.csv") if row["work"] == "equal:20000"]
    sms = {
        (int(row["block_threads"]), int(row["blocks_per_sm"]), int(row["grid_blocks"])): float(row["sms_with_tail"])
        for row in launches
    }
    lines = []
    for threads, per_sm in sorted({key[:2] for key in sms}):
        taken = [sms.get((threads, per_sm, 132 * per_sm + tail)) for tail in (20, 60, 132)]
        lines.append((f"{threads:,}", str(per_sm), *("" if each is None else f"{each:.0f}" for each in taken)))
    return table(("threads", "blocks an SM:", "SMs with a tail of 20:", "of 60:", "of 132:"), lines)


def reads():
    """Occupancy of reads where little of an SM's memory is L1, and where much is."""
    launches = recorded_launches("reads.csv")
    share = {
        (row["bytes_per_load"], row["loads_in_flight"], row["carveout_pct"], int(row["blocks_per_sm"])): (
            2048 * float(row["achieved_pct"]) / (int(row["block_threads"]) * int(row["blocks_per_sm"]))
        )
        for row in launches
    }
    blocks = (4, 6, 8, 10, 12, 14, 16)
    lines = []
    for size, loads in sorted({key[:2] for key in share}, key=lambda key: (int(key[0]), int(key[1]))):
        for carveout in ("100", "0"):
            of_blocks = (share.get((size, loads, carveout, count)) for count in blocks)
            cells = ("" if each is None else f"{each:.0f}" for each in of_blocks)
            lines.append((f"{loads} of {size} B", f"{carveout} %", *cells))
    head = ("loads in flight", "carveout:", "4 blocks an SM:", *(f"{count}:" for count in blocks[1:]))
    return table(head, lines)


def after_the_loop():
    """What one loop reads with and without a store after it."""
    lines = []
    for row in recorded_launches("after_the_loop.csv"):
        total = int(row["instructions"]) * int(row["blocks_per_sm"])
        if row["block_threads"] != "128" or not 350_000 < total < 450_000 or row["grid_blocks"] == "6336":
            continue
        read = (f"{float(row[name]):.1f} %" for name in ("achieved_pct", "achieved_with_store_pct"))
        lines.append((row["chains"], row["blocks_per_sm"], *read))
    return table(("chains", "warps a sub-partition:", "counter:", "with a store after the loop:"), lines)


def streams():
    """What streams of warps that always issue read, by block size."""
    shapes = [(64, 50), (256, 50), (512, 50), (64, 100), (256, 100), (512, 100), (1024, 100)]
    read = {}
    for row in recorded_launches("streams.csv"):
        threads, blocks = int(row["block_threads"]), int(row["blocks_per_sm"])
        if row["instructions"] == "20480" and int(row["grid_blocks"]) == 8 * 132 * blocks:
            code = (row["chains"], row["loop_instructions"])
            read.setdefault(code, {})[threads, round(100 * threads * blocks / 2048)] = row["achieved_pct"]
    lines = [(*code, *(of_code[shape] for shape in shapes)) for code, of_code in read.items()]
    head = ("chains", "loop:", *(f"{threads} threads, {pct} %:" for threads, pct in shapes))
    return table(head, lines)


def first_blocks():
    """When SMs begin, of the recorded starts; SMs are numbered by their turn, GPC by GPC, pairs side by side."""
    sources = RESULTS.parents[1]
    profile = dict(
        line.split(" = ") for line in (sources / "src/predict/profiles/h200.profile").read_text().splitlines()
    )
    gpcs = [int(sms) for sms in (profile["singleton_sms"], *profile["gpc_sms"].split())]
    lines = []
    for row in recorded_launches("first_blocks.csv"):
        starts = [float(start) for start in row["start_cycles"].split()]
        later = statistics.mean(starts[1::2]) - statistics.mean(starts[::2])
        ends = [sum(gpcs[: i + 1]) for i in range(len(gpcs))]
        of_gpcs = [statistics.mean(starts[end - sms : end]) for sms, end in zip(gpcs, ends, strict=True)]
        rest = [start + (later / 2 if i % 2 == 0 else -later / 2) for i, start in enumerate(starts)]
        spread = (statistics.pstdev(of_gpcs), statistics.pstdev(rest), float(row["launch_to_launch"]))
        threads = f"{int(row['block_threads']):,}"
        lines.append((threads, row["launches"], f"{later:.0f}", *(f"{cycles:.0f}" for cycles in spread)))
    head = (
        "threads",
        "launches:",
        "second SM of a TPC after the first:",
        "GPCs, standard deviation:",
        "SMs beside that:",
        "from launch to launch:",
    )
    return table(head, lines)


BLOCKS = {
    "random": drawn_by_chance,
    "scheduling: after the loop": after_the_loop,
    "scheduling: streams": streams,
    "scheduling: first blocks": first_blocks,
    "scheduling: reads": reads,
    "scheduling: tails": tails,
    "scheduling: that hold": that_hold,
    "scheduling: that contend": that_compete,
}
