"""Predicts the random launches of every recorded GPU model with each profile, and prints how far that is from the counter as CSV:

    scripts/python -m occbench_tools compare-profiles > results/profiles.csv

Launches are those from 20,000 cycles on. A profile of another GPU model is generic there.
"""

import argparse
from pathlib import Path
from tempfile import NamedTemporaryFile

import polars as pl

from occbench_tools.dataset import Results, gpu_of
from occbench_tools.program import RESULTS, Occbench, binaries_of, declare_binaries

COLUMNS = {
    "gpu": pl.String,
    "profile": pl.String,
    "profile_quality": pl.String,
    "launches": pl.Int64,
    "mean_error_points": pl.Float64,
}
GENERIC = "name = generic_hopper\ncompute_capability = 9.0\nsm_count = 132\n"


def compared(model: Results, profile: str | Path, name: str) -> dict[str, object]:
    rows = model.rows("validation.csv")
    printed = model.occbench.output(
        "validate", "--rows", model.file("validation.csv"), "--profile", profile
    ).splitlines()
    of_kinds = [line.split() for line in printed if "_from_20000_cycles" in line]
    launches = sum(int(cells[1]) for cells in of_kinds)
    return {
        "gpu": gpu_of(rows),
        "profile": name,
        "profile_quality": printed[0].rpartition("(")[2].rstrip(")"),
        "launches": launches,
        "mean_error_points": round(sum(int(cells[1]) * float(cells[3]) for cells in of_kinds) / launches, 3),
    }


def declare(parser: argparse.ArgumentParser) -> None:
    declare_binaries(parser)


def run(options: argparse.Namespace) -> None:
    models = Results(RESULTS, Occbench(binaries_of(options) / "occbench")).models
    with NamedTemporaryFile("w", suffix=".profile") as generic:
        generic.write(GENERIC)
        generic.flush()
        lines = []
        for model in models:
            own = model.rows("validation.csv")["device_profile"].first().partition(" (")[0]
            lines.append(compared(model, model.folder / f"{own}.profile", "of the GPU itself"))
            lines.extend(compared(model, name, f"`{name}`, built in") for name in ("h200", "h100"))
            lines.append(compared(model, generic.name, "generic: a file of name, compute capability and SMs"))
    print(pl.DataFrame(lines, schema=COLUMNS).write_csv(), end="")
