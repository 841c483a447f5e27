"""PyTorch, inference: an encoder layer, convolutions and reductions. `inference.py N` runs them N times."""

import sys

import torch

torch.manual_seed(0)
cuda = torch.device("cuda")
encoder = torch.nn.TransformerEncoderLayer(512, 8, batch_first=True).to(cuda).half().eval()
convolutions = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 7, stride=2), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(64, 128, 3), torch.nn.GELU(), torch.nn.Conv2d(128, 128, 1), torch.nn.AdaptiveAvgPool2d(1),
).to(cuda).eval()  # fmt: skip
words = torch.randn(16, 300, 512, device=cuda, dtype=torch.half)
images = torch.randn(16, 3, 224, 224, device=cuda)
values = torch.randn(1 << 20, device=cuda)
table = torch.randn(30000, 256, device=cuda)
picks = torch.randint(0, 30000, (4096,), device=cuda)

for _ in range(int(sys.argv[1])):
    with torch.no_grad():
        sums = [
            encoder(words).float().sum(),
            convolutions(images).sum(),
            values.sort().values[1000],
            torch.softmax(values.view(1024, 1024), 1).max(),
            torch.cumsum(values.round(), 0)[
                -1
            ],  # a scan may add in another order, which changes no sum of whole numbers
            torch.topk(values, 50).values.sum(),
            torch.nn.functional.layer_norm(values.view(-1, 256), [256]).abs().sum(),
            table[picks].sum(),
            (values.view(1024, 1024) @ values.view(1024, 1024)).diagonal().sum(),
            values.view(512, 2048).transpose(0, 1).contiguous()[5].sum(),
            (values.double() * 2).std(),
            torch.fft.rfft(values).abs().max(),
        ]
torch.cuda.synchronize()
print("inference", *(f"{value.item():.6g}" for value in sums))
