"""occbench.usage of kernels of Triton, CuPy, numba and an extension of PyTorch, against the driver's own attributes.

usage: python usage.py FILE.json [NAME...], in an environment that has the wheel of occbench and those packages
"""

import ctypes
import glob
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import occbench

cuda = ctypes.CDLL("libcuda.so.1")
REGISTERS, SHARED = 4, 1


def driver(handle):
    """Registers a thread and static shared bytes of a CUfunction, or of a CUkernel (cuda.core), which is none."""

    def attribute(which):
        value = ctypes.c_int()
        asked = ctypes.byref(value), which, ctypes.c_void_p(int(getattr(handle, "value", handle)))
        if type(handle).__name__ == "CUkernel":
            status = cuda.cuKernelGetAttribute(*asked, 0)  # of the first device
        else:
            status = cuda.cuFuncGetAttribute(*asked)
        assert status == 0, f"the driver gives {status} for {handle!r}"
        return value.value

    return {"registers": attribute(REGISTERS), "static_smem": attribute(SHARED)}


results = {}


def check(name, function):
    try:
        used, says, more = function()
        same = all(used[key] == says[key] for key in says)
        theory = occbench.calc(**used, block_size=more.pop("block_size", 256))
        results[name] = {"usage": used, "driver": says, "same": same, "theory": str(theory), **more}
    except Exception as error:
        results[name] = {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()[-1500:]}
    print(name, json.dumps(results[name]), flush=True)


def of_triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c, n: tl.constexpr):
        i = tl.arange(0, n)
        x = tl.load(a + i[:, None] * n + i[None, :])
        y = tl.load(b + i[:, None] * n + i[None, :])
        tl.store(c + i[:, None] * n + i[None, :], tl.dot(x, y))

    a = torch.rand(64, 64, device="cuda", dtype=torch.float16)
    c = torch.empty(64, 64, device="cuda", dtype=torch.float32)
    compiled = product[(1,)](a, a, c, 64, num_warps=4)
    used = occbench.usage(compiled)
    assert occbench.usage(product) == used
    more = {"block_size": compiled.metadata.num_warps * 32, "shared": compiled.metadata.shared}
    return used, driver(compiled.function), more


def of_cupy():
    import cupy

    kernel = cupy.RawKernel(
        r"""extern "C" __global__ void sums(const float* a, float* b) {
      __shared__ float s[512]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads();
      float x = 0; for (int i = 0; i < 16; ++i) x += s[(threadIdx.x * 7 + i) % 512]; b[threadIdx.x] = x; }""",
        "sums",
    )
    kernel((1,), (512,), (cupy.zeros(512, cupy.float32), cupy.zeros(512, cupy.float32)))
    return occbench.usage(kernel), driver(kernel.kernel.ptr), {"block_size": 512}


def of_numba():
    import numpy as np

    if not hasattr(np, "row_stack"):  # NumPy 2.5 has none, and some numba asks for it
        np.row_stack = np.vstack
    import numba
    from numba import cuda as nb

    @nb.jit
    def sums(a, b):
        s = nb.shared.array(256, numba.float32)
        i = nb.threadIdx.x
        s[i] = a[i]
        nb.syncthreads()
        b[i] = s[255 - i] * s[i]

    try:
        occbench.usage(sums)
        raise AssertionError("not compiled yet, and no error")
    except ValueError as error:
        refused = str(error)
    a = nb.to_device(np.zeros(256, np.float32))
    sums[1, 256](a, nb.device_array_like(a))
    compiled = next(iter(sums.overloads.values()))
    handle = compiled._codelibrary.get_cufunc().handle
    return occbench.usage(sums), driver(handle), {"block_size": 256, "refused_before": refused}


EXTENSION = r"""#include <cstdint>
__global__ void scale_kernel(float* data, int64_t n) {
  __shared__ float s[256];
  const int64_t i = blockIdx.x * 256ll + threadIdx.x;
  s[threadIdx.x] = i < n ? data[i] : 0.f;
  __syncthreads();
  if (i < n) data[i] = s[255 - threadIdx.x] * 2.f;
}
void scale(int64_t data, int64_t n) { scale_kernel<<<(n + 255) / 256, 256>>>(reinterpret_cast<float*>(data), n); }"""


def of_extension():
    import torch
    from torch.utils.cpp_extension import load_inline

    major, minor = torch.cuda.get_device_capability()
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"
    torch.zeros(1, device="cuda")
    module = load_inline(
        name="occ_extension",
        functions=["scale"],
        cpp_sources="#include <cstdint>\nvoid scale(int64_t data, int64_t n);",
        cuda_sources=EXTENSION,
    )
    used = occbench.usage(module, "scale_kernel")
    file = module.__file__
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cuobjdump", "-xelf", "all", file], cwd=folder, check=True, capture_output=True)
        for cubin in glob.glob(folder + "/*.cubin"):
            loaded = ctypes.c_void_p()
            if cuda.cuModuleLoad(ctypes.byref(loaded), cubin.encode()) != 0:
                continue
            elf = subprocess.run(["cuobjdump", "-elf", cubin], capture_output=True, text=True).stdout
            name = next((word for word in elf.split() if word.startswith("_Z") and "scale_kernel" in word), None)
            function = ctypes.c_void_p()
            if name and cuda.cuModuleGetFunction(ctypes.byref(function), loaded, name.encode()) == 0:
                return used, driver(function.value), {"symbol": name}
    raise RuntimeError("no cubin with scale_kernel")


for name, function in {"triton": of_triton, "cupy": of_cupy, "numba": of_numba, "extension": of_extension}.items():
    if len(sys.argv) == 2 or name in sys.argv[2:]:
        check(name, function)
Path(sys.argv[1]).write_text(json.dumps(results, indent=1))
