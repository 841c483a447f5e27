"""The tables of advice that was tried on a GPU: what `explain` said of the asked launch beside what was measured."""

import tempfile
import unittest
from pathlib import Path

from made_up import OCCBENCH, write
from occbench_tools.dataset import Results
from occbench_tools.figures.advice import BLOCKS

# 512 threads and 33 registers: three of four blocks fit. In whole waves of both.
ASKED = {
    "schema": 2,
    "experiment": "advice",
    "gpu": "NVIDIA H200",
    "driver": "580.159.04",
    "compute_capability": "9.0",
    "sm_count": 132,
    "kernel": "live_registers",
    "block_threads": 512,
    "grid_blocks": 1584,
    "registers_per_thread": 33,
    "theoretical_pct": 75,
    "achieved_pct": 75,
    "achieved_elapsed_pct": 75,
    "issue_active_pct": 20,
    "dram_busy_pct": 5,
    "fp32_pipe_pct": 10,
    "time_us": 400,
    "throughput": 1000,
    "throughput_unit": "warp-cycles/s",
}


def pair(question: str, saved_pct: float, **asked) -> list[dict]:
    parameters = f"question={question};change=registers_per_thread:33:32;launch="
    before = ASKED | asked | {"case": f"{question}/asked", "parameters": parameters + "asked", "variant": question}
    after = before | {
        "case": f"{question}/advised",
        "parameters": parameters + "advised",
        "registers_per_thread": 32,
        "theoretical_pct": 100,
        "achieved_pct": 100,
        "throughput": 1000 / (1 - saved_pct / 100),
    }
    return [before, after]


def printed(rows: list[dict]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "advice.csv", rows)
        return BLOCKS["advice: theory"](Results(Path(folder), OCCBENCH))


class Advice(unittest.TestCase):
    def test_about_theory_stands_beside_what_it_saved(self):
        text = printed(pair("latency", 24) + pair("throughput", -10, issue_active_pct=95))
        latency = next(line for line in text.splitlines() if "latency" in line)
        self.assertIn("| registers_per_thread 33 → 32 | 75 → 100 | 75.0 → 100.0 |", latency)
        self.assertIn("| At most 0.1 of 0.4 ms per launch | 24.0 % |", latency)
        throughput = next(line for line in text.splitlines() if "throughput" in line)
        self.assertIn("| None expected: issue_active_pct is 95 % | -10.0 % |", throughput)
        self.assertIn("In 2 of 2 pairs no more was saved than was said", text)
        self.assertIn("Where none was expected, -10.0 to -10.0 % was.", text)

    def test_that_saves_more_than_was_said_is_counted(self):
        self.assertIn("In 0 of 1 pairs no more was saved than was said", printed(pair("latency", 40)))


if __name__ == "__main__":
    unittest.main()
