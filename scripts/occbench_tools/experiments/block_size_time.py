from occbench_tools.dataset import parameter, pick
from occbench_tools.markdown import cell, table
from occbench_tools.verdicts import SAME_RATIO, WORTH, Finding

KERNELS = ("copy", "stencil")
SIZES = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


def times(of, kernel):
    rows = pick(of.rows, variant=kernel)
    return dict(rows.select(parameter("block_threads").cast(int), "time_us").iter_rows())


def findings(of):
    found = []
    for kernel in KERNELS:
        by_size = times(of, kernel)
        if not by_size:
            continue
        best = min(by_size.values())
        over = {size: time / best for size, time in by_size.items()}
        inside = max((ratio, size) for size, ratio in over.items() if 128 <= size <= 512)
        found.append(
            Finding(
                f"{kernel}, 128 to 512",
                inside[0] < 1 + SAME_RATIO,
                f"{kernel}: slowest of 128 to 512 threads × {inside[0]:.2f} ({inside[1]})",
            )
        )
        for name, outside in (("smaller", over.get(32)), ("larger", over.get(1024))):
            if outside:
                size = 32 if name == "smaller" else 1024
                found.append(Finding(f"{kernel}, {size}", outside >= WORTH, f"{size}: × {outside:.2f}"))
    return found


def cases(of):
    lines = []
    for size in SIZES:
        line = [size]
        for kernel in KERNELS:
            for row in pick(of.rows, variant=kernel, block_threads=size).iter_rows(named=True):
                line += [cell(row, "achieved_pct"), cell(row, "time_us"), cell(row, "throughput", 2, 1e-12)]
        lines.append(line)
    head = (f"{kernel}: {what}:" for kernel in KERNELS for what in ("achieved", "time, µs", "TB/s"))
    return table(("threads a block:", *head), lines)


BLOCKS = {"cases": cases}
