"""Loops of one kind in PyTorch, one for each line of standard input; answers with its seconds and a value. `loops.py KIND [WORD...]`

tokens: 64 tokens of a Llama of random weights (Transformers); tokens_graph: 16 times 64 of its tokens, each step a CUDA graph
(decode_graph.py); steps: 700 training steps of two layers, of 256 inputs, answered with the loss of the last;
graph: 64 kernels of 1 to 4 us as a CUDA graph; network: training steps of a graph network (PyTorch Geometric); attention, convolutions,
lstm: forward and backward; factors: small Cholesky factors; reductions, sort, sparse: of one matrix or list each. With "ungraphed"
what would be a graph is launched one by one, less often, so that its kernels can be counted; with "short" a loop is a tenth
as long; with "pinned" the thread that launches stays on one processor.
"""

import os
import sys
import time

import torch
from decode_graph import TOKENS, Decoder, captured, language_model

kind = sys.argv[1]
share = 0.1 if "short" in sys.argv else 1.0
torch.manual_seed(0)
cuda = torch.device("cuda")


def ungraphed(call, count):
    def loop():
        with torch.no_grad():
            for _ in range(count):
                result = call()
        return result.float().sum()

    return loop


def replays(call, most):
    count = round(share * most)
    if "ungraphed" in sys.argv:
        return ungraphed(call, count // 10)
    graph, result = captured(call)

    def loop():
        for _ in range(count):
            graph.replay()
        return result.float().sum()

    return loop


def tokens():
    model, words = language_model()
    count = {"max_new_tokens": round(share * 64), "min_new_tokens": round(share * 64)}

    def loop():
        with torch.no_grad():
            return model.generate(words, **count, do_sample=False, pad_token_id=0).sum()

    return loop


def tokens_graph():
    decoder = Decoder()
    decoder.prefill()
    plain = "ungraphed" in sys.argv
    step = decoder.step if plain else captured(decoder.step)[0].replay

    def loop():
        for _ in range(max(1, round(share * (2 if plain else 16)))):
            decoder.prefill()
            for _ in range(TOKENS - 1):
                step()
        return decoder.words.sum()

    return loop


def graph():
    sizes = [(64 + 61 * i) << (10 if i % 4 else 6) for i in range(64)]
    values = [torch.randn(size, device=cuda) for size in sizes]

    def call():
        for i, value in enumerate(values):
            (value.sin_, value.cos_, value.tanh_, value.sigmoid_)[i % 4]()
        return values[0]

    return replays(call, 2000)


def steps():
    net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    inputs, targets = (torch.randn(256, 1024, device=cuda) for _ in range(2))

    def loop():
        for _ in range(round(share * 700)):
            optimizer.zero_grad()
            error = torch.nn.functional.mse_loss(net(inputs), targets)
            error.backward()
            optimizer.step()
        return error

    return loop


def network():
    from torch_geometric.nn import GATConv, GCNConv

    nodes, edges = 200_000, 2_000_000
    index = torch.randint(0, nodes, (2, edges), device=cuda)
    inputs = torch.randn(nodes, 64, device=cuda)
    labels = torch.randint(0, 16, (nodes,), device=cuda)
    first, second, third = GCNConv(64, 64).to(cuda), GATConv(64, 16, heads=4).to(cuda), GCNConv(64, 16).to(cuda)
    adam = torch.optim.Adam([*first.parameters(), *second.parameters(), *third.parameters()], lr=0.01)

    def loop():
        for _ in range(round(share * 15)):
            adam.zero_grad()
            hidden = torch.relu(first(inputs, index))
            hidden = torch.nn.functional.elu(second(hidden, index))
            loss = torch.nn.functional.cross_entropy(third(hidden, index), labels)
            loss.backward()
            adam.step()
        return loss

    return loop


def rounds(call, most):
    def loop():
        for _ in range(round(share * most)):
            result = call()
        return result.float().mean()

    return loop


def forward_and_backward(forward, most):
    def call():
        result = forward()
        result.sum().backward()
        return result.detach()

    return rounds(call, most)


def attention():
    shape = (4, 16, 2048, 64)
    inputs = [torch.randn(shape, device=cuda, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    attend = torch.nn.functional.scaled_dot_product_attention
    return forward_and_backward(lambda: attend(*inputs, is_causal=True), 1500)


def convolutions():
    first, second = torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.Conv2d(64, 64, 3, stride=2)
    net = torch.nn.Sequential(first, torch.nn.BatchNorm2d(64), torch.nn.ReLU(), second).to(cuda)
    inputs = torch.randn(32, 32, 128, 128, device=cuda)
    return forward_and_backward(lambda: net(inputs), 250)


def lstm():
    net, inputs = torch.nn.LSTM(256, 512, 2).to(cuda), torch.randn(64, 32, 256, device=cuda)
    return forward_and_backward(lambda: net(inputs)[0], 100)


def factors():
    values = torch.randn(64, 128, 128, device=cuda)
    positive = values @ values.mT + 128 * torch.eye(128, device=cuda)
    return rounds(lambda: torch.linalg.solve(torch.linalg.cholesky(positive), values), 500)


def reductions():
    values = torch.randn(8192, 8192, device=cuda)
    return rounds(
        lambda: values.topk(32).values.mean() + values.softmax(-1).std(0).sum() + values.logsumexp(1).sum(), 400
    )


def sort():
    values = torch.randint(0, 1 << 30, (4_000_000,), device=cuda)
    return rounds(lambda: values.sort()[0].cumsum(0), 1000)


def sparse():
    size = 200_000
    places = torch.randint(0, size, (2, 15 * size), device=cuda)
    matrix = (
        torch.sparse_coo_tensor(places, torch.randn(15 * size, device=cuda), (size, size)).coalesce().to_sparse_csr()
    )
    others = torch.randn(size, 32, device=cuda)
    return rounds(lambda: matrix @ others, 3000)


def products():
    """Of 4096 x 4096 matrices in three types, and their sum."""
    pairs = [
        [torch.randn(4096, 4096, device=cuda).to(kind) for _ in range(2)]
        for kind in (torch.bfloat16, torch.float32, torch.float64)
    ]

    def call():
        done = [left @ right for left, right in pairs]
        return done[0] + done[0]

    return rounds(call, 200)


KINDS = (
    products,
    tokens,
    tokens_graph,
    graph,
    steps,
    network,
    attention,
    convolutions,
    lstm,
    factors,
    reductions,
    sort,
    sparse,
)
loop = {each.__name__: each for each in KINDS}[kind]()
if "pinned" in sys.argv:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
print("ready", flush=True)
for _ in sys.stdin:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    value = loop()
    torch.cuda.synchronize()
    print(time.perf_counter() - begin, value.item(), flush=True)
