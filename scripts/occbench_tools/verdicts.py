"""Whether rows support a claim: each experiment turns its rows into findings, and `verdict` is the one rule over them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# What counts as the same and what as a difference.
SAME_POINTS = 1.0  # achieved occupancy, percentage points
SAME_RATIO = 0.05  # times and rates, relative
WORTH = 1.05  # a rate or time that is better by less is no gain
ENOUGH = 0.95  # of the best throughput


class Finding(NamedTuple):
    name: str  # what it is about, as a word in the verdict
    holds: bool | None  # None: the claim says nothing of it
    measured: str


class Findings(list[Finding]):
    """The findings of an experiment that have too much to say for the table, which shows `summary` for them."""

    def __init__(self, findings: Iterable[Finding], summary: str):
        super().__init__(findings)
        self.summary = summary


def near(value: float, wanted: float, points: float = SAME_POINTS) -> bool:
    return abs(value - wanted) <= points


def measured(findings: Sequence[Finding]) -> str:
    if isinstance(findings, Findings) and findings:
        return findings.summary
    return "; ".join(finding.measured for finding in findings)


def verdict(findings: Sequence[Finding]) -> str:
    """A claim holds if every finding supports it, and does not hold if none does. Others are not asked."""
    judged = [finding for finding in findings if finding.holds is not None]
    failed = [finding.name for finding in judged if not finding.holds]
    if not judged:
        return "not measured"
    if not failed:
        return "holds"
    return "does not hold" if len(failed) == len(judged) else f"partly holds (not: {'; '.join(failed)})"
