"""How much slower this machine is just now than the one that limits of time are stated for."""

import time

REFERENCE_SECONDS = 0.0065  # of an idle machine of two cores of an AMD EPYC, by Python 3.11


def loop_seconds() -> float:
    begin = time.perf_counter()
    sum(number * number for number in range(200_000))
    return time.perf_counter() - begin


def slower() -> float:
    """At least 1: the middle of several, so that other programs beside count too."""
    return max(1.0, sorted(loop_seconds() for _ in range(9))[4] / REFERENCE_SECONDS)
