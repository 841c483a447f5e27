"""PyTorch, training steps: convolutions, an LSTM and a classifier with AdamW. `training.py N` makes N steps.

`training.py N TRACE.json.gz` makes one of them under torch.profiler and writes what it saw.
"""

import contextlib
import sys

import torch

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
cuda = torch.device("cuda")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.images = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(32, 64, 3),
            torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(),
        )  # fmt: skip
        self.sequence = torch.nn.LSTM(128, 256, batch_first=True)
        self.classes = torch.nn.Sequential(
            torch.nn.Linear(1280, 1024), torch.nn.GELU(), torch.nn.LayerNorm(1024), torch.nn.Linear(1024, 1000)
        )

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        last = self.sequence(words)[0][:, -1]
        return self.classes(torch.cat([self.images(images), last], 1))


net = Net().to(cuda)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
images = torch.randn(64, 3, 96, 96, device=cuda)
words = torch.randn(64, 20, 128, device=cuda)
labels = torch.randint(0, 1000, (64,), device=cuda)


def step() -> torch.Tensor:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(images, words), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss


for _ in range(int(sys.argv[1]) - 1):
    step()
torch.cuda.synchronize()
with torch.profiler.profile() if len(sys.argv) > 2 else contextlib.nullcontext() as profile:
    loss = step()
    torch.cuda.synchronize()
if profile:
    profile.export_chrome_trace(sys.argv[2])
print(f"training {loss.item():.6g}")
