"""What the programs say of themselves: `occbench` of columns and curves, the bench binaries of their experiments."""

import argparse
import io
import json
import subprocess
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from occbench_tools import WrongInput

SOURCES = Path(__file__).resolve().parents[2]  # the source tree, where this package is part of one
RESULTS = SOURCES / "results" / "nvidia-h200"


class Column(NamedTuple):
    """A column of a recorded row as `occbench columns` lists it."""

    name: str
    type: str  # text, integer or real
    unit: str
    meaning: str

    @property
    def title(self) -> str:
        """For an axis: `achieved, %`, `registers per thread`."""
        words = self.name
        for ending in ("_pct", "_points", "_bytes", "_us", "_mhz"):
            words = words.removesuffix(ending)
        words = words.replace("_", " ")
        return f"{words}, {self.unit}" if self.unit and self.unit not in words else words


WRONG_INPUT = 64  # exit status


class Occbench:
    """The command `occbench`."""

    def __init__(self, program: str | Path):
        self.program = program
        self._curves: dict[tuple, pl.DataFrame | None] = {}

    def output(self, *arguments: str | Path, folder: Path | None = None) -> str:
        try:
            command = [self.program, *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
        except OSError as error:
            raise WrongInput(f"{self.program} cannot be started: {error.strerror}") from error

    @cached_property
    def columns(self) -> dict[str, Column]:
        listed = json.loads(self.output("columns", "--format", "json"))
        return {column["name"]: Column(*(column[field] for field in Column._fields)) for column in listed}

    def title(self, column: str) -> str:
        return self.columns[column].title

    def version(self) -> str:
        return self.output("--version").strip()

    def curves(
        self, compute_capability: str, block_threads: int, registers: int, shared_bytes: int
    ) -> pl.DataFrame | None:
        """Theoretical occupancy along each axis with the other two as given: `axis, value, theoretical_pct, ...`. None if
        the calculator refuses them."""
        launch = (compute_capability, block_threads, registers, shared_bytes)
        if launch not in self._curves:
            self._curves[launch] = self._calculated(*launch)
        return self._curves[launch]

    def _calculated(
        self, compute_capability: str, block_threads: int, registers: int, shared_bytes: int
    ) -> pl.DataFrame | None:
        try:
            text = self.output(
                *("calc", "--curves", "--format", "csv", f"--cc={compute_capability}"),
                *(f"--block-size={block_threads}", f"--registers={registers}", f"--dynamic-smem={shared_bytes}"),
            )
        except subprocess.CalledProcessError as error:
            if error.returncode != WRONG_INPUT:
                raise
            return None
        return pl.read_csv(io.StringIO(text))


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
