"""What the programs say of themselves: `occbench` of columns and curves, the bench binaries of their experiments."""

import argparse
import json
import os
import subprocess
import sys
from functools import cache, cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from occbench_tools import WrongInput

SOURCES = Path(__file__).resolve().parents[2]  # the source tree, where this package is part of one
RESULTS = SOURCES / "results" / "nvidia-h200"


def title_of(column: str, unit: str) -> str:
    """For an axis: `achieved, %`, `registers per thread`."""
    words = column
    for ending in ("_pct", "_points", "_bytes", "_us", "_mhz"):
        words = words.removesuffix(ending)
    words = words.replace("_", " ")
    return f"{words}, {unit}" if unit and unit not in words else words


def package() -> ModuleType:
    """The package `occbench` that lies beside this one: in a source tree, a bundle, an installation, or around it in a wheel."""
    for folder in (SOURCES / "python" / "occbench", *SOURCES.parents[1:2]):  # a tree may lie in the root folder
        if (folder / "_theory.py").exists():
            spec = spec_from_file_location("occbench", folder / "__init__.py", submodule_search_locations=[str(folder)])
            sys.modules["occbench"] = module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise WrongInput(f"{SOURCES} has no python/occbench: copy it with scripts/occbench_tools")


class Occbench:
    """The command `occbench`, as the package `occbench` asks it."""

    def __init__(self, program: str | Path):
        self.program = program

    @cached_property
    def _package(self) -> ModuleType:
        os.environ["OCCBENCH_PROGRAM"] = str(self.program)
        return package()

    def output(self, *arguments: str | Path, folder: Path | None = None) -> str:
        try:
            command = [self.program, *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
        except OSError as error:
            raise WrongInput(f"{self.program} cannot be started: {error.strerror}") from error

    @cached_property
    def columns(self) -> dict[str, Any]:
        """As the package lists them, by name."""
        try:
            return {column.name: column for column in self._package.columns()}
        except OSError as error:
            raise WrongInput(f"{self.program} cannot be started: {error.strerror}") from error

    def title(self, column: str) -> str:
        return title_of(column, self.columns[column].unit)

    def version(self) -> str:
        return self.output("--version").strip()

    @cache  # noqa: B019  there is one program
    def curves(
        self, compute_capability: str, block_threads: int, registers: int, shared_bytes: int
    ) -> pl.DataFrame | None:
        """Theoretical occupancy along each axis with the other two as given: `axis, value, theoretical_pct, ...`. None if
        the calculator refuses them."""
        launch = {"block_size": block_threads, "registers": registers, "dynamic_smem": shared_bytes}
        try:
            found = self._package.curves(compute_capability=compute_capability, **launch)
        except ValueError:
            return None
        return pl.DataFrame([{"axis": axis} | point for axis, points in found.points.items() for point in points])


class Claim(NamedTuple):
    """An experiment as its program describes it."""

    experiment: str
    claim: str
    source: str


def read_claims(binaries: Path) -> list[Claim]:
    """Of all bench programs of a folder, by name; they need no GPU for it."""
    programs = {file.resolve() for file in binaries.glob("bench_*")}  # bench_NAME is a link to bench_all
    if not programs:
        raise WrongInput(
            f"{binaries} has no bench binaries, which say what they claim: build them with CUDA "
            "(scripts/test or scripts/run does) or name their folder with --binaries"
        )
    return sorted({claim for program in programs for claim in describe(program)})


def describe(bench: Path) -> list[Claim]:
    done = subprocess.run([bench, "--occ_describe"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WrongInput(f"{bench} --occ_describe ended with {done.returncode}: {done.stderr.strip()}; build it again")
    described = map(json.loads, done.stdout.splitlines())
    return [Claim(one["name"], one["claim"], one["source"]) for one in described]


def newest_binaries(program: str) -> Path:
    """The folder of this source tree's builds with the newest program of this name; a pattern will do."""
    found = sorted(SOURCES.glob(f"build/*/bin/{program}"), key=lambda file: file.stat().st_mtime)
    if not found:
        raise WrongInput(f"{SOURCES}/build/*/bin has no {program}: build it, or name its folder with --binaries")
    return found[-1].parent


def declare_binaries(parser: argparse.ArgumentParser, program: str = "occbench") -> None:
    parser.add_argument(
        "--binaries",
        type=Path,
        metavar="FOLDER",
        help=f"folder of occbench and the bench binaries (default: that of build/*/bin with the newest {program})",
    )


def binaries_of(options: argparse.Namespace, program: str = "occbench") -> Path:
    return options.binaries.resolve() if options.binaries else newest_binaries(program)
