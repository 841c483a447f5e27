#!/usr/bin/env python3
"""Records on a GPU how the gate judges: unchanged code, and code in which one thing was made worse.

    tests/gate/on_gpu.py unchanged BUILD [--runs 20 | --recorded FOLDER] [--folder FOLDER]
    tests/gate/on_gpu.py injected BUILD [--pairs 6] [--only INJECT ...] [--folder FOLDER]

`unchanged` runs the smoke suite of a build again and again and gates each run against the one before: every pair must
pass; `--recorded` gates runs that a folder holds already, and needs no GPU. `injected` needs the target of that name
(tests/gate/injected) and gates each injected build against the one with nothing injected: each must be a regression of the one
case, named by its cause; 17 s a plant on an H200. It writes FOLDER/injected.csv, a line a plant. Both print a Markdown table,
keep runs and verdicts in FOLDER, and end with 0 if all came out as expected.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
from dataclasses import asdict, dataclass, fields


@dataclass
class Judged:
    status: int
    verdict: dict  # what `--write json=` says


def gate(program: pathlib.Path, arguments: list[str], kept: pathlib.Path) -> Judged:
    kept.unlink(missing_ok=True)
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


@dataclass
class Plant:
    what: str
    status: int  # of the gate
    regressions: list[tuple[str, str]]  # case and what the gate must name first


def worse(what: str, case: str, cause: str) -> Plant:
    """The case is called after what may be worse in it."""
    return Plant(what, 1, [(case, cause)])


PLANTS = {
    "none": Plant("nothing", 0, []),
    "registers": worse("two more registers", "registers", "registers_per_thread"),
    "shared_memory": worse(
        "1 KB more shared memory, across the step from four blocks to three", "shared_memory", "dynamic_shared_bytes"
    ),
    "block_size": worse("blocks of 768 threads for 512", "block_size", "block_threads"),
    "slow_warp": worse("one warp twice as long", "slow_warp_or_slower", "achieved_pct"),
    "slower": worse("3 % more time", "slow_warp_or_slower", "time_us"),
}


@dataclass
class Line:
    """Of injected.csv."""

    plant: str
    what: str
    pairs: int
    exit_status: int
    verdict: str
    cases: int
    regressions: int
    case: str  # the worst, and what is said of it first
    cause: str
    baseline: str
    candidate: str
    finding: str
    as_it_must: str
    recorded_at: str
    commit: str
    gpu: str
    gpu_uuid: str
    driver: str
    cuda_toolkit: str


PROVENANCE = ("recorded_at", "commit", "gpu", "gpu_uuid", "driver", "cuda_toolkit")


def provenance(runs: pathlib.Path) -> dict[str, str]:
    """Of the first row that a folder of runs has."""
    for file in sorted(runs.glob("??-[ab].csv")):
        with file.open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                return {name: row[name] for name in PROVENANCE}
    return dict.fromkeys(PROVENANCE, "")


def line_of(name: str, judged: Judged, pairs: int, runs: pathlib.Path) -> Line:
    plant, cases = PLANTS[name], judged.verdict["cases"]
    regressions = [one for one in cases if one["verdict"] == "regression"]
    found = [(one["case"].split("=")[-1], one["findings"][0]["subject"]) for one in regressions]
    worst = next((one for one in cases if one["findings"]), {"case": "", "findings": []})
    first = next(iter(worst["findings"]), {"subject": "", "baseline": "", "candidate": "", "message": ""})
    return Line(
        plant=name,
        what=plant.what,
        pairs=pairs,
        exit_status=judged.status,
        verdict=judged.verdict.get("verdict", "none"),
        cases=len(cases),
        regressions=len(regressions),
        case=worst["case"],
        cause=first["subject"],
        baseline=first["baseline"],
        candidate=first["candidate"],
        finding=first["message"],
        as_it_must="yes" if (judged.status, found) == (plant.status, plant.regressions) else "no",
        **provenance(runs),
    )


def injected(build: pathlib.Path, folder: pathlib.Path, pairs: int, plants: list[str]) -> bool:
    lines = []
    print("| injected | status | verdict | reason |\n|---|---|---|---|")
    with (folder / "injected.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Line)], lineterminator="\n")
        writer.writeheader()
        for plant in plants:
            arguments = ["--pair", str(build / "injected" / "none"), str(build / "injected" / plant)]
            arguments += ["--pairs", str(pairs), "--keep", str(folder / plant)]
            judged = gate(build / "bin" / "occbench", arguments, folder / f"{plant}.json")
            lines.append(line_of(plant, judged, pairs, folder / plant))
            writer.writerow(asdict(lines[-1]))
            file.flush()
            print(f"| {plant} | {judged.status} | {judged.verdict['headline']} | {lines[-1].finding} |", flush=True)
    return all(line.as_it_must == "yes" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["unchanged", "injected"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--recorded", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--only", nargs="+", choices=[*PLANTS], default=[*PLANTS])
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path("results/local/gate") / arguments.what
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.what == "unchanged":
        program = arguments.build / "bin" / "occbench"
        recorded = arguments.recorded and sorted(arguments.recorded.glob("[0-9][0-9].csv"))
        files = measure(program, folder, arguments.runs) if recorded is None else recorded
        return 0 if unchanged(program, folder, files) else 1
    return 0 if injected(arguments.build, folder, arguments.pairs, arguments.only) else 1


if __name__ == "__main__":
    sys.exit(main())
