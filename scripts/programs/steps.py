"""1,000 training steps of a two-layer network of 1,024 units in PyTorch, and how long they take."""

import time

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
inputs = torch.randn(256, 1024, device="cuda")
targets = torch.randn(256, 1024, device="cuda")


def steps(count: int) -> tuple[float, float]:
    begin = time.perf_counter()
    for _ in range(count):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(inputs), targets)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return loss.item(), time.perf_counter() - begin


steps(1)  # libraries are loaded
loss, seconds = steps(1000)
loss, again = steps(1000)
print(f"steps {loss:.9g}")
print(f"seconds {seconds:.4f} {again:.4f}")
