"""What the sources must keep: few files, and general modules that know no kernel of the suite."""

import re
import unittest
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


if __name__ == "__main__":
    unittest.main()
