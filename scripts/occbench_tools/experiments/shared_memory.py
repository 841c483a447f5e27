from occbench_tools.dataset import each, error, first, median, one, parameter, pick
from occbench_tools.markdown import bullets, cell, fill, table
from occbench_tools.verdicts import SAME_POINTS, Finding


def without_carveout(rows):
    return rows.filter(parameter("carveout_pct").is_null()).with_columns(error=error("theoretical_pct"))


def findings(of):
    plain = without_carveout(of.rows)
    found = []
    if len(plain):
        off = plain["error"]
        measured = f"{len(plain)} sizes: {median(off):.1f} points from theory at the median, {off.max():.1f} at most"
        found.append(Finding("achieved", median(off) <= SAME_POINTS, measured))
    for row in each(pick(plain, dynamic_shared_bytes=102400, block_threads=256)):
        capability = row["compute_capability"]
        if capability not in ("9.0", "10.0"):
            continue  # the claim says nothing of others
        measured = (
            f"100 KB on {capability}, the only one measured: {row['blocks_per_sm']} blocks, "
            f"{cell(row, 'achieved_pct')} %"
        )
        found.append(Finding("100 KB", row["blocks_per_sm"] == 2, measured))
    little, much = (first(of.rows, dynamic_shared_bytes=16384, carveout_pct=carveout) for carveout in (0, 100))
    if little and much:
        achieved = [row["achieved_pct"] for row in (little, much)]
        measured = f"16 KB a block: carveout 0 → {achieved[0]:.1f} %, 100 → {achieved[1]:.1f} %"
        found.append(Finding("carveout", achieved[1] > achieved[0] + SAME_POINTS, measured))
    return found


def edges(of):
    forms = ("{blocks_per_sm:.1f}", "{theoretical_pct:.2f}", "{achieved_pct:.2f}")
    sizes = {128: (13568, 115712), 256: (28160, 115712), 512: (57344, 115712), 1024: (115712,)}
    lines = []
    for threads, most in ((threads, most) for threads, of_threads in sizes.items() for most in of_threads):
        pair = [one(of.rows, block_threads=threads, dynamic_bytes=size, variant="dynamic") for size in (most, most + 1)]
        both = (" → ".join(fill(form, row).rstrip("0").rstrip(".") for row in pair) for form in forms)
        lines.append((threads, most, *both, f"{100 * pair[1]['throughput'] / pair[0]['throughput']:.0f}"))
    head = ("threads a block:", "bytes, then one more:", "blocks per SM:", "theory:", "achieved:")
    return table((*head, "throughput left, %:"), lines)


def carveouts(of):
    lines = []
    for kilobytes in (4, 8, 16, 24):
        size = kilobytes * 1024
        chosen = [one(of.rows, dynamic_bytes=size, carveout_pct=carveout) for carveout in (0, 25, 50, 100)]
        chosen.append(one(of.rows, variant=f"static_{size}"))
        cells = (f"{row['achieved_pct'] / (100 * 8 / 64):.0f}, {cell(row, 'achieved_pct')}" for row in chosen)
        lines.append((kilobytes, *cells))
    head = ("KiB a block:", "carveout 0 %:", "25 %:", "50 %:", "100 %:", "the driver's default:")
    return table(head, lines)


def figures(of):
    plain = without_carveout(of.rows)
    off, times = plain["error"], plain["time_us"]
    skipped = of.every.filter(time_status="skipped")["dynamic_shared_bytes"].unique().sort()
    refused = ", ".join(f"{size:,}" for size in skipped)
    return bullets(
        f"{len(plain)} sizes with the default carveout: {median(off):.2f} points from theory at the median, "
        f"{off.max():.2f} at most.",
        f"{plain['dynamic_shared_bytes'].max():,} B a block run. {refused} are refused and recorded as skipped.",
        f"Time hardly depends on the size ({times.min():.0f} to {times.max():.0f} µs): each case has four waves of its own, and "
        "fewer blocks in them do less work.",
    )


BLOCKS = {"edges": edges, "carveouts": carveouts, "figures": figures}
