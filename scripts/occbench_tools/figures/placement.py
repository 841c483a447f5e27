"""Whether each block of a recorded launch's first wave ran on the SM that the rules of docs/prediction.md name, for
docs/notes/block-scheduler.md."""

from collections.abc import Iterator

from occbench_tools.dataset import Results, each, gpu_of
from occbench_tools.markdown import listed

#: Visits of GPCs before singleton TPCs are served again.
FIRST_VISITS, VISITS = 5, 6


class Layout:
    """The SMs of each GPC in dispatch order, and those of singleton TPCs. TPCs are numbered round robin over GPCs, singletons last."""

    def __init__(self, profile: dict[str, str]):
        sizes = [int(sms) for sms in profile["gpc_sms"].split()]
        self.gpcs: list[list[int]] = [[] for _ in sizes]
        self.sms = 0
        while gpcs := [gpc for gpc, size in zip(self.gpcs, sizes, strict=True) if len(gpc) < size]:
            for gpc in gpcs:
                gpc.extend((self.sms, self.sms + 1))
                self.sms += 2
        self.singletons = list(range(self.sms, self.sms + int(profile["singleton_sms"])))
        self.sms += len(self.singletons)


def rounds(layout: Layout, singletons: list[int], blocks_per_sm: int) -> Iterator[int]:
    """SMs, each this often: at a visit each SM of a GPC that has room takes a block."""
    room = dict.fromkeys(range(layout.sms), blocks_per_sm)

    def visit(sms: list[int]) -> Iterator[int]:
        for sm in sms:
            if room[sm]:
                room[sm] -= 1
                yield sm

    yield from visit(singletons)
    visits, until = 0, FIRST_VISITS
    while any(room.values()):
        yield from visit(layout.gpcs[visits % len(layout.gpcs)])
        visits += 1
        if visits == until:
            yield from visit(singletons)
            until += VISITS


def first_wave(layout: Layout, singletons: list[int], blocks: int, blocks_per_sm: int) -> list[int]:
    """The SM of each block that finds a place at once."""
    if blocks >= layout.sms * blocks_per_sm:
        return list(rounds(layout, singletons, blocks_per_sm))
    even, rest = divmod(blocks, layout.sms)
    spread = [*singletons, *(sm for first in (0, 1) for gpc in layout.gpcs for sm in gpc[first::2])]
    return [*rounds(layout, singletons, even), *spread[:rest]]


def compared(model: Results) -> Iterator[bool]:
    (profile,) = model.folder.glob("*_recorded.profile")
    layout = Layout(dict(line.split(" = ") for line in profile.read_text(encoding="utf-8").splitlines()))
    of = model.with_added.of("placement")
    for row in each(of.rows):
        for quantity in ("trace_sm", "trace_again_sm"):
            if sms := [int(sm) for sm in of.samples(row, quantity)]:
                # Which singletons come first is of the records.
                start = layout.singletons.index(sms[0])
                singletons = layout.singletons[start:] + layout.singletons[:start]
                wanted = first_wave(layout, singletons, row["grid_blocks"], row["blocks_per_sm"])
                yield sms[: len(wanted)] == wanted


def first_waves(results: Results) -> str:
    found = {gpu_of(model.suite.rows): list(compared(model)) for model in results.models}
    counts = listed(f"{sum(same)} of {len(same)} on an {gpu}" for gpu, same in found.items())
    return (
        f"In recorded launches of the suites (`placement`), which begin with the GPC of SM 0, the rules name the SM of every block of the "
        f"first wave: in {counts}. Which four singleton SMs come first is taken from the records."
    )


BLOCKS = {"placement: first waves": first_waves}
