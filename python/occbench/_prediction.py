"""What the counter will read, and where occupancy went."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

from occbench import _command, _show
from occbench._theory import options


class Losses(NamedTuple):
    """Points of occupancy that each cause costs: they add up to theoretical less predicted."""

    small_grid: float  # the grid has fewer blocks than one wave
    tail: float  # the partial last wave
    between_blocks: float  # uneven blocks
    within_block: float  # uneven warps of a block
    overhead: float  # launching and replacing blocks
    contention: float  # for issue slots, a pipe or memory


class Advice(NamedTuple):
    """A launch that does the same work better."""

    sentence: str
    grid: int  # blocks
    block_size: int  # threads
    predicted_pct: float
    gain_points: float
    time_saved_pct: float


@dataclass(frozen=True, repr=False)
class Prediction:
    """What the hardware counter will read of a launch."""

    predicted_pct: float  # the expected value of the counter, over active cycles
    interval_pct: tuple[float, float]  # that 90 % of such launches lie in
    predicted_elapsed_pct: float  # over all SMs and the longest one's cycles
    theoretical_pct: float
    losses: Losses
    advice: Advice | None  # None: no better launch was found
    profile_quality: str  # calibrated_device, calibrated_model or generic
    answer: dict[str, Any] = field(compare=False)  # all that `occbench predict --format json` says

    def __repr__(self) -> str:
        low, high = self.interval_pct
        return f"Prediction(predicted_pct={self.predicted_pct:.1f}, interval_pct=({low:.1f}, {high:.1f}))"

    def _repr_html_(self) -> str:
        return _show.prediction(self.answer)


class Finding(NamedTuple):
    """One cause of what a launch lacks."""

    cause: str
    points: float  # of occupancy
    sentence: str
    remedy: str
    confidence: str  # measured, simulated or inferred
    time_saved_at_most_pct: float | None
    evidence: dict[str, float]


@dataclass(frozen=True)
class Explanation:
    """Where the occupancy of one launch, or of one recorded row, went."""

    case: str  # experiment/case of a row; empty for a launch by numbers
    theoretical_pct: float | None
    achieved_pct: float | None
    explanation: str
    findings: tuple[Finding, ...]  # those that cost most first
    answer: dict[str, Any] = field(compare=False, repr=False)  # all that `occbench explain --format json` says

    def _repr_html_(self) -> str:
        return _show.explanation(self.answer)


def predict(
    gpu: str | None = None,
    *,
    block_size: int | str,
    grid: int | str,
    registers: int,
    work: str | None = None,
    compute_capability: str | None = None,
    sm_count: int | None = None,
    profile: str | None = None,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    carveout: int | None = None,
    cluster: int = 1,
    time_us: float | None = None,
    sm_cycles_active_avg: float | None = None,
    clock_mhz: float | None = None,
    seed: int | None = None,
) -> Prediction:
    """What the counter will read of a launch: the launch as in calc().

    `work` is what each block does: "equal:200000" cycles, "equal:100us", "uniform:20000:0.5:1.5:seed=1", ... (`occbench
    predict --help` lists the forms). Without it work that is equal for all blocks is inferred from `time_us`, as profilers
    record it, or, better, `sm_cycles_active_avg`. `profile` is a built-in device profile or a file. Raises ValueError for what no launch can have.

    >>> predict("h200", block_size=256, registers=20, grid=1056, work="equal:200000").theoretical_pct
    100.0
    """
    answer = _command.answer("predict", *options(locals()))
    better = answer.get("advice")
    return Prediction(
        predicted_pct=answer["predicted_pct"],
        interval_pct=(answer["predicted_low_pct"], answer["predicted_high_pct"]),
        predicted_elapsed_pct=answer["predicted_elapsed_pct"],
        theoretical_pct=answer["theoretical_pct"],
        losses=Losses(*(answer[f"loss_{name}_points"] for name in Losses._fields)),
        advice=None
        if better is None
        else Advice(*(better[name] for name in ("sentence", "grid_blocks", "block_threads", *Advice._fields[3:]))),
        profile_quality=answer["profile_quality"],
        answer=answer,
    )


def explain(
    *files: "str | PathLike[str]",
    gpu: str | None = None,
    compute_capability: str | None = None,
    sm_count: int | None = None,
    block_size: int | str | None = None,
    grid: int | str | None = None,
    registers: int | None = None,
    static_smem: int | None = None,
    dynamic_smem: int | None = None,
    carveout: int | None = None,
    cluster: int | None = None,
    barriers: int | None = None,
    achieved: float | None = None,
    time_us: float | None = None,
    counters: Mapping[str, float] | None = None,
    filter: str | None = None,
    top: int | None = None,
) -> list[Explanation]:
    """Why launches have the occupancy that they have: rows of files, those that lose most first, or one launch by numbers.

    Of files, `filter` is a regular expression found in experiment/case, and `top` the number of rows (0: all; None: 20).
    Without files and numbers the rows are those that come with the project. Of numbers,
    the launch is as in calc(), `achieved` (percent) and `time_us` are what was read of it, and `counters` what other counters
    read: by column or by their own name, such as {"resident_blocks": 6.1}. Raises ValueError for what cannot be.

    >>> found = explain(compute_capability="9.0", sm_count=132, block_size=256, grid=1320, registers=20, achieved=60)
    >>> found[0].findings[0].cause
    'tail'
    """
    given = dict(locals())
    del given["files"], given["counters"]
    if counters:
        given["counter"] = ",".join(f"{name}={value}" for name, value in counters.items())
    answer = _command.answer("explain", *options(given), *map(str, files))
    rows = answer if isinstance(answer, list) else [answer]
    return [_explanation(row) for row in rows]


def _explanation(row: dict[str, Any]) -> Explanation:
    return Explanation(
        case="/".join(str(row[name]) for name in ("experiment", "case") if row.get(name)),
        theoretical_pct=row.get("theoretical_pct"),
        achieved_pct=row.get("achieved_pct"),
        explanation=row.get("explanation") or "",
        findings=tuple(
            Finding(
                finding["cause"],
                finding["points"],
                finding["sentence"],
                finding.get("remedy", ""),
                finding["confidence"],
                finding.get("time_saved_at_most_pct"),
                finding["evidence"],
            )
            for finding in row["findings"]
        ),
        answer=row,
    )
