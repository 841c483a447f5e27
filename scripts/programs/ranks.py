"""PyTorch on several GPUs: training steps of two layers, gradients averaged by NCCL. `torchrun --nproc-per-node 2 ranks.py N`."""

import os
import sys

import torch

torch.distributed.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.manual_seed(0)
layers = torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 2048)).cuda()
net = torch.nn.parallel.DistributedDataParallel(layers, device_ids=[rank])
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
inputs, targets = (torch.randn(1024, 2048, device="cuda") for _ in range(2))
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    error = torch.nn.functional.mse_loss(net(inputs), targets)
    error.backward()
    optimizer.step()
print(f"rank {rank} {error.item():.6g}")
torch.distributed.destroy_process_group()
