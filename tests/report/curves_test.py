"""The curves of a kernel as a picture by two commands, without a GPU."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

OCCBENCH = os.environ.get("OCCBENCH", "occbench")


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([OCCBENCH, *arguments], capture_output=True, text=True, check=False, **options)


class Curves(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        written = run("calc", "--curves", "--cc=9.0", "--registers=33", "--block-size=512", "--format=csv")
        self.assertEqual(written.returncode, 0, written.stderr)
        self.file = self.folder / "curves.csv"
        self.file.write_text(written.stdout, encoding="utf-8")

    def report(self, *arguments: str) -> subprocess.CompletedProcess:
        done = run("report", str(self.file), *arguments)
        if "Run " in done.stderr and "scripts/python" in done.stderr:
            self.skipTest(done.stderr)
        return done

    def test_are_drawn_by_two_commands(self):
        done = self.report(f"--pictures={self.folder}", "--picture-format=svg", "--chart=curves")
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = (self.folder / "curves.svg").read_text(encoding="utf-8")
        for title in ("threads per block", "registers per thread", "shared memory per block, B"):
            self.assertIn(title, picture)

    def test_say_what_the_next_step_down_is(self):
        done = self.report(f"--pictures={self.folder}", "--picture-format=json", "--chart=curves")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "curves.json").read_text(encoding="utf-8")
        self.assertIn("512 threads per block, 33 registers per thread and 0 B of shared memory", text)
        self.assertIn("75 % in theory", text)
        # 41 registers are allocated as 48: two blocks of 512 threads.
        self.assertIn("41 registers per thread give 50 %", text)

    def test_pass_the_gate_against_themselves(self):
        done = run("gate", str(self.file), str(self.file))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
