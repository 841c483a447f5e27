"""JAX: gradients of a small network and reductions, jitted.

`jax_gradient.py N` makes N steps, which XLA launches as CUDA graphs, its command buffers; `jax_gradient.py ungraphed N` launches
their kernels one by one.
"""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if "ungraphed" in sys.argv:
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_command_buffer=")

import jax
import jax.numpy as jnp


def loss(weights, inputs):
    first, second = weights
    hidden = jax.nn.gelu(inputs @ first)
    normal = (hidden - hidden.mean(1, keepdims=True)) / (hidden.std(1, keepdims=True) + 1e-5)
    return jnp.mean(jax.nn.logsumexp(normal @ second, axis=1))


@jax.jit
def step(weights, inputs):
    value, gradient = jax.value_and_grad(loss)(weights, inputs)
    return value, [weight - 0.1 * change for weight, change in zip(weights, gradient, strict=True)]


@jax.jit
def others(values):
    return jnp.sort(values)[100], jnp.cumsum(values)[-1], jnp.linalg.norm(values.reshape(512, 512), axis=1).max()


first, second = jax.random.split(jax.random.key(0))
weights = [0.05 * jax.random.normal(first, (1024, 2048)), 0.05 * jax.random.normal(second, (2048, 1000))]
inputs = jnp.sin(jnp.arange(256 * 1024, dtype=jnp.float32)).reshape(256, 1024)
for _ in range(int(sys.argv[-1])):
    value, weights = step(weights, inputs)
    results = others(inputs.reshape(-1))
print("jax", *(f"{float(each):.5g}" for each in (value, weights[0].sum(), *results)))
