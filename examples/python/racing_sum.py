"""The same sum without an atomic: threads read and write one value at the same time, and most additions get lost."""

from needed import cuda, report


@cuda.jit
def add_racing(values, total):
    i = cuda.grid(1)
    if i < values.size:
        total[0] = total[0] + values[i]


report(add_racing)
