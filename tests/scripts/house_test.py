"""What the sources must keep: few files, a short smoke suite, and general modules that know no kernel of the suite."""

import csv
import re
import subprocess
import unittest
from collections import defaultdict
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_FILES = 320
GENERAL = ("record", "gate", "diagnose", "fleet")
KERNEL = re.compile(r'const Kernel k\w+\{"(\w+)"')
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def kernels() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "kernels").glob("*.c*"))
    return {name for source in sources for name in KERNEL.findall(source)}


class Sources(unittest.TestCase):
    def test_are_at_most_so_many_files(self):
        files = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
        self.assertLessEqual(len(files), MOST_FILES, "join a file with the one that uses it")

    def test_of_general_modules_name_no_kernel_of_the_suite(self):
        names = kernels()
        self.assertGreater(len(names), 15)
        causes = (ROOT / "src/diagnose/causes.inc").read_text(encoding="utf-8")
        names -= set(re.findall(r"OCC_CAUSE\((\w+),", causes))  # `atomics` is a cause too
        for module in GENERAL:
            for path in (ROOT / "src" / module).iterdir():
                for text in TEXT.findall(path.read_text(encoding="utf-8")):
                    if " " in text:
                        continue  # a sentence
                    self.assertFalse(names & set(re.findall(r"\w+", text)), f"{path}: {text}; declare it with the case")


class Durations(unittest.TestCase):
    def test_of_a_smoke_suite_as_recorded_is_at_most_15_seconds(self):
        times = defaultdict(list)
        with (ROOT / "results/nvidia-h200/two_gpus_alone.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                times[row["gpu_uuid"]].append(datetime.fromisoformat(row["recorded_at"]))
        self.assertTrue(times)
        for gpu, of in times.items():
            self.assertGreater(len(of), 50, gpu)
            self.assertLessEqual((max(of) - min(of)).total_seconds(), 15, f"from the first row to the last of {gpu}")


class Words(unittest.TestCase):
    """Those of former versions are in no file of the repository but recorded rows and inputs of fuzzers."""

    def test_that_were_replaced_are_gone(self):
        if not (ROOT / ".git").exists():
            self.skipTest("they are looked for by git, in a checkout")
        command = ["git", "grep", "--line-number", "--perl-regexp", "-e"]
        files = [".", ":!*.csv", ":!*.csv.gz", ":!tests/fuzz/corpus", ":!scripts/old_words.txt"]
        for line in (ROOT / "scripts/old_words.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            pattern, instead = line.split("\t")
            found = subprocess.run([*command, pattern, "--", *files], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(found.returncode, 1, f"{found.stdout}{found.stderr}these words are replaced: {instead}")


if __name__ == "__main__":
    unittest.main()
