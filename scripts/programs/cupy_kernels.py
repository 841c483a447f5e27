"""CuPy: sort, sums, products, a scan and a kernel of its own. `cupy_kernels.py N` runs them N times."""

import sys

import cupy

SOURCE = r"""
extern "C" __global__ void triangle(const float* x, float* sums, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= width) return;
  float sum = 0;
  for (int column = 0; column <= row; ++column) sum += x[row * width + column];
  sums[row] = sum;
}
"""
triangle = cupy.RawKernel(SOURCE, "triangle")
values = cupy.sin(cupy.arange(1 << 20, dtype=cupy.float32))
square = values.reshape(1024, 1024)
sums = cupy.empty(1024, dtype=cupy.float32)
for _ in range(int(sys.argv[1])):
    triangle((8,), (128,), (square, sums, 1024))
    results = [
        cupy.sort(values)[5],
        (values * 2 + 1).sum(),
        cupy.cumsum(values)[-1],
        (square @ square).trace(),
        cupy.argmax(values),
        cupy.var(square, axis=0).max(),
        cupy.bincount(cupy.abs(values * 100).astype(cupy.int32)).max(),
        sums.sum(),
        cupy.transpose(square).copy()[3, 4],
        cupy.fft.fft(values[: 1 << 16]).real.max(),
    ]
print("cupy", *(f"{float(value):.6g}" for value in results))
