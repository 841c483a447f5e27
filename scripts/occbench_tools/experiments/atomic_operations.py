from functools import partial

from occbench_tools.dataset import first
from occbench_tools.markdown import along, grid
from occbench_tools.verdicts import SAME_RATIO, Finding, Findings

ADDRESSES = {"one": "one address", "one_a_block": "one a block", "one_a_thread": "one a thread"}
OPERATIONS = ("sub", "max", "min", "compare_swap")


def findings(of):
    found, told = [], []
    for operation in OPERATIONS:
        ratios = []
        for addresses, words in ADDRESSES.items():
            rows = [first(of.rows, addresses=addresses, operation=name) for name in (operation, "add")]
            if all(rows):
                ratio = rows[0]["time_us"] / rows[1]["time_us"]
                ratios.append(f"{ratio:.2f}")
                found.append(Finding(f"{operation}, {words}", abs(ratio - 1) < SAME_RATIO, f"{words}: × {ratio:.2f}"))
        if ratios:
            told.append(f"{operation} {', '.join(ratios)}")
    return Findings(found, f"time over an addition's; {', '.join(ADDRESSES.values())}: {'; '.join(told)}")


def cases(of):
    down, across = along("operation", ("add", *OPERATIONS)), along("addresses", ADDRESSES)
    return grid("operation", down, across, "{throughput:.3g/1e9}", partial(first, of.rows))


BLOCKS = {"cases": cases}
