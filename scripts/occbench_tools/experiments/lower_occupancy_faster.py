from occbench_tools.dataset import first
from occbench_tools.markdown import cell, fill, table
from occbench_tools.verdicts import WORTH, Finding

BODIES = {
    "product": "product, a load serves N",
    "walks_together": "N walks at once",
    "walks_in_turn": "N walks in turn",
}
BLOCKS_PER_SM = (8, 6, 4, 2)


def findings(of):
    found = []
    for body, name in BODIES.items():
        full = first(of.rows, body=body, results=1, blocks_per_sm=8)
        quarter = first(of.rows, body=body, results=8, blocks_per_sm=2)
        if full is None or quarter is None:
            continue
        ratio = full["time_us"] / quarter["time_us"]
        measured = (
            f"{name}: 8 results at {cell(quarter, 'achieved_pct', 0)} % × {ratio:.2f} as fast as 1 at "
            f"{cell(full, 'achieved_pct', 0)} %"
        )
        found.append(Finding(name, ratio >= WORTH, measured))
    return found


def cases(of):
    form = "{time_us:.0f} ({eligible_warps:.2f})"
    lines = []
    for body, name in BODIES.items():
        for results in (1, 2, 4, 8):
            rows = [first(of.rows, body=body, results=results, blocks_per_sm=blocks) for blocks in BLOCKS_PER_SM]
            known = next(row for row in rows if row)
            used = (known["registers_per_thread"], known["spill_bytes"])
            lines.append((name, results, *used, *(fill(form, row) for row in rows)))
    heads = (f"{100 * blocks // 8} %:" for blocks in BLOCKS_PER_SM)
    return table(("kernel", "results a thread:", "registers:", "spills, B:", *heads), lines)


BLOCKS = {"cases": cases}
