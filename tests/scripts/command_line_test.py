"""The command line of occbench_tools, and what the package and the scripts need."""

import ast
import os
import subprocess
import sys
import tomllib
import unittest
from importlib.metadata import packages_distributions
from pathlib import Path

import made_up
from occbench_tools.__main__ import COMMANDS

SCRIPTS = made_up.ROOT / "scripts"
PACKAGE = SCRIPTS / "occbench_tools"


def start(*arguments):
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, "-m", "occbench_tools", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


class CommandLine(unittest.TestCase):
    def test_every_command_is_listed_and_says_what_it_is_for(self):
        listed = start("--help")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for name in COMMANDS:
            with self.subTest(name):
                self.assertIn(f"\n    {name}", listed.stdout)
                done = start(name, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"(?s)^usage: .+?\n\n\S.{30}")

    def test_an_argument_or_command_that_there_is_not_is_wrong_use(self):
        for arguments in (["figures", "--chekc"], ["figurse"], []):
            done = start(*arguments)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("--help lists", done.stderr)

    def test_a_file_that_is_not_there_is_wrong_input_without_a_traceback(self):
        folder = Path(made_up.OCCBENCH.program).parent
        done = start("repeatability", "none.csv", "none.csv", "--binaries", folder)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertEqual(done.stderr, "occbench: none.csv is not there, nor packed as .gz or .xz\n")

    def test_figures_without_bench_binaries_say_what_to_build(self):
        done = start("figures", "--check", "--binaries", PACKAGE)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertRegex(done.stderr, "no bench binaries.*build them")


class Dependencies(unittest.TestCase):
    def test_every_package_that_is_imported_is_declared_and_locked(self):
        distributions = packages_distributions()
        imported = set()
        for file in PACKAGE.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {name.name for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    imported.add(node.module)
        roots = {name.split(".")[0] for name in imported} - sys.stdlib_module_names - {"occbench_tools"}
        needed = {distributions[root][0].lower().replace("_", "-") for root in roots}
        declared = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
        self.assertEqual(needed, set(declared))
        self.assertLessEqual(needed, set((SCRIPTS / "requirements.in").read_text(encoding="utf-8").split()))
        lock = (SCRIPTS / "requirements.lock").read_text(encoding="utf-8")
        self.assertLessEqual(needed, {line.split("==")[0] for line in lock.splitlines()})

    def test_every_folder_of_the_package_is_installed(self):
        declared = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
        folders = {".".join(file.relative_to(SCRIPTS).parent.parts) for file in PACKAGE.rglob("__init__.py")}
        self.assertEqual(set(declared["packages"]), folders)
        data = {file.name for file in (PACKAGE / "report").iterdir() if file.suffix not in (".py", "")}
        self.assertEqual(set(declared["package-data"]["occbench_tools.report"]), data)


if __name__ == "__main__":
    unittest.main()
