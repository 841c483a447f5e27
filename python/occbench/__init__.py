"""GPU occupancy, theoretical, predicted and achieved: the engine of the command `occbench` for Python.

>>> import occbench
>>> occbench.calc(gpu="h200", block_size=384, registers=44).theoretical_pct
56.25

Sizes are in bytes, occupancies in percent of an SM's warps, differences of them in points. What cannot be used raises
ValueError with the message of the command.
"""

from occbench._command import Column, columns
from occbench._command import version as _version
from occbench._prediction import Advice, Explanation, Finding, Losses, Prediction, explain, predict
from occbench._programs import read, region, sweep, trace
from occbench._theory import Curves, Gpu, Step, Theories, Theory, calc, curves, gpus, limits
from occbench._usage import Usage, usage

__all__ = [
    "Advice",
    "Column",
    "Curves",
    "Explanation",
    "Finding",
    "Gpu",
    "Losses",
    "Prediction",
    "Step",
    "Theories",
    "Theory",
    "Usage",
    "calc",
    "columns",
    "curves",
    "explain",
    "gpus",
    "limits",
    "predict",
    "read",
    "region",
    "sweep",
    "trace",
    "usage",
]
__version__ = _version()
