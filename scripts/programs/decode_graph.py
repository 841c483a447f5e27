"""Tokens of a Llama of random weights (Transformers), each step a replay of one CUDA graph. `decode_graph.py N` makes 64 tokens N times (100).

Without graphs the processor launches some 380 short kernels for a token, which takes longer than the kernels do. A graph reads and
writes the same memory each time: the words, how many there are, and the keys and values of earlier ones (StaticCache) stay in place.
NVTX ranges: prefill, decode.
"""

import inspect
import sys
import time

import torch

PROMPT, TOKENS = 32, 64
cuda = torch.device("cuda")


def language_model():
    """The model, and a prompt."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=16, max_position_embeddings=2048,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval().to(cuda).half(), torch.randint(0, 32000, (1, PROMPT), device=cuda)


def static_cache(config):
    """Of PROMPT + TOKENS words; older versions of Transformers have to be told more."""
    from transformers import StaticCache

    size = {"config": config, "max_cache_len": PROMPT + TOKENS}
    try:
        return StaticCache(**size, max_batch_size=1, device=cuda, dtype=torch.half)
    except TypeError:
        return StaticCache(**size)


class Decoder:
    """Makes the likeliest tokens, in place."""

    def __init__(self):
        self.model, self.prompt = language_model()
        self.cache = static_cache(self.model.config)
        self.places = torch.arange(PROMPT + TOKENS, device=cuda)
        self.words = torch.zeros((1, PROMPT + TOKENS), dtype=torch.long, device=cuda)
        self.last = torch.zeros(1, dtype=torch.long, device=cuda)  # the place of the last word
        # Versions of Transformers differ in the cache's name, and in whether it counts its words itself.
        self.takes = inspect.signature(self.model.forward).parameters

    def next_word(self, words, places):
        later = self.places > places[:, None]
        mask = torch.zeros(later.shape, dtype=torch.half, device=cuda).masked_fill_(later, float("-inf"))
        cache = {"cache" if "cache" in self.takes else "past_key_values": self.cache}
        if "cache_position" in self.takes:
            cache["cache_position"] = places
        said = self.model(words, attention_mask=mask[None, None], position_ids=places[None], use_cache=True, **cache)
        return said.logits[:, -1].argmax(-1, keepdim=True)

    @torch.no_grad()
    def prefill(self):
        """Reads the prompt and makes the first token."""
        self.cache.reset()
        self.words[:, :PROMPT] = self.prompt
        self.words[:, PROMPT : PROMPT + 1] = self.next_word(self.prompt, self.places[:PROMPT])
        self.last.fill_(PROMPT)

    @torch.no_grad()
    def step(self):
        """Makes one more token."""
        word = self.next_word(self.words.index_select(1, self.last), self.last)
        self.last.add_(1)
        self.words.index_copy_(1, self.last, word)


def captured(call):
    """The call as a CUDA graph, and what it returns."""
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        result = call()
    return graph, result


def main():
    torch.manual_seed(0)
    decoder = Decoder()
    decoder.prefill()
    graph, _ = captured(decoder.step)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for _ in range(rounds):
        with torch.cuda.nvtx.range("prefill"):
            decoder.prefill()
        with torch.cuda.nvtx.range("decode"):
            for _ in range(TOKENS - 1):
                graph.replay()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    weights = torch.arange(1, TOKENS + 1, device=cuda)  # the order counts
    print(f"decode_graph {(decoder.words[0, PROMPT:] * weights).sum().item()}")
    print(f"{rounds * TOKENS / seconds:.0f} tokens/s")


if __name__ == "__main__":
    main()
