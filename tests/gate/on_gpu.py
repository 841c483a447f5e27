#!/usr/bin/env python3
"""Records on a GPU how the gate judges: unchanged code, and code in which one thing was made worse.

    tests/gate/on_gpu.py unchanged BUILD [--runs 20 | --recorded FOLDER] [--folder FOLDER]
    tests/gate/on_gpu.py planted BUILD [--pairs 6] [--only PLANT ...] [--folder FOLDER]

`unchanged` runs the smoke suite of a build again and again and gates each run against the one before: every pair must
pass; `--recorded` gates runs that a folder holds already, and needs no GPU. `planted` needs the target of that name (tests/gate/planted) and gates each planted build against the one with
nothing planted: each must be a regression of the one case, named by its cause. Both print a Markdown table, keep runs and
verdicts in FOLDER, and end with 0 if all came out as they must.
"""

import argparse
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Judged:
    status: int
    verdict: dict  # what `--write json=` says


def gate(program: pathlib.Path, arguments: list[str], kept: pathlib.Path) -> Judged:
    command = [program, "gate", *arguments, "--write", f"json={kept}"]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return Judged(done.returncode, json.loads(kept.read_text()) if kept.exists() else {"cases": [], "headline": "none"})


def measure(program: pathlib.Path, folder: pathlib.Path, runs: int) -> list[pathlib.Path]:
    files = [folder / f"{number:02}.csv" for number in range(1, runs + 1)]
    for file in files:
        # One that did not measure all of it ends with 2: the gate will say so.
        subprocess.run([program, "run", "--suite", "smoke", "--require-gpu", "--out", file], check=False)
    return files


def unchanged(program: pathlib.Path, folder: pathlib.Path, files: list[pathlib.Path]) -> bool:
    judged = [
        gate(program, [str(before), str(now)], folder / f"{now.stem}.gate.json")
        for before, now in zip(files, files[1:], strict=False)
    ]
    print("| runs | status | verdict | smallest regression that would have been found |\n|---|---|---|---|")
    for number, one in enumerate(judged, start=1):
        smallest = one.verdict.get("smallest_regression", "")
        print(f"| {number} and {number + 1} | {one.status} | {one.verdict['headline']} | {smallest} |")
    return len(judged) > 0 and all(one.status == 0 for one in judged)


# What the gate must name first, and in which case. The case is called after what may be worse in it.
PLANTS = {
    "registers": ("registers", "registers_per_thread"),
    "shared_memory": ("shared_memory", "dynamic_shared_bytes"),
    "block_size": ("block_size", "block_threads"),
    "slow_warp": ("slow_warp_or_slower", "achieved_pct"),
    "slower": ("slow_warp_or_slower", "time_us"),
}


def is_named(verdict: dict, case: str, cause: str) -> bool:
    """Whether the regressions are of that case alone, and the gravest finding is the cause."""
    regressions = [one for one in verdict["cases"] if one["verdict"] == "regression"]
    return [one["case"].split("=")[-1] for one in regressions] == [case] and regressions[0]["findings"][0][
        "subject"
    ] == cause


def planted(build: pathlib.Path, folder: pathlib.Path, pairs: int, plants: list[str]) -> bool:
    unplanted = build / "planted" / "none"
    as_it_must = True
    print("| planted | status | verdict | reason |\n|---|---|---|---|")
    for plant in plants:
        arguments = ["--pair", str(unplanted), str(build / "planted" / plant), "--pairs", str(pairs)]
        arguments += ["--keep", str(folder / plant)]
        judged = gate(build / "bin" / "occbench", arguments, folder / f"{plant}.json")
        cases = judged.verdict["cases"]
        reason = cases[0]["findings"][0]["message"] if cases and cases[0]["findings"] else ""
        right = (
            judged.status == 0 if plant == "none" else judged.status == 1 and is_named(judged.verdict, *PLANTS[plant])
        )
        as_it_must = as_it_must and right
        print(f"| {plant} | {judged.status} | {judged.verdict['headline']} | {reason} |", flush=True)
    return as_it_must


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["unchanged", "planted"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--recorded", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--only", nargs="+", choices=["none", *PLANTS], default=["none", *PLANTS])
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path("results/local/gate") / arguments.what
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.what == "unchanged":
        program = arguments.build / "bin" / "occbench"
        recorded = arguments.recorded and sorted(arguments.recorded.glob("[0-9][0-9].csv"))
        files = measure(program, folder, arguments.runs) if recorded is None else recorded
        return 0 if unchanged(program, folder, files) else 1
    return 0 if planted(arguments.build, folder, arguments.pairs, arguments.only) else 1


if __name__ == "__main__":
    sys.exit(main())
