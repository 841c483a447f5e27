"""Rows of files, of traced programs and of sweeps, and names for the parts of a traced program."""

import ctypes
import gzip
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any

from occbench import _command

if TYPE_CHECKING:
    import polars as pl
else:
    pl = SimpleNamespace(DataFrame=Any)  # for typing.get_type_hints(), without Polars

_NOT_MEASURED = 2  # exit status: some rows say why they have no measurement


def read(file: "str | PathLike[str]") -> "pl.DataFrame":
    """The rows of a file, CSV or compressed by gzip, with the types of their columns; what was not measured is null.

    `occbench columns` tells what each column means and its unit; of others Polars infers the type. Raises ValueError for
    what is no file of rows: none of its columns is one of columns().
    """
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("occbench.read needs Polars: pip install polars") from error

    types = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
    known = {column.name: types[column.type] for column in _command.columns()}
    try:
        text = Path(file).read_bytes()
        text = gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            warnings.warn(
                f"{os.fspath(file)}: the last line has no end and is left out: its run was stopped", stacklevel=2
            )
        rows = pl.read_csv(whole, schema_overrides=known, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, EOFError) as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from error
    if not known.keys() & set(rows.columns):
        raise ValueError(
            f"{os.fspath(file)} is no file of rows: it has none of the columns that `occbench columns` lists, such as case"
        )
    return rows


def trace(
    command: Sequence[str],
    *,
    out: "str | PathLike[str] | None" = None,
    counters: "str | int" = "auto",
    kernels: str | None = None,
    after: int | None = None,
) -> "pl.DataFrame":
    """Every kernel that `command` launches, unmodified: theory, prediction, time, and the counter where it may be read.

    `counters` says how many launches of each kernel are counted: "auto", "off" or a number. `kernels` is a regular
    expression of those to count, `after` the launches of a process before the first is counted. The rows also go to the
    file `out`. Raises ValueError for wrong use, and RuntimeError if the command fails or uses no CUDA.
    """
    if isinstance(command, str):
        raise ValueError(f"command = {command!r} is one text: give a list of words, as in {command.split()}")
    given = {"counters": counters, "kernels": kernels, "after": after}
    return _measured(["trace", *_command.options(given)], ["--", *command], out, (0,))


def sweep(
    kernel: str | None = None,
    *,
    out: "str | PathLike[str] | None" = None,
    options: Sequence[str] = (),
    **axes: "str | int | Sequence[int]",
) -> "pl.DataFrame":
    """A kernel measured over all combinations of its axes' values: `sweep("spin", block_size=[128, 256])`.

    `options` are further ones of `occbench sweep`, for example ["--source", "mine.cu", "--kernel", "product"]. Raises
    ValueError for wrong use, and RuntimeError if nothing was measured.
    """
    values = {
        name: value if isinstance(value, (str, int)) else ",".join(map(str, value)) for name, value in axes.items()
    }
    words = ["sweep", *([kernel] if kernel else []), *_command.options(values), *options]
    return _measured(words, [], out, (0, _NOT_MEASURED))


def _measured(
    words: list[str], last: list[str], out: "str | PathLike[str] | None", done_by: tuple[int, ...]
) -> "pl.DataFrame":
    with tempfile.TemporaryDirectory(prefix="occbench-") as folder:
        rows = Path(out) if out is not None else Path(folder) / "rows.csv"
        done = _command.run(*words, "--out", str(rows), *last)
        if done.returncode == _command.WRONG_INPUT:
            raise ValueError(_command.message(done.stderr))
        if done.returncode not in done_by or not rows.exists():
            raise RuntimeError(f"occbench {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return read(rows)


class region:
    """`with occbench.region("attention"):` names the launches that a thread makes within it, in the column `region`.

    Regions may lie in each other. Under `occbench trace` and Nsight's tools they are ranges of NVTX; where nothing traces, they
    cost less than a microsecond.

    >>> import occbench
    >>> with occbench.region("attention"):
    ...     pass
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        if _push is not None:
            _push(self.name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _pop is not None:
            _pop()


def _ranges() -> "tuple[Callable[[str], object], Callable[[], object]] | tuple[None, None]":
    """What opens and closes a range in this process, which a tool traces if it names its library for NVTX."""
    tool = os.environ.get("NVTX_INJECTION64_PATH")
    if not tool:
        return None, None
    if Path(tool).name == "libocc_trace.so":
        library = ctypes.CDLL(tool)
        return lambda name: library.occbench_push_region(name.encode()), library.occbench_pop_region
    try:
        nvtx = import_module("torch.cuda.nvtx")
    except ImportError:
        return None, None
    return nvtx.range_push, nvtx.range_pop


_push, _pop = _ranges()
