"""thread_zero_sum.py without the atomic: one line differs, and most blocks' sums get lost."""

from needed import THREADS, cuda, np, report


@cuda.jit
def sum_racing(a, s):
    shared_staging = cuda.shared.array(shape=THREADS, dtype=np.float32)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    shared_staging[cuda.threadIdx.x] = a[i] if i < a.size else 0
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        local_sum = np.float32(0)
        for thread in range(cuda.blockDim.x):
            local_sum += shared_staging[thread]
        s[0] = s[0] + local_sum  # thread_zero_sum.py: cuda.atomic.add(s, 0, local_sum)


report(sum_racing)
