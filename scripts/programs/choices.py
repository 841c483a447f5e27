"""Programs that time kernels to choose among them: `choices.py cudnn` and `choices.py xla`.

Each size is tuned and then run, so that a trace counts launches of one while the next is tuned. A line for each choice: its
name and what was chosen. cuDNN does not tell its choice: the digest of what it computed stands for it, for algorithms round
differently.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator

RUNS = 40


def chosen_by_cudnn() -> Iterator[tuple[str, str]]:
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = "heuristics" not in sys.argv
    for precision in (torch.half, torch.float):
        for channels, size, kernel, stride in ((16, 112, 3, 1), (64, 56, 3, 1), (64, 56, 1, 1), (128, 28, 5, 2)):
            convolution = torch.nn.Conv2d(channels, 2 * channels, kernel, stride).cuda().to(precision)
            images = torch.randn(16, channels, size, size, device="cuda", dtype=precision)
            with torch.no_grad():
                for _ in range(RUNS):
                    result = convolution(images)
            digest = hashlib.sha256(result.cpu().numpy().tobytes()).hexdigest()[:12]
            yield f"convolution {precision} {channels} {size} {kernel}".replace("torch.", ""), digest


def chosen_by_xla() -> Iterator[tuple[str, str]]:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    for precision in (jnp.bfloat16, jnp.float32):
        for rows, inner, columns in ((256, 1024, 2048), (2048, 512, 512), (64, 4096, 1000)):
            left = jnp.ones((rows, inner), precision)
            right = jnp.ones((inner, columns), precision)
            step = jax.jit(lambda left, right: jnp.tanh(left @ right).sum(axis=1))
            compiled = step.lower(left, right).compile()
            for _ in range(RUNS):
                compiled(left, right).block_until_ready()
            configurations = re.findall(r"backend_config=(\{.*\})", compiled.as_text())
            digest = hashlib.sha256("\n".join(configurations).encode()).hexdigest()[:12]
            yield f"product {precision.__name__} {rows} {inner} {columns}", digest


for choice, chosen in {"cudnn": chosen_by_cudnn, "xla": chosen_by_xla}[sys.argv[1]]():
    print(f"chose {choice}: {chosen}", flush=True)
