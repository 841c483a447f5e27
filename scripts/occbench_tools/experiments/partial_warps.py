from occbench_tools.dataset import each, one, pick
from occbench_tools.markdown import bullets, cell, prediction_error, table
from occbench_tools.verdicts import SAME_POINTS, SAME_RATIO, Finding, near


def findings(of):
    of_threads = {row["block_threads"]: row for row in each(pick(of.rows, kernel="live_registers"))}
    found = []
    for part, whole, lanes in (1, 32, 32), (33, 64, 64 / 33):
        if part not in of_threads or whole not in of_threads:
            continue
        achieved = [of_threads[threads]["achieved_pct"] for threads in (part, whole)]
        rate = of_threads[whole]["throughput"] / of_threads[part]["throughput"]
        found.append(
            Finding(
                f"blocks of {part}",
                near(*achieved, 2 * SAME_POINTS) and near(rate / lanes, 1, 2 * SAME_RATIO),
                f"blocks of {part}: {achieved[0]:.1f} %, of {whole}: {achieved[1]:.1f} % with {rate:.1f} times the throughput",
            )
        )
    return found


def cases(of):
    lines = []
    for threads in (1, 16, 31, 32, 33, 48, 64):
        held, computed = (one(of.rows, block_threads=threads, kernel=kernel) for kernel in ("spin", "live_registers"))
        lines.append(
            (
                threads,
                f"{computed['theoretical_pct']:g}",
                cell(held, "achieved_pct", 2),
                cell(computed, "achieved_pct", 2),
                cell(computed, "issue_active_pct", 2),
                cell(computed, "time_us"),
                cell(computed, "throughput", 2, 1e-12),
            )
        )
    head = (
        *("threads a block:", "theory:", "spin: achieved:", "multiply-adds: achieved:", "issue slots used, %:"),
        *("time, µs:", "10¹² multiply-adds/s:"),
    )
    return table(head, lines)


def figures(of):
    held, computed = (prediction_error(pick(of.rows, kernel=kernel)) for kernel in ("spin", "live_registers"))
    return bullets(f"Prediction error, `spin`: {held}; multiply-adds: {computed}.")


BLOCKS = {"cases": cases, "figures": figures}
