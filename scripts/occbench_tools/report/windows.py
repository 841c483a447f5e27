"""Sampling windows of a traced program, as `occbench trace --timeline` writes them: a Chrome trace."""

import bisect
import json
import math
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


def finite(value: object) -> float:
    number = float(value) if isinstance(value, int | float) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.40} is no number")
    return number


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no name")
    return value


def span_of(event: dict, start: float) -> Span:
    values = (event["args"].get(name) for name in ("achieved_pct", "theoretical_pct"))
    percents = (None if value is None else finite(value) for value in values)
    return Span(text(event["name"]), start, start + finite(event["dur"]), *percents)


def windows_in(events: list[dict]) -> Iterable[Window]:
    """Each with what is inside, in the order of time."""
    processes = (event for event in events if event.get("name") == "process_name")
    names = {finite(event["pid"]): text(event["args"]["name"]) for event in processes}
    for pid, name in names.items():
        of_gpu = sorted((event for event in events if event.get("pid") == pid and "ts" in event), key=time_of)
        for event in of_gpu:
            if event["ph"] != "X" or event["tid"] != WINDOWS:
                continue
            window = Window(name, time_of(event), finite(event["dur"]))
            first = bisect.bisect_left(of_gpu, window.start, key=time_of)
            for inside in of_gpu[first : bisect.bisect_right(of_gpu, window.start + window.length, key=time_of)]:
                since = time_of(inside) - window.start
                if inside["ph"] == "C" and inside["name"] == "occupancy":
                    window.steps.append((since, finite(inside["args"]["%"])))
                elif inside["ph"] == "X" and inside["tid"] == KERNELS:
                    window.spans.append(span_of(inside, since))
            if window.steps and window.length > 0:
                yield window


def time_of(event: dict) -> float:
    return finite(event["ts"])


def read_windows(file: Path) -> list[Window]:
    """Of a file, packed or not."""
    if not file.is_file():
        raise WrongInput(f"{file} is no regular file")
    try:
        windows = list(windows_in(json.loads(read_bytes(file))["traceEvents"]))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, OverflowError, RecursionError) as error:
        raise WrongInput(
            f"{file} is not what occbench trace --timeline writes: {type(error).__name__}: {error}"
        ) from error
    if not windows:
        raise WrongInput(
            f"{file} has no sampling window; occbench trace --timeline FILE writes some of a program that launches for seconds"
        )
    return windows
