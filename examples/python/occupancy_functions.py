"""occbench calc against the occupancy functions of numba and CuPy, on 1,000 launches of each: blocks per SM must agree.

python occupancy_functions.py [PATH_OF_OCCBENCH]
"""

import csv
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

OCCBENCH = sys.argv.pop(1) if len(sys.argv) > 1 else "occbench"

from needed import cuda, stop  # noqa: E402

try:
    import cupy
except ModuleNotFoundError:
    stop("the package cupy is not there; pip install --require-hashes -r requirements.lock has it")

LAUNCHES = 1000
LIVE_VALUES = range(4, 164, 16)  # registers per thread grow with them, and numba takes seconds to compile each
MOST_SHARED_BYTES = 48 << 10  # without opting in to more
STATIC_BYTES = 1024


class Kernel(NamedTuple):
    registers_per_thread: int
    static_shared_bytes: int
    blocks_per_sm: Callable[[int, int], int]  # of threads per block and dynamic shared memory


def numba_kernel(live: int) -> Kernel:
    """`live` values that are all needed until the end."""
    names = [f"v{i}" for i in range(live)]
    loads = [f"    {name} = x[{i}]" for i, name in enumerate(names)]
    steps = [f"        {a} = {a} * {b} + x[1]" for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    head, loop, tail = "def kernel(x):", "    for _ in range(int(x[0])):", f"    x[cuda.grid(1)] = {' + '.join(names)}"
    scope = {"cuda": cuda}
    exec("\n".join([head, *loads, loop, *steps, tail]), scope)
    jitted = cuda.jit("void(float32[:])")(scope["kernel"])
    (overload,) = jitted.overloads.values()
    sms = cuda.get_current_device().MULTIPROCESSOR_COUNT
    return Kernel(
        overload.regs_per_thread,
        overload.shared_mem_per_block,
        lambda threads, shared: overload.max_cooperative_grid_blocks(threads, shared) // sms,
    )


def cupy_kernel(live: int) -> Kernel:
    source = f"""extern "C" __global__ void kernel(float* x, int rounds) {{
      __shared__ float shared[{STATIC_BYTES // 4}];
      float v[{live}];
      #pragma unroll
      for (int i = 0; i < {live}; ++i) v[i] = x[i];
      for (int round = 0; round < rounds; ++round) {{
        #pragma unroll
        for (int i = 0; i < {live}; ++i) v[i] = v[i] * v[(i + 1) % {live}] + x[round];
      }}
      float sum = 0;
      #pragma unroll
      for (int i = 0; i < {live}; ++i) sum += v[i];
      shared[threadIdx.x % {STATIC_BYTES // 4}] = sum;
      __syncthreads();
      x[threadIdx.x] = shared[0];
    }}"""
    compiled = cupy.RawKernel(source, "kernel")
    function = compiled.kernel
    return Kernel(
        compiled.num_regs,
        compiled.shared_size_bytes,
        lambda threads, shared: cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function.ptr, threads, shared
        ),
    )


def launches(kernels: list[Kernel]) -> Iterator[tuple[dict, int]]:
    """What the calculator is asked, and what the library answers."""
    draw = random.Random(1)
    major, minor = cuda.get_current_device().compute_capability
    for _ in range(LAUNCHES):
        kernel = draw.choice(kernels)
        threads = draw.randrange(1, 1025)
        shared = draw.randrange(0, MOST_SHARED_BYTES - kernel.static_shared_bytes)
        asked = {
            "compute_capability": f"{major}.{minor}",
            "block_threads": threads,
            "registers_per_thread": kernel.registers_per_thread,
            "static_shared_bytes": kernel.static_shared_bytes,
            "dynamic_shared_bytes": shared,
        }
        yield asked, kernel.blocks_per_sm(threads, shared)


def calculated(asked: list[dict]) -> list[int]:
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        writer = csv.DictWriter(file, asked[0])
        writer.writeheader()
        writer.writerows(asked)
        file.flush()
        command = [OCCBENCH, "calc", "--batch", file.name, "--format", "csv"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(row["blocks_per_sm"]) for row in csv.DictReader(done.stdout.splitlines())]


def compare(library: str, make: Callable[[int], Kernel]) -> int:
    kernels = [make(live) for live in LIVE_VALUES]
    asked, answers = zip(*launches(kernels), strict=True)
    pairs = list(zip(asked, calculated(list(asked)), answers, strict=True))
    different = [pair for pair in pairs if pair[1] != pair[2]]
    registers = sorted({kernel.registers_per_thread for kernel in kernels})
    print(
        f"{library}: {len(pairs) - len(different)} of {len(pairs)} launches agree; "
        f"{len(registers)} register counts from {registers[0]} to {registers[-1]}"
    )
    for launch, ours, theirs in different[:5]:
        print(f"  occbench {ours}, {library} {theirs} blocks per SM: {launch}")
    return len(different)


if __name__ == "__main__":
    raise SystemExit(1 if compare("numba", numba_kernel) + compare("CuPy", cupy_kernel) else 0)
