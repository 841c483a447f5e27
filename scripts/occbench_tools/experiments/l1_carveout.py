from occbench_tools.dataset import first, one, parameter
from occbench_tools.markdown import cell, table
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
    carveouts = ("0", "25", "50", "75", "100", "default")
    lines = []
    for kilobytes in of.rows.select(parameter("kilobytes").cast(int).unique().sort()).to_series():
        chosen = (one(of.rows, kilobytes=kilobytes, carveout_pct=carveout) for carveout in carveouts)
        lines.append((kilobytes, *(cell(row, "throughput", 1, 1e-12) for row in chosen)))
    return table(("KiB read again and again:", *(f"{each}:" for each in carveouts)), lines)


BLOCKS = {"cases": cases}
