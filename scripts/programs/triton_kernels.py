"""Triton: an addition, a softmax and a product whose configuration Triton's tuner chooses. `triton_kernels.py N`."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(z + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(x, z, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * width + at, at < width, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(z + row * width + at, powers / tl.sum(powers, 0), at < width)


# One of them is several times as fast as the other.
CHOICES = [
    triton.Config({"ROWS": 16, "COLUMNS": 16, "STEP": 16}, num_warps=1),
    triton.Config({"ROWS": 128, "COLUMNS": 128, "STEP": 64}, num_warps=8),
]


@triton.autotune(configs=CHOICES, key=["size"])
@triton.jit
def product(x, y, z, size, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for begin in range(0, size, STEP):
        step = begin + tl.arange(0, STEP)
        left = tl.load(x + rows[:, None] * size + step[None, :])
        right = tl.load(y + step[:, None] * size + columns[None, :])
        total += tl.dot(left, right)
    tl.store(z + rows[:, None] * size + columns[None, :], total)


torch.manual_seed(0)
x = torch.randn(1024, 1024, device="cuda")
z = torch.empty_like(x)
halves = x.half()
for _ in range(int(sys.argv[1])):
    for block, warps in ((256, 4), (1024, 4), (1024, 8)):
        add[(triton.cdiv(x.numel(), block),)](x, x, z, x.numel(), BLOCK=block, num_warps=warps)
    added = z.sum().item()
    softmax[(1024,)](x, z, 1000, BLOCK=1024, num_warps=4)
    normalized = z.max().item()
    product[lambda chosen: (1024 // chosen["ROWS"], 1024 // chosen["COLUMNS"])](halves, halves, z, 1024)
    multiplied = z.diagonal().sum().item()
print(f"triton {added:.6g} {normalized:.6g} {multiplied:.6g} chose {product.best_config}")
