"""The examples in Python say what is missing where they cannot run, and sum where they can."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
SUMS = ("atomic_sum", "racing_sum", "thread_zero_sum", "thread_zero_racing", "block_sum")
HAS_NUMBA = importlib.util.find_spec("numba") is not None


def run(name, *arguments, **environment):
    return subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


class Examples(unittest.TestCase):
    def test_what_is_missing_is_named(self):
        for name in (*SUMS, "occupancy_functions"):
            done = run(name)
            if done.returncode == 0:
                continue
            with self.subTest(name):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, "requirements.lock has it|finds no GPU")
                self.assertNotIn("Traceback", done.stderr)

    def test_each_sum_is_a_kernel_of_some_twenty_lines(self):
        for name in SUMS:
            lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
            self.assertLessEqual(len([line for line in lines if line.strip()]), 25, name)

    def test_the_race_differs_from_the_sum_by_one_line_of_its_kernel(self):
        kernels = [
            [line.partition("#")[0] for line in (EXAMPLES / f"thread_zero_{name}.py").read_text().splitlines()[6:-3]]
            for name in ("sum", "racing")
        ]
        self.assertEqual(sum(one != other for one, other in zip(*kernels, strict=True)), 2)  # its name, and that line

    if HAS_NUMBA:

        def test_atomics_lose_nothing_in_the_simulator(self):
            for name in ("atomic_sum", "thread_zero_sum"):
                done = run(name, "1000", NUMBA_ENABLE_CUDASIM="1")
                self.assertEqual(re.findall(r"sum (\d+) of 1000", done.stdout), ["1000"] * 3, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
