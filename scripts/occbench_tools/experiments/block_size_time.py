from occbench_tools.dataset import one, parameter, pick
from occbench_tools.markdown import along, fill, grid
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
        measured = f"{kernel}: slowest of 128 to 512 threads × {inside[0]:.2f} ({inside[1]})"
        found.append(Finding(f"{kernel}, 128 to 512", inside[0] < 1 + SAME_RATIO, measured))
        for name, outside in (("smaller", over.get(32)), ("larger", over.get(1024))):
            if outside:
                size = 32 if name == "smaller" else 1024
                found.append(Finding(f"{kernel}, {size}", outside >= WORTH, f"{size}: × {outside:.2f}"))
    return found


def cases(of):
    forms = {"achieved": "{achieved_pct:.1f}", "time, µs": "{time_us:.1f}", "TB/s": "{throughput:.2f/1e12}"}
    across = {f"{kernel}: {what}": {"variant": kernel, "what": what} for kernel in KERNELS for what in forms}

    def find(what, **wanted):
        return {"text": fill(forms[what], one(of.rows, **wanted))}

    return grid("threads a block:", along("block_threads", SIZES), across, "{text}", find)


BLOCKS = {"cases": cases}
