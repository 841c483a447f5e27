from occbench_tools.dataset import first, least, parameter_of, pick
from occbench_tools.markdown import cell, table_of
from occbench_tools.verdicts import SAME_RATIO, WORTH, Finding


def findings(of):
    bounded, capped = (pick(of.rows, way=way) for way in ("launch_bounds", "maxrregcount"))
    free = first(bounded, min_blocks=1)
    if capped.is_empty() or free is None:
        return []
    best, best_capped = least(bounded, "time_us"), least(capped, "time_us")
    ratio = best["time_us"] / best_capped["time_us"]
    measured = f"fastest by bounds {registers(best)}, by cap {registers(best_capped)}; time × {ratio:.2f}"
    found = [Finding("the same fastest", abs(ratio - 1) < SAME_RATIO, measured)]
    spilling = bounded.filter(bounded["spill_bytes"] > 0)
    if len(spilling):
        quickest = least(spilling, "time_us")
        gain = free["time_us"] / quickest["time_us"]
        measured = f"best with spills ({quickest['spill_bytes']:.0f} B): {gain:.2f} times as fast as with one block as the bound"
        found.append(Finding("spills that pay", gain >= WORTH, measured))
    return found


def registers(row):
    return f"{row['registers_per_thread']} registers ({cell(row, 'achieved_pct', 0)} %)"


def cases(of):
    ways = {"launch_bounds": "`__launch_bounds__`", "maxrregcount": "`-maxrregcount`"}
    columns = {
        "way": lambda row: ways[parameter_of(row, "way")],
        "blocks:": "{min_blocks}",
        "registers:": "{registers_per_thread}",
        "spills, B:": "{spill_bytes}",
        "achieved:": "{achieved_pct:.1f}",
        "eligible warps:": "{eligible_warps:.2f}",
        "issue, %:": "{issue_active_pct:.1f}",
        "time, µs:": "{time_us:.0f}",
    }
    rows = (first(of.rows, way=way, min_blocks=blocks) for way in ways for blocks in range(1, 9))
    return table_of(filter(None, rows), columns)


BLOCKS = {"cases": cases}
