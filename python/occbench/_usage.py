"""Registers and shared memory of kernels that other packages compiled."""

import re
from importlib import import_module
from os import PathLike, fspath
from types import ModuleType
from typing import Any, TypedDict

from occbench import _command


class _OfFile(TypedDict, total=False):
    barriers: int  # a block
    cluster: int  # blocks, 1 = none
    launch_bounds: str  # threads per block, "1:96"; not there where any are allowed


class Usage(_OfFile):
    """What calc() takes of a compiled kernel: `calc(**usage(kernel), block_size=256)`."""

    registers: int  # per thread
    static_smem: int  # bytes per block
    dynamic_smem: int  # bytes per block, where the kernel itself fixes them, as Triton's do
    compute_capability: str  # of its machine code, "9.0"


def usage(kernel: object, name: str | None = None, arch: str | None = None) -> Usage:
    """Registers and shared memory of a compiled kernel.

    `kernel` is one of
    - Triton: what `kernel[grid](...)` or `kernel.warmup(...)` returns, or the function if it was compiled once alone;
    - CuPy: a RawKernel;
    - numba: a function of `@cuda.jit` that was compiled for one signature;
    - a module of torch.utils.cpp_extension, or the path of a library, object or cubin. `name` is a regular expression
      found in the kernel's name, `arch` ("sm_90") the architecture of its code; the CUDA toolkit's cuobjdump reads it,
      and named barriers, clusters and launch bounds too.

    Raises ValueError if it is none of them, is not compiled yet, or is several kernels.
    """
    if isinstance(kernel, ModuleType) and kernel.__file__:
        return _of_file(kernel.__file__, name, arch)
    if isinstance(kernel, (str, PathLike)):
        return _of_file(fspath(kernel), name, arch)
    for adapter in (_of_triton, _of_cupy, _of_numba):
        found = adapter(kernel)
        if found is not None:
            return found
    raise ValueError(
        f"{type(kernel).__module__}.{type(kernel).__qualname__} is no compiled kernel of Triton, CuPy or numba, no module "
        "of an extension and no path"
    )


def _only(compiled: list[Any], of: str) -> Any:
    if len(compiled) == 1:
        return compiled[0]
    if not compiled:
        raise ValueError(f"{of} is not compiled yet: launch it once")
    raise ValueError(f"{of} was compiled {len(compiled)} times: ask for one of these kernels")


def _capability(major: int, minor: int) -> str:
    return f"{major}.{minor}"


def _of_triton(kernel: Any) -> Usage | None:
    caches = getattr(kernel, "device_caches", None)
    if caches is not None:  # the function
        each = [entry for cache in caches.values() for entry in cache[0].values()]
        kernel = _only(each, f"the Triton function {getattr(kernel, '__name__', '')}")
    metadata = getattr(kernel, "metadata", None)
    if metadata is None or not hasattr(metadata, "num_warps"):
        return None
    # It is loaded at its first launch, or when asked for.
    if hasattr(kernel, "_init_handles"):
        kernel._init_handles()
    architecture = int(re.sub(r"\D", "", str(metadata.target.arch)))
    return Usage(
        registers=int(kernel.n_regs),
        static_smem=0,
        dynamic_smem=int(metadata.shared),
        compute_capability=_capability(*divmod(architecture, 10)),
    )


def _of_cupy(kernel: Any) -> Usage | None:
    attributes = getattr(kernel, "attributes", None)
    if not isinstance(attributes, dict) or "num_regs" not in attributes:
        return None
    return Usage(
        registers=int(attributes["num_regs"]),
        static_smem=int(attributes["shared_size_bytes"]),
        dynamic_smem=0,
        compute_capability=_capability(*divmod(int(attributes["binary_version"]), 10)),
    )


def _of_numba(kernel: Any) -> Usage | None:
    if not hasattr(kernel, "get_regs_per_thread") or not hasattr(kernel, "overloads"):
        return None
    compiled = _only(list(kernel.overloads.values()), f"the numba function {getattr(kernel, '__name__', '')}")
    cuda: Any = import_module("numba.cuda")
    return Usage(
        registers=int(compiled.regs_per_thread),
        static_smem=int(compiled.shared_mem_per_block),
        dynamic_smem=0,
        compute_capability=_capability(*cuda.get_current_device().compute_capability),
    )


def _of_file(file: str, name: str | None, arch: str | None) -> Usage:
    kernels = _command.answer("calc", *_command.options({"from": file, "kernel": name, "arch": arch}))
    if len(kernels) != 1:
        several = ", ".join(f"{each['kernel']} ({each['code_architecture']})" for each in kernels[:5])
        more = ", ..." if len(kernels) > 5 else ""
        raise ValueError(
            f"{file} has {len(kernels)} such kernels: {several}{more}; choose one by name and arch, or another file"
        )
    kernel = kernels[0]
    found = Usage(
        registers=kernel["registers_per_thread"],
        static_smem=kernel["static_shared_bytes"],
        dynamic_smem=0,
        compute_capability=kernel["compute_capability"],
        barriers=kernel["barriers"] or 0,
        cluster=kernel["cluster_blocks"],
    )
    required = kernel["required_block_threads"]
    if most := required or kernel["max_block_threads"]:
        found["launch_bounds"] = f"{required or 1}:{most}"
    return found
