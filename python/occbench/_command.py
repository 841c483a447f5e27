"""The command that lies in this package, and what it answers."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parent
WRONG_INPUT = 64  # exit status
# Of options with another name.
_PARAMETERS = {"cc": "compute_capability", "counter": "counters", "from": "kernel", "kernel": "name"}


def program() -> Path:
    """The command that the variable OCCBENCH_PROGRAM names, of a build for example, or that of this package, or of the PATH."""
    own = PACKAGE / "bin" / "occbench"
    return Path(os.environ.get("OCCBENCH_PROGRAM") or (not own.exists() and shutil.which("occbench")) or own)


def environment() -> dict[str, str]:
    """This process's, with what the command looks for: the Python that draws the report, and CUPTI and NVRTC where NVIDIA's
    wheels lie in any folder of packages."""
    found = dict(os.environ)
    found.pop("OCCBENCH_PROGRAM", None)  # which may be a command of this module: it would start itself without end
    found.setdefault("OCCBENCH_PYTHON", sys.executable)
    for folder in sys.path:
        libraries = Path(folder or ".") / "nvidia" / "cu13" / "lib"
        if (libraries / "libcupti.so.13").exists() or (libraries / "libnvrtc.so.13").exists():
            found.setdefault("OCCBENCH_CUPTI", str(libraries))
    return found


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program(), *arguments], capture_output=True, text=True, check=False, env=environment())


def message(errors: str) -> str:
    """The command's message, without its name."""
    return errors.strip().removeprefix("occbench: ")


def answer(*arguments: str) -> Any:
    """What the command answers as JSON. Raises ValueError for what it refuses, with its message."""
    done = run(*arguments, "--format", "json")
    if done.returncode == WRONG_INPUT:
        raise ValueError(_of_parameters(message(done.stderr)))
    if done.returncode != 0:
        raise RuntimeError(f"{program()} ended with {done.returncode}: {message(done.stderr)}")
    return json.loads(done.stdout)


def _of_parameters(text: str) -> str:
    """The parameters in place of the command's options, but those of a whole command in backticks."""
    return re.sub(
        r"`[^`]*`|(?<![\w/.-])--(?!help)([a-z-]+)",
        lambda found: _PARAMETERS.get(found[1], found[1].replace("-", "_")) if found[1] else found[0],
        text,
    )


def options(given: Mapping[str, object]) -> list[str]:
    """`block_size=512` as `--block-size=512`; None is not given."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]


class Column(NamedTuple):
    """A column of a recorded row."""

    name: str
    type: str  # text, integer or real
    unit: str
    meaning: str


@cache
def columns() -> list[Column]:
    """The columns of a recorded row, in their order.

    >>> [column.unit for column in columns() if column.name == "achieved_pct"]
    ['%']
    """
    return [Column(*(listed[name] for name in Column._fields)) for listed in answer("columns")]


def version() -> str:
    try:
        return metadata.version("occbench")
    except metadata.PackageNotFoundError:  # a source tree
        return "0"
