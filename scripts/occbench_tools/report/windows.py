"""Sampling windows of a traced program, as `occbench trace --timeline` writes them: a Chrome trace."""

import bisect
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from occbench_tools import WrongInput
from occbench_tools.dataset import read_bytes

KERNELS, WINDOWS = 1, 2  # threads of the trace


@dataclass(frozen=True)
class Span:
    """A launch in a window."""

    name: str
    start: float  # us since the window began, as all times
    end: float
    achieved_pct: float | None
    theoretical_pct: float | None

    @property
    def lost_us(self) -> float:
        """Time x occupancy below theory."""
        if self.achieved_pct is None or self.theoretical_pct is None:
            return 0
        return max(self.theoretical_pct - self.achieved_pct, 0) / 100 * (self.end - self.start)


@dataclass
class Window:
    of: str  # its GPU and process
    start: float  # us since the first window
    length: float
    steps: list[tuple[float, float]] = field(default_factory=list)  # when, occupancy in percent from then on
    spans: list[Span] = field(default_factory=list)


def windows_in(events: list[dict]) -> Iterable[Window]:
    """Each with what is inside, in the order of time."""
    names = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
    for pid, name in names.items():
        of_gpu = sorted((event for event in events if event.get("pid") == pid and "ts" in event), key=time_of)
        for event in of_gpu:
            if event["ph"] != "X" or event["tid"] != WINDOWS:
                continue
            window = Window(name, time_of(event), float(event["dur"]))
            first = bisect.bisect_left(of_gpu, window.start, key=time_of)
            for inside in of_gpu[first : bisect.bisect_right(of_gpu, window.start + window.length, key=time_of)]:
                since = time_of(inside) - window.start
                if inside["ph"] == "C" and inside["name"] == "occupancy":
                    window.steps.append((since, float(inside["args"]["%"])))
                elif inside["ph"] == "X" and inside["tid"] == KERNELS:
                    values = (inside["args"].get(name) for name in ("achieved_pct", "theoretical_pct"))
                    window.spans.append(Span(inside["name"], since, since + float(inside["dur"]), *values))
            if window.steps:
                yield window


def time_of(event: dict) -> float:
    return float(event["ts"])


def read_windows(file: Path) -> list[Window]:
    """Of a file, packed or not."""
    if not file.is_file():
        raise WrongInput(f"{file} is no regular file")
    try:
        return list(windows_in(json.loads(read_bytes(file))["traceEvents"]))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as error:
        raise WrongInput(
            f"{file} is not what occbench trace --timeline writes: {type(error).__name__}: {error}"
        ) from error
