from occbench_tools.dataset import each, one, pick
from occbench_tools.markdown import bullets, fill, prediction_error, table_of
from occbench_tools.verdicts import SAME_POINTS, SAME_RATIO, Finding, near


def findings(of):
    of_threads = {row["block_threads"]: row for row in each(pick(of.rows, kernel="live_registers"))}
    found = []
    for part, whole, lanes in (1, 32, 32), (33, 64, 64 / 33):
        if part not in of_threads or whole not in of_threads:
            continue
        achieved = [of_threads[threads]["achieved_pct"] for threads in (part, whole)]
        rate = of_threads[whole]["throughput"] / of_threads[part]["throughput"]
        holds = near(*achieved, 2 * SAME_POINTS) and near(rate / lanes, 1, 2 * SAME_RATIO)
        measured = f"blocks of {part}: {achieved[0]:.1f} %, of {whole}: {achieved[1]:.1f} % with {rate:.1f} times the throughput"
        found.append(Finding(f"blocks of {part}", holds, measured))
    return found


def cases(of):
    def spun(row):
        return fill("{achieved_pct:.2f}", one(of.rows, block_threads=row["block_threads"], kernel="spin"))

    columns = {
        "threads a block:": "{block_threads}",
        "theory:": "{theoretical_pct:g}",
        "spin: achieved:": spun,
        "multiply-adds: achieved:": "{achieved_pct:.2f}",
        "issue slots used, %:": "{issue_active_pct:.2f}",
        "time, µs:": "{time_us:.1f}",
        "10¹² multiply-adds/s:": "{throughput:.2f/1e12}",
    }
    sizes = (1, 16, 31, 32, 33, 48, 64)
    return table_of((one(of.rows, block_threads=size, kernel="live_registers") for size in sizes), columns)


def figures(of):
    held, computed = (prediction_error(pick(of.rows, kernel=kernel)) for kernel in ("spin", "live_registers"))
    return bullets(f"Prediction error, `spin`: {held}; multiply-adds: {computed}.")


BLOCKS = {"cases": cases, "figures": figures}
