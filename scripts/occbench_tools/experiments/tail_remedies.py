from occbench_tools.dataset import first, one, pick
from occbench_tools.markdown import bullets, cell, table
from occbench_tools.verdicts import WORTH, Finding, Findings

SHAPES = ("equal", "uniform")
REARRANGED = {
    "wider_blocks": "wider blocks",
    "two_streams": "half the grid in each of two streams",
    "clusters": "clusters of 8 (off is the plain launch)",
}


def gain(plain, cured):
    return cured["throughput"] / plain["throughput"]


def findings(of):
    found, told = [], []
    for remedy in "shorter_blocks", "second_stream", "persistent_shorter", "persistent", "narrower_blocks":
        words = remedy.replace("_", " ")
        gains = []
        for shape in SHAPES:
            plain, cured = (first(of.rows, remedy=name, waves="1.50", shape=shape) for name in ("plain", remedy))
            if not plain or not cured:
                continue
            gains.append(gain(plain, cured))
            found.append(Finding(f"{words} with {shape} work", gains[-1] >= WORTH, f"throughput × {gains[-1]:.2f}"))
        if gains:
            told.append(f"{words} × {min(gains):.2f}–{max(gains):.2f}")
    return Findings(found, f"throughput at 1.5 waves, equal and uneven: {', '.join(told)}")


def cases(of):
    def gain_of(remedy, **launch):
        return gain(one(of.rows, remedy="plain", **launch), one(of.rows, remedy=remedy, **launch))

    counts = ("1.05", "1.25", "1.50", "2.10", "4.30")
    lines = []
    for remedy in ("shorter_blocks", "persistent_shorter", "second_stream", "persistent", "narrower_blocks"):
        cells = (" / ".join(f"{gain_of(remedy, waves=waves, shape=shape):.2f}" for shape in SHAPES) for waves in counts)
        lines.append((remedy.replace("_", " "), *cells))
    # Recordings from before these were added have no such rows.
    for remedy in (name for name in REARRANGED if not pick(of.rows, remedy=name).is_empty()):
        cells = (" / ".join(f"{gain_of(remedy, waves=waves, shape=shape):.2f}" for shape in SHAPES) for waves in counts)
        lines.append((REARRANGED[remedy], *cells))
    return table(("remedy", *(f"{count} waves:" for count in counts)), lines)


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
