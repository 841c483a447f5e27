"""Theoretical occupancy: one launch by the command, arrays of launches by its engine."""

import ctypes
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from occbench import _command, _show

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]
    Reals: TypeAlias = npt.NDArray[np.float64]
    Texts: TypeAlias = npt.NDArray[np.str_]
    Many: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
else:
    Integers = Reals = Texts = Any  # for typing.get_type_hints(), without NumPy

LIMITERS = ("warps", "blocks", "registers", "shared_memory", "barriers")


class Step(NamedTuple):
    """A change of one value, and the occupancy that it leads to."""

    change: str  # in words: "40 registers per thread instead of 44"
    axis: str  # the value that changes: registers_per_thread, block_threads, ...
    before: int
    after: int
    blocks_per_sm: int
    theoretical_pct: float
    kind: str  # highest: the most by one change; below: the next less; carveout; beyond; together: both of a pair


class Gpu(NamedTuple):
    """A GPU of the table that `gpu=` names."""

    name: str
    driver_name: str  # what the driver calls it; empty where unknown
    compute_capability: str
    sm_count: int
    clock_mhz: int  # boost clock
    bandwidth_gb_s: float  # of device memory, 10^9 bytes a second
    memory_bus_bits: int
    l2_kb: int  # 1024 bytes


@dataclass(frozen=True, repr=False)
class Theory:
    """What an occupancy calculator says of one launch."""

    theoretical_pct: float  # resident warps over the SM's maximum, percent
    blocks_per_sm: int  # 0: no SM can hold such a block; cannot_launch says why
    warps_per_sm: int
    limiter: str  # "registers", "warps+blocks", ...: what stops one more block
    block_limits: dict[str, int | None]  # blocks that each resource alone allows; None: it does not limit
    waves: float | None  # where grid and the number of SMs are known
    cannot_launch: str | None
    what_to_do: tuple[str, ...]
    steps: tuple[Step, ...]
    answer: dict[str, Any] = field(compare=False)  # all that `occbench calc --format json` says; its names and units

    def __repr__(self) -> str:
        return (
            f"Theory(theoretical_pct={self.theoretical_pct:g}, blocks_per_sm={self.blocks_per_sm}, "
            f"warps_per_sm={self.warps_per_sm}, limiter={self.limiter!r})"
        )

    def _repr_html_(self) -> str:
        return _show.theory(self.answer)


@dataclass(frozen=True, repr=False)
class Theories:
    """Of arrays of launches: arrays of the launches' common shape, whose elements are those of Theory, but -1 for a None of
    `block_limits`. It has no waves, cannot_launch, what_to_do, steps and answer."""

    theoretical_pct: "Reals"
    blocks_per_sm: "Integers"
    warps_per_sm: "Integers"
    limiter: "Texts"
    block_limits: "dict[str, Integers]"  # -1: it does not limit
    registers_per_block: "Integers"  # allocated, rounding included
    shared_bytes_per_block: "Integers"  # allocated, the driver's reserve and rounding included
    shared_bytes_per_sm: "Integers"  # that the carveout leaves

    def __repr__(self) -> str:
        pct = self.theoretical_pct
        extremes = f", theoretical_pct {pct.min():g} to {pct.max():g}" if pct.size else ""
        return f"Theories of {pct.size} launches{extremes}"


@dataclass(frozen=True, repr=False)
class Curves:
    """Theoretical occupancy over block size, registers and shared memory, each with the others as given."""

    points: dict[
        str, list[dict[str, Any]]
    ]  # axis -> points: value, theoretical_pct, limiter, blocks_per_sm, current (0 or 1)

    def __repr__(self) -> str:
        return f"Curves over {', '.join(self.points)}"

    def _repr_html_(self) -> str:
        return _show.curves(self.points)


@overload
def calc(  # type: ignore[overload-overlap]  # a text is a sequence of texts too
    gpu: str | None = None,
    *,
    block_size: int | str,
    registers: int | None = None,
    compute_capability: str | None = None,
    sm_count: int | None = None,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    carveout: int | None = None,
    barriers: int = 0,
    cluster: int = 1,
    grid: int | str | None = None,
    launch_bounds: int | str | None = None,
) -> Theory: ...


@overload
def calc(
    gpu: "str | Sequence[str] | None" = None,
    *,
    block_size: "int | Many",
    registers: "int | Many | None" = None,
    compute_capability: "str | Sequence[str] | None" = None,
    sm_count: None = None,
    static_smem: "int | Many" = 0,
    dynamic_smem: "int | Many" = 0,
    carveout: "int | Many | None" = None,
    barriers: "int | Many" = 0,
    cluster: "int | Many" = 1,
    grid: None = None,
    launch_bounds: int | str | None = None,
) -> Theories: ...


def calc(
    gpu: Any = None,
    *,
    block_size: Any,
    registers: Any = None,
    compute_capability: Any = None,
    sm_count: int | None = None,
    static_smem: Any = 0,
    dynamic_smem: Any = 0,
    carveout: Any = None,
    barriers: Any = 0,
    cluster: Any = 1,
    grid: int | str | None = None,
    launch_bounds: int | str | None = None,
) -> Theory | Theories:
    """Theoretical occupancy of a launch, or of many.

    `gpu` is a name of gpus(), or else `compute_capability` says "9.0"; both have to agree. `block_size` is in threads,
    `registers` a thread (None: they do not limit), `static_smem` and `dynamic_smem` in bytes a block, `carveout` in percent
    of an SM's largest shared memory (None: the driver's default), `barriers` a block, `cluster` and `grid` in blocks. A
    `block_size` or `grid` of several dimensions is a text: "16x16". `launch_bounds` are the most threads of a block that the
    kernel allows, or the least and the most: "256:256".

    Where any of them is an array or a list, all are broadcast against each other by NumPy, and the answer has arrays of
    the common shape; `grid`, `sm_count` and shapes are of a single launch alone. Raises ValueError for what no launch can
    have.

    >>> calc("a100-sxm4-80gb", block_size=512, registers=33)
    Theory(theoretical_pct=75, blocks_per_sm=3, warps_per_sm=48, limiter='registers')
    >>> calc(compute_capability="9.0", block_size=256, registers=[32, 64, 128]).theoretical_pct
    array([100.,  50.,  25.])
    >>> calc("h200", block_size=0, registers=32)
    Traceback (most recent call last):
    ValueError: block_threads = 0 is out of range: compute capability 9.0 allows 1 to 1024
    """
    given = dict(locals())
    _require_gpu(gpu, compute_capability)
    asked = [block_size, registers, static_smem, dynamic_smem, carveout, barriers, cluster]
    if any(_is_many(value) for value in [gpu, compute_capability, *asked]):
        _refuse_tuple("block_size", block_size)
        if grid is not None or sm_count is not None:
            raise ValueError("grid and sm_count are of a single launch, and arrays were given")
        many = _calc_many(gpu, compute_capability, block_size, 0 if registers is None else registers, *asked[2:])
        if launch_bounds is not None:
            _refuse_beyond(launch_bounds, block_size)
        return many
    answer = _command.answer("calc", *options(given))
    if grid is not None and answer["sm_count"] is None:
        warnings.warn("waves is None without the number of SMs: give gpu or sm_count beside grid", stacklevel=2)
    return Theory(
        theoretical_pct=answer["theoretical_pct"],
        blocks_per_sm=answer["blocks_per_sm"],
        warps_per_sm=answer["warps_per_sm"],
        limiter=answer["limiter"],
        block_limits={limiter: answer[f"block_limit_{limiter}"] for limiter in LIMITERS},
        waves=answer["waves"],
        cannot_launch=answer["cannot_launch"],
        what_to_do=tuple(answer["what_to_do"]),
        steps=tuple(
            Step(*(step[name] for name in ("change", "axis", "from", "to", "blocks_per_sm", "theoretical_pct", "kind")))
            for step in answer["steps"]
        ),
        answer=answer,
    )


def curves(
    gpu: str | None = None,
    *,
    registers: int | None = None,
    block_size: int | str | None = None,
    compute_capability: str | None = None,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    carveout: int | None = None,
    barriers: int = 0,
    cluster: int = 1,
    launch_bounds: int | str | None = None,
) -> Curves:
    """Theoretical occupancy over block size, registers and shared memory, as calc() for each. Without `block_size` the
    best one is taken.

    >>> full = [point for point in curves("h200", block_size=256, registers=44).points["registers_per_thread"] if point["theoretical_pct"] == 100]
    >>> full[-1]["value"]  # the most registers with which an SM is full
    32
    """
    given = dict(locals())
    _require_gpu(gpu, compute_capability)
    return Curves(_show.by_axis(_command.answer("calc", "--curves", *options(given))["curves"]))


def limits(compute_capability: str | None = None) -> list[dict[str, Any]]:
    """The limits of an SM of every known compute capability, or of one; sizes in bytes where the name does not say.

    >>> limits("9.0")[0]["max_warps_per_sm"]
    64
    """
    listed: list[dict[str, Any]] = _command.answer("calc", "--limits", *_command.options({"cc": compute_capability}))
    return listed


@cache
def gpus() -> list[Gpu]:
    """The GPUs that `gpu=` can name, oldest compute capability first.

    >>> [gpu.sm_count for gpu in gpus() if gpu.name == "h200"]
    [132]
    """
    lines = _handed_over(_library().occbench_gpus()).splitlines()
    return [
        Gpu(name, driver_name, capability, int(sms), int(clock), float(bandwidth), int(bus), int(l2))
        for name, driver_name, capability, sms, clock, bandwidth, bus, l2 in (line.split("\t") for line in lines)
    ]


def options(arguments: dict[str, Any]) -> list[str]:
    """The command's, for the arguments of a call."""
    others = dict(arguments)
    gpu, compute_capability = _agreed(others.pop("gpu"), others.pop("compute_capability"))
    for name, value in others.items():
        _refuse_tuple(name, value)
        if isinstance(value, float) and value.is_integer():
            others[name] = int(value)
    return _command.options({"gpu": gpu, "cc": compute_capability, **others})


def _refuse_tuple(name: str, value: Any) -> None:
    if isinstance(value, tuple):
        shape = "x".join(map(str, value))
        raise ValueError(
            f"{name}={value} is a tuple: a shape is a text, {shape!r}, and several values are {list(value)}"
        )


def _require_gpu(gpu: Any, compute_capability: Any) -> None:
    if gpu is None and compute_capability is None:
        raise ValueError("give gpu or compute_capability: gpus() and limits() list them")


def _agreed(gpu: Any, compute_capability: Any) -> tuple[str | None, str | None]:
    """At most one of them. What usage() says of a kernel's compute capability may stand beside a GPU of it."""
    asked = {"gpu": gpu, "cc": compute_capability}
    numbers = {option: _number(option, str(name)) for option, name in asked.items() if name is not None}
    if len(set(numbers.values())) == 2:
        raise ValueError(
            f"gpu={gpu!r} has compute capability {numbers['gpu'] / 10:.1f}, and compute_capability={compute_capability!r} "
            "is another: give one of them"
        )
    return (str(gpu), None) if gpu is not None else (None, str(compute_capability) if numbers else None)


def _is_many(value: object) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__") or bool(getattr(value, "ndim", 0))


@cache
def _number(option: str, name: str) -> int:
    """90, of the option `gpu` or `cc`; the command knows all spellings of a name."""
    listed = _command.answer("calc", "--limits", *_command.options({option: name}))
    if len(listed) != 1:
        raise ValueError(
            f"{name!r} is not one GPU or compute capability: for several give calc() a list, as in ['a100', 'h200'] or "
            "['8.0', '9.0']; gpus() and limits() have all"
        )
    return int(str(listed[0]["compute_capability"]).replace(".", ""))


def _capabilities(gpu: Any, compute_capability: Any) -> Any:
    import numpy as np

    if not _is_many(gpu) and not _is_many(compute_capability):
        gpu, compute_capability = _agreed(gpu, compute_capability)
    if gpu is not None and compute_capability is not None:
        raise ValueError("of arrays give gpu or compute_capability, not both")
    option, names = ("gpu", gpu) if gpu is not None else ("cc", compute_capability)
    spelled, places = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return np.array([_number(option, str(name)) for name in spelled], dtype=np.int64)[places].reshape(np.shape(names))


def _whole(value: Any) -> Any:
    import numpy as np

    array = np.asarray(value)
    if np.ma.is_masked(value):
        raise ValueError(f"{value!r} has masked values: fill or leave them out")
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64) if array.dtype.kind in "iuf" else None
    if whole is None or (whole != array).any():
        raise ValueError(f"{value!r} is not of whole numbers")
    return whole


def _refuse_beyond(launch_bounds: int | str, block_size: Any) -> None:
    import numpy as np

    least, _, most = str(launch_bounds).rpartition(":")
    for size in np.unique(block_size):
        if not int(least or 1) <= size <= int(most):
            raise ValueError(f"block_size {size}: the launch bounds allow {least or 1} to {most} threads per block")


def _calc_many(gpu: Any, compute_capability: Any, *asked: Any) -> Theories:
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("occbench.calc of arrays needs NumPy: pip install numpy") from error

    values = [-1 if value is None else value for value in asked]
    rows = np.broadcast_arrays(_capabilities(gpu, compute_capability), *(_whole(value) for value in values))
    shape, count = rows[0].shape, rows[0].size
    flat = np.ascontiguousarray([row.reshape(-1) for row in rows], dtype=np.int64)
    answers = np.empty((11, count), dtype=np.int64)
    pct = np.empty(count)
    failed = _library().occbench_theory(count, flat.ctypes.data, answers.ctypes.data, pct.ctypes.data)
    if failed:
        raise ValueError(_handed_over(failed))
    table = answers.reshape(11, *shape)
    names = np.array(["+".join(n for bit, n in enumerate(LIMITERS) if mask >> bit & 1) for mask in range(32)])
    return Theories(
        theoretical_pct=pct.reshape(shape),
        blocks_per_sm=table[0],
        warps_per_sm=table[1],
        limiter=names[table[2]],
        block_limits=dict(zip(LIMITERS, table[3:8], strict=True)),
        registers_per_block=table[8],
        shared_bytes_per_block=table[9],
        shared_bytes_per_sm=table[10],
    )


@cache
def _library() -> ctypes.CDLL:
    """python/theory.hpp declares its functions."""
    beside_command = _command.program().resolve().parent
    places = [Path(_command.PACKAGE) / "lib", beside_command]
    file = next((place / "libocc_theory.so" for place in places if (place / "libocc_theory.so").exists()), places[0])
    library = ctypes.CDLL(str(file))
    library.occbench_gpus.restype = ctypes.c_void_p
    library.occbench_theory.restype = ctypes.c_void_p
    library.occbench_theory.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    library.occbench_free.argtypes = [ctypes.c_void_p]
    return library


def _handed_over(text: int) -> str:
    try:
        return ctypes.string_at(text).decode()
    finally:
        _library().occbench_free(text)
