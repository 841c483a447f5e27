"""What the command `occbench` knows, asked of the command: columns and the calculator."""

import io
import json
import subprocess
from typing import NamedTuple

import polars as pl


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
    def __init__(self, program: str):
        self.program = program
        self.columns = {
            column["name"]: Column(column["name"], column["type"], column["unit"], column["meaning"])
            for column in json.loads(self.output("columns", "--format", "json"))
        }

    def output(self, *arguments: str) -> str:
        return subprocess.run([self.program, *arguments], check=True, capture_output=True, text=True).stdout

    def title(self, column: str) -> str:
        return self.columns[column].title

    def version(self) -> str:
        return self.output("--version").strip()

    def curves(
        self, compute_capability: str, block_threads: int, registers: int, shared_bytes: int
    ) -> pl.DataFrame | None:
        """Theoretical occupancy along each axis with the other two as given: `axis, value, theoretical_pct, ...`. None if
        the calculator refuses them."""
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
