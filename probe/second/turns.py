"""Loops of one kind, one for each line of standard input; answers with seconds and a sum. turns.py KIND"""

import sys
import time

import torch

kind = sys.argv[1]
torch.manual_seed(0)
cuda = torch.device("cuda")
if kind in ("tokens", "tokens_graph"):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=16,
        max_position_embeddings=2048,
    )
    model = LlamaForCausalLM(config).eval().to(cuda).half()
    words = torch.randint(0, 32000, (1, 32), device=cuda)
    if kind == "tokens":

        def loop():
            with torch.no_grad():
                return model.generate(
                    words, max_new_tokens=64, min_new_tokens=64, do_sample=False, pad_token_id=0
                ).sum()
    else:
        side = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(side):
            for _ in range(3):
                model(words, use_cache=False)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            out = model(words, use_cache=False).logits

        def loop():
            for _ in range(300):
                graph.replay()
            return out.float().sum()
elif kind == "steps":
    net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    inputs, targets = (torch.randn(256, 1024, device="cuda") for _ in range(2))

    def loop():
        for _ in range(700):
            optimizer.zero_grad()
            error = torch.nn.functional.mse_loss(net(inputs), targets)
            error.backward()
            optimizer.step()
        return error
else:
    from torch_geometric.nn import GATConv, GCNConv

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

    def loop():
        for _ in range(15):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            adam.step()
        return loss


print("ready", flush=True)
for line in sys.stdin:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    value = loop()
    torch.cuda.synchronize()
    print(time.perf_counter() - begin, value.item(), flush=True)
