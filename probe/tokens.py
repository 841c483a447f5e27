"""Tokens of a Llama of 8 layers, 1,024 wide, random weights, eager, 64 tokens; waits for its turn before it uses the GPU."""

import fcntl
import os
import sys
import time

begin = time.perf_counter()
import torch
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
torch.manual_seed(0)
model = LlamaForCausalLM(config).eval()
imported = time.perf_counter()
open(os.environ.get("READY", "/tmp/occ_ready"), "a").write("x")
while not os.path.exists(os.environ.get("GO", "/tmp/occ_go")):
    time.sleep(0.05)
turn = open(os.environ.get("TURN", "/tmp/occ_turn"), "a")
fcntl.flock(turn, fcntl.LOCK_EX)
start = time.perf_counter()
model = model.to("cuda").half()
words = torch.randint(0, 32000, (1, 32), device="cuda")
torch.cuda.synchronize()
ready = time.perf_counter()
times = []
with torch.no_grad():
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        t = time.perf_counter()
        out = model.generate(words, max_new_tokens=64, min_new_tokens=64, do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - t)
print(
    f"TOKENS {os.environ.get('LABEL', 'alone')}: set-up {ready - start:.2f} s, loops {' '.join(f'{t:.3f}' for t in times)} s, sum {int(out.sum())}",
    flush=True,
)
