"""The same sum by blocks: cuda.coop's block reduction (CUB's BlockReduce), then one atomic for each block."""

from needed import THREADS, cuda, np, report, stop

try:
    from cuda import coop  # the package cuda, not numba's
except ImportError:
    stop("cuda.coop is not there; pip install --require-hashes -r requirements.lock has it")

block_sum = coop.block.sum(np.float32, THREADS)


@cuda.jit(link=block_sum.files)
def add_by_block(values, total):
    i = cuda.grid(1)
    value = values[i] if i < values.size else np.float32(0)
    of_block = block_sum(value)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, of_block)


report(add_by_block)
