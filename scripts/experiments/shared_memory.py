import statistics

from markdown import bullets, cell, table
from recorded import Rows, numbers
from verdicts import SAME_POINTS, Finding


def without_carveout(rows):
    return Rows(row for row in rows if not row.parameter("carveout_pct"))


def findings(rows):
    plain = without_carveout(rows)
    found = []
    if plain:
        off = [row.miss("theoretical_pct") for row in plain]
        found.append(
            Finding(
                "achieved",
                statistics.median(off) <= SAME_POINTS,
                f"{len(plain)} sizes: {statistics.median(off):.1f} points from theory at the median, {max(off):.1f} at most",
            )
        )
    for row in plain.pick(dynamic_shared_bytes=102400, block_threads=256):
        capability = row["compute_capability"]
        if capability not in ("9.0", "10.0"):
            continue  # the claim says nothing of others
        found.append(
            Finding(
                "100 KB",
                row["blocks_per_sm"] == "2",
                f"100 KB on {capability}, the only one measured: {row['blocks_per_sm']} blocks, "
                f"{cell(row, 'achieved_pct')} %",
            )
        )
    little, much = (rows.first(dynamic_shared_bytes=16384, carveout_pct=carveout) for carveout in (0, 100))
    if little and much:
        achieved = numbers((little, much), "achieved_pct")
        found.append(
            Finding(
                "carveout",
                achieved[1] > achieved[0] + SAME_POINTS,
                f"16 KB a block: carveout 0 → {achieved[0]:.1f} %, 100 → {achieved[1]:.1f} %",
            )
        )
    return found


def edges(rows):
    lines = []
    for threads, most in (
        (128, 13568),
        (128, 115712),
        (256, 28160),
        (256, 115712),
        (512, 57344),
        (512, 115712),
        (1024, 115712),
    ):
        pair = [rows.one(block_threads=threads, dynamic_bytes=size, variant="dynamic") for size in (most, most + 1)]
        both = (
            " → ".join(f"{value:.{decimals}f}".rstrip("0").rstrip(".") for value in numbers(pair, column))
            for column, decimals in (("blocks_per_sm", 1), ("theoretical_pct", 2), ("achieved_pct", 2))
        )
        left = pair[1].number("throughput") / pair[0].number("throughput")
        lines.append((str(threads), str(most), *both, f"{100 * left:.0f}"))
    head = ("threads a block:", "bytes, then one more:", "blocks an SM:", "theory:", "achieved:", "throughput left, %:")
    return table(head, lines)


def carveouts(rows):
    lines = []
    for kilobytes in (4, 8, 16, 24):
        size = kilobytes * 1024
        chosen = [rows.one(dynamic_bytes=size, carveout_pct=carveout) for carveout in (0, 25, 50, 100)]
        chosen.append(rows.one(variant=f"static_{size}"))
        cells = (f"{row.number('achieved_pct') / (100 * 8 / 64):.0f}, {cell(row, 'achieved_pct')}" for row in chosen)
        lines.append((str(kilobytes), *cells))
    head = ("KiB a block:", "carveout 0 %:", "25 %:", "50 %:", "100 %:", "the driver's default:")
    return table(head, lines)


def figures(rows):
    plain = without_carveout(rows)
    off = [row.miss("theoretical_pct") for row in plain]
    times = numbers(plain, "time_us")
    most = max(int(row["dynamic_shared_bytes"]) for row in plain)
    skipped = rows.every.pick(time_status="skipped")
    refused = ", ".join(sorted({f"{int(row['dynamic_shared_bytes']):,}" for row in skipped}))
    return bullets(
        f"{len(plain)} sizes without a carveout asked for: {statistics.median(off):.2f} points from theory at the median, "
        f"{max(off):.2f} at most.",
        f"{most:,} B a block run, {refused} are refused and recorded as skipped.",
        f"Time knows little of the sizes ({min(times):.0f} to {max(times):.0f} µs), as each case has its own four waves: the work "
        "in them is what shrinks.",
    )


BLOCKS = {"edges": edges, "carveouts": carveouts, "figures": figures}
