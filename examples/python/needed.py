"""What the examples need; where it is missing, they say so and end with status 2."""

import sys


def stop(reason: str) -> None:
    print(f"{sys.argv[0]}: {reason}", file=sys.stderr)
    raise SystemExit(2)


try:
    import numpy as np
    from numba import cuda
except ModuleNotFoundError as missing:
    stop(f"the package {missing.name} is not there; pip install --require-hashes -r requirements.lock has it")

if not cuda.is_available():
    stop("numba finds no GPU and driver that it can use")

THREADS = 256
# A float counts ones exactly up to here.
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
BLOCKS = -(-COUNT // THREADS)


def report(add) -> None:
    """Adds ones by `add`, three times, and says how many of them the sum lacks."""
    values = cuda.to_device(np.ones(COUNT, dtype=np.float32))
    for _ in range(3):
        total = cuda.to_device(np.zeros(1, dtype=np.float32))
        add[BLOCKS, THREADS](values, total)
        found = total.copy_to_host()[0]
        print(f"sum {found:.0f} of {COUNT}: {100 * (1 - found / COUNT):.4f} % lost")
