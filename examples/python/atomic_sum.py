"""The sum of an array: every thread adds its value by an atomic."""

from needed import cuda, report


@cuda.jit
def add_atomically(values, total):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, 0, values[i])


report(add_atomically)
