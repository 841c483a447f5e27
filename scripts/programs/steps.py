"""Training steps of a two-layer network of 1,024 units in PyTorch, as many at a time as each line of standard input says.

`steps.py BATCH` answers each line with the seconds that they took and the loss of the last.
"""

import sys
import time

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
inputs, targets = (torch.randn(int(sys.argv[1]), 1024, device="cuda") for _ in range(2))
loss = torch.tensor(0)


def step() -> torch.Tensor:
    optimizer.zero_grad()
    error = torch.nn.functional.mse_loss(net(inputs), targets)
    error.backward()
    optimizer.step()
    return error


for line in sys.stdin:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(int(line)):
        loss = step()
    torch.cuda.synchronize()
    print(f"{time.perf_counter() - begin:.6f} {loss.item():.9g}", flush=True)
