from occbench_tools.dataset import first, one, pick
from occbench_tools.markdown import along, bullets, cell, grid
from occbench_tools.verdicts import WORTH, Finding, Findings

SHAPES = ("equal", "uniform")
CLAIMED = {
    "shorter_blocks": "shorter blocks",
    "persistent_shorter": "persistent shorter",
    "second_stream": "second stream",
    "persistent": "persistent",
    "narrower_blocks": "narrower blocks",
}
UNCLAIMED = {
    "wider_blocks": "wider blocks",
    "two_streams": "half the grid in each of two streams",
    "clusters": "clusters off",
}


def gain(of, remedy, waves, shape):
    """Throughput over that of the plain launch, which is itself the remedy for clusters; None if one is not known."""
    plain, other = (first(of.rows, remedy=name, waves=waves, shape=shape) for name in ("plain", remedy))
    if not plain or not other:
        return None
    ratio = other["throughput"] / plain["throughput"]
    return 1 / ratio if remedy == "clusters" else ratio


def finding(remedy, shape, times):
    measured = f"throughput × {times:.2f}"
    if remedy in CLAIMED:
        return Finding(f"{CLAIMED[remedy]} with {shape} work", times >= WORTH, measured)
    worth = "a gain" if times >= WORTH else "no gain"
    return Finding(f"{UNCLAIMED[remedy]} with {shape} work", None, f"{measured}, {worth}")


def findings(of):
    found, told = [], []
    for remedy, words in (CLAIMED | UNCLAIMED).items():
        gains = {shape: gain(of, remedy, "1.50", shape) for shape in SHAPES}
        known = {shape: times for shape, times in gains.items() if times is not None}
        found.extend(finding(remedy, shape, times) for shape, times in known.items())
        if known and (remedy in CLAIMED or max(known.values()) >= WORTH):
            told.append(f"{words} × {min(known.values()):.2f}–{max(known.values()):.2f}")
    return Findings(found, f"throughput at 1.5 waves: {', '.join(told)}")


def cases(of):
    def pair(remedy, waves):
        return [gain(of, remedy, waves, shape) for shape in SHAPES]

    def cells(gains):
        return " / ".join("–" if times is None else f"{times:.2f}" for times in gains)

    # Recordings from before the unclaimed ones were added have no such rows.
    known = [name for name in CLAIMED | UNCLAIMED if len(pick(of.rows, remedy=name))]
    across = along("waves", {count: f"{count} waves" for count in ("1.05", "1.25", "1.50", "2.10", "4.30")})
    return grid("remedy", {(CLAIMED | UNCLAIMED)[name]: {"remedy": name} for name in known}, across, cells, pair)


def figures(of):
    def equal(remedy, waves="1.50"):
        return one(of.rows, remedy=remedy, waves=waves, shape="equal")

    def from_to(column, waves):
        return " → ".join(cell(equal(remedy, waves), column) for remedy in ("plain", "narrower_blocks"))

    narrow = (
        f"{from_to('achieved_pct', waves)} % at {waves} waves (over elapsed cycles {from_to('achieved_elapsed_pct', waves)})"
        for waves in ("1.05", "1.50")
    )
    queue = (
        f"{cell(equal('persistent_shorter', waves), 'time_us', 0)} and {cell(equal('shorter_blocks', waves), 'time_us', 0)} µs at {waves}"
        for waves in ("1.25", "1.50")
    )
    return bullets(
        f"Narrower blocks, achieved: {'; '.join(narrow)}.",
        f"Persistent blocks with items of a quarter, and shorter blocks: {'; '.join(queue)} waves.",
        f"Second stream at 1.50 waves of equal blocks: {cell(equal('second_stream'), 'achieved_pct')} % achieved, two launches in "
        f"{cell(equal('second_stream'), 'time_us')} µs, one alone in {cell(equal('plain'), 'time_us')}.",
        f"{of.rows['predicted_pct'].null_count()} of {len(of.rows)} rows have no prediction.",
    )


BLOCKS = {"cases": cases, "figures": figures}
