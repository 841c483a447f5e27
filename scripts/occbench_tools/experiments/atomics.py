from functools import partial

from occbench_tools.dataset import each, one, parameter, parameter_of, pick
from occbench_tools.markdown import along, grid
from occbench_tools.verdicts import WORTH, Finding, Findings

SUMS = {
    "thread": "an atomic a thread",
    "warp": "warp shuffles",
    "serial": "thread 0 of a block",
    "block": "the whole block",
}


def findings(of):
    found, told = [], []
    for addresses in (1, 4096):
        times = {parameter_of(row, "sum"): row["time_us"] for row in each(pick(of.rows, addresses=addresses))}
        if "thread" not in times:
            continue
        gains = {name: times["thread"] / times[name] for name in ("warp", "serial", "block") if name in times}
        found += [
            Finding(f"{SUMS[name]}, {addresses:,} addresses", gain >= WORTH, f"{gain:.2f} times as fast")
            for name, gain in gains.items()
        ]
        told.append(f"{addresses:,}: {', '.join(f'{name} {gain:.1f}' for name, gain in gains.items())}")
    return Findings(found, f"addresses: times as fast as an atomic a thread: {'; '.join(told)}")


def cases(of):
    counts = of.rows.select(parameter("addresses").cast(int).unique().sort()).to_series()
    across = along("addresses", {count: f"{count:,}" for count in counts})
    return grid("sum by", along("sum", SUMS), across, "{time_us:.1f}, {achieved_pct:.0f} %", partial(one, of.rows))


BLOCKS = {"cases": cases}
