"""The command line of occbench_tools, and what the package and the scripts need."""

import ast
import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import made_up
from occbench_tools.__main__ import COMMANDS, main
from occbench_tools.compare_ncu import ACHIEVED, DURATION

SCRIPTS = made_up.ROOT / "scripts"
PACKAGE = SCRIPTS / "occbench_tools"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def start(*arguments):
    """As `python -m occbench_tools ARGUMENTS` ends, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["occbench_tools", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main()
        except SystemExit as end:
            status = end.code or 0
    return Done(status, out.getvalue(), err.getvalue())


class CommandLine(unittest.TestCase):
    def test_the_package_is_run_by_its_name(self):
        command = [sys.executable, "-m", "occbench_tools", "--help"]
        environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in COMMANDS:
            self.assertIn(f"\n    {name}", done.stdout)

    def test_every_command_says_what_it_is_for(self):
        for name in COMMANDS:
            with self.subTest(name):
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
        done = start("repredict", "--binaries", folder, "none.csv")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertEqual(done.stderr, "occbench: none.csv is not there, nor packed as .gz\n")

    def test_figures_without_bench_binaries_say_what_to_build(self):
        done = start("figures", "--check", "--binaries", PACKAGE)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertRegex(done.stderr, "no bench binaries.*build them")


class Dependencies(unittest.TestCase):
    def test_each_command_says_what_it_takes(self):
        for name in COMMANDS:
            with self.subTest(name=name):
                done = start(name, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"usage: python -m occbench_tools {name}", done.stdout)

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


class BesideNcu(unittest.TestCase):
    def test_of_each_case_ncu_s_second_launch_is_compared(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        cases = [(experiment, case) for experiment in ("block_size", "waves") for case in (1, 2)]
        rows = [f"{name},spin/plain/{case},{50 + case}.5,0.01,{100 + case},c,g,d,r" for name, case in cases]
        samples = [f"{name},spin/plain/{case},counting_ms_per_launch,0,2.5" for name, case in cases]
        launches = [f'"{case}","{50 + case}.25","{99 + case},500"' for case in (1, 2) for _ in range(2)]
        launches[0] = launches[2] = '"0","1","1"'  # the check of a case
        files = {
            "rows.csv": [
                "experiment,case,achieved_pct,achieved_spread_points,time_us,commit,gpu,driver,recorded_at",
                *rows,
            ],
            "rows.samples.csv": ["experiment,case,quantity,index,value", *samples],
            "page.csv": ["==PROF== said", f'"ID","{ACHIEVED}","{DURATION}"', '"","%","ns"', *launches],
            "occbench": ["#!/bin/bash", f'cp {folder}/rows*.csv "$(dirname "${{@: -1}}")"'],
            "ncu": ["#!/bin/bash", 'while [ "$1" != --log-file ]; do shift; done', f'cp {folder}/page.csv "$2"'],
            "bench_block_size": ["#!/bin/bash"],
            "bench_waves": ["#!/bin/bash"],
        }
        for name, lines in files.items():
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
            (folder / name).chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
            done = start("compare-ncu", "--binaries", folder, folder / "out.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        with (folder / "out.csv").open(encoding="utf-8", newline="") as lines:
            compared = list(csv.DictReader(lines))
        self.assertEqual([line["ncu_achieved_pct"] for line in compared], ["51.25", "52.25"] * 2)
        self.assertEqual({line["achieved_difference_points"] for line in compared}, {"0.25"})
        self.assertEqual({line["time_difference_us"] for line in compared}, {"0.500"})


if __name__ == "__main__":
    unittest.main()
