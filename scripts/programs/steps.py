"""1,000 training steps of a two-layer network of 1,024 units in PyTorch, and how long they take: steps.py BATCH..."""

import sys
import time

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def steps(count: int, batch: int) -> tuple[float, float]:
    inputs = torch.randn(batch, 1024, device="cuda")
    targets = torch.randn(batch, 1024, device="cuda")
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(inputs), targets)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return loss.item(), time.perf_counter() - begin


for batch in map(int, sys.argv[1:]):
    steps(1, batch)  # libraries are loaded
    loss, seconds = steps(1000, batch)
    print(f"steps of {batch} {loss:.9g}")
    print(f"seconds of {batch} {seconds:.4f}")
