"""A graph network: GCN and GAT on 200,000 nodes and two million random edges, 25 steps."""

import sys
import time

import torch
from torch_geometric.nn import GATConv, GCNConv

torch.manual_seed(0)
cuda = torch.device("cuda")
nodes, edges = 200_000, 2_000_000
index = torch.randint(0, nodes, (2, edges), device=cuda)
x = torch.randn(nodes, 64, device=cuda)
y = torch.randint(0, 16, (nodes,), device=cuda)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = GCNConv(64, 64), GATConv(64, 16, heads=4), GCNConv(64, 16)

    def forward(self, x):
        x = torch.relu(self.a(x, index))
        x = torch.nn.functional.elu(self.b(x, index))
        return self.c(x, index)


net = Net().to(cuda)
adam = torch.optim.Adam(net.parameters(), lr=0.01)
begin = time.perf_counter()
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 25):
    adam.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    adam.step()
torch.cuda.synchronize()
print(f"gnn loss {loss.item():.5f} seconds {time.perf_counter() - begin:.3f}")
