from functools import partial

from occbench_tools.dataset import first, one, parameter
from occbench_tools.markdown import along, grid
from occbench_tools.verdicts import WORTH, Finding, Findings


def findings(of):
    found = []
    for kilobytes in (16, 96, 160, 224, 384):
        most, least = (first(of.rows, kilobytes=kilobytes, carveout_pct=carveout) for carveout in (0, 100))
        if most and least:
            gain = most["throughput"] / least["throughput"]
            found.append(Finding(f"{kilobytes} KB", gain >= WORTH, f"× {gain:.2f}"))
    told = "; ".join(f"{each.name} {each.measured}" for each in found)
    return Findings(found, f"throughput, carveout of 0 over 100 %: {told}")


def cases(of):
    sizes = of.rows.select(parameter("kilobytes").cast(int).unique().sort()).to_series()
    across = along("carveout_pct", ("0", "25", "50", "75", "100", "default"))
    find = partial(one, of.rows)
    return grid("KiB read again and again:", along("kilobytes", sizes), across, "{throughput:.1f/1e12}", find)


BLOCKS = {"cases": cases}
