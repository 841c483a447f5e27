#!/usr/bin/env python3
"""Records on a GPU what the gate says of unchanged code, and of code in which one thing was made worse.

    tests/gate/on_gpu.py unchanged BUILD [--runs 20 | --recorded FILE.csv.gz] [--folder FOLDER]
    tests/gate/on_gpu.py injected BUILD [--pairs 6] [--only NAME ...] [--folder FOLDER]

`unchanged` runs the smoke suite of a build again and again and gates each run against the one before: every pair has to
pass. It writes FOLDER/gate_unchanged.csv, the range of each case over the runs, and FOLDER/unchanged.csv.gz, the first
three runs. `--recorded` gates the runs of such a file again, and needs no GPU.

`injected` needs the target of that name (tests/gate/injected) and gates each injected build against the one with nothing
injected: each has to be a regression of the one case, named by its cause. It takes 17 s a build on an H200, and writes
FOLDER/gate_injected.csv, a line a build, and FOLDER/NAME.csv.gz, its runs.

Both print a Markdown table, keep runs and verdicts in FOLDER, and end with 0 if all came out as expected. The fixtures of
the tests are kept in tests/data/gate (*.csv.gz), the summaries in results/GPU (gate_*.csv).
"""

import argparse
import csv
import gzip
import io
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass

KEPT_RUNS = 3
PROVENANCE = ("recorded_at", "commit", "gpu", "gpu_uuid", "driver", "cuda_toolkit")


@dataclass
class Judged:
    status: int
    verdict: dict  # what `--write json=` says


def gate(program: pathlib.Path, arguments: list[str], kept: pathlib.Path) -> Judged:
    kept.unlink(missing_ok=True)
    command = [program, "gate", *arguments, "--write", f"json={kept}"]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return Judged(done.returncode, json.loads(kept.read_text()) if kept.exists() else {"cases": [], "headline": "none"})


def read(file: pathlib.Path) -> list[dict[str, str]]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def write(file: pathlib.Path, lines: list[dict]) -> None:
    if not lines:  # nothing was recorded, and no column is known
        return
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, lines[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    content = text.getvalue().encode()
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def samples_of(file: pathlib.Path) -> pathlib.Path:
    """`FILE.samples.csv[.gz]` for `FILE.csv[.gz]`; beside plain rows the samples may be compressed."""
    samples = file.with_name(file.name.replace(".csv", ".samples.csv"))
    return samples if samples.exists() or file.suffix == ".gz" else samples.with_name(samples.name + ".gz")


def pack(runs: list[pathlib.Path], packed: pathlib.Path) -> None:
    """Rows of runs as one file and their samples as one, each with the column `run` in front."""
    for of, to in (
        (lambda run: run, packed),
        (samples_of, packed.with_name(packed.name.replace(".csv", ".samples.csv"))),
    ):
        write(to, [{"run": run.stem} | line for run in runs if of(run).exists() for line in read(of(run))])


def unpack(packed: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    """The files that were packed, by name."""
    for file, suffix in ((packed, ".csv"), (samples_of(packed), ".samples.csv")):
        lines = read(file)
        for run in dict.fromkeys(line["run"] for line in lines):
            write(folder / f"{run}{suffix}", [without_run(line) for line in lines if line["run"] == run])
    return sorted(folder / f"{run}.csv" for run in {line["run"] for line in read(packed)})


def without_run(line: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in line.items() if name != "run"}


def measure(program: pathlib.Path, folder: pathlib.Path, runs: int) -> list[pathlib.Path]:
    files = [folder / f"{number:02}.csv" for number in range(1, runs + 1)]
    for file in files:
        # One that did not measure all of it ends with 2: the gate will say so.
        subprocess.run([program, "run", "--suite", "smoke", "--out", file], check=False)
    return files


def ranges(files: list[pathlib.Path]) -> list[dict]:
    """Of each counted case: by how much the highest run exceeds the lowest."""
    of_case: dict[tuple[str, str], list[dict]] = {}
    for row in (row for file in files for row in read(file) if row["achieved_pct"]):
        of_case.setdefault((row["experiment"], row["case"]), []).append(row)

    def extremes(rows: list[dict], column: str) -> tuple[float, float]:
        values = [float(row[column]) for row in rows]
        return min(values), max(values)

    lines = []
    for (experiment, case), rows in of_case.items():
        achieved, elapsed, time = (extremes(rows, name) for name in ("achieved_pct", "achieved_elapsed_pct", "time_us"))
        line = {"experiment": experiment, "case": case, "runs": len(rows)}
        line |= {"achieved_range_points": f"{achieved[1] - achieved[0]:.4f}"}
        line |= {"achieved_elapsed_range_points": f"{elapsed[1] - elapsed[0]:.4f}"}
        line |= {"time_range_pct": f"{100 * (time[1] / time[0] - 1):.4f}"}
        lines.append(line | {name: rows[0][name] for name in PROVENANCE})
    return lines


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
class Injection:
    what: str
    status: int  # of the gate
    regressions: list[tuple[str, str]]  # case and the cause that the gate has to name first


def worse(what: str, case: str, cause: str) -> Injection:
    """The case is called after what may be worse in it."""
    return Injection(what, 1, [(case, cause)])


INJECTIONS = {
    "none": Injection("nothing", 0, []),
    "registers": worse("two more registers", "registers", "registers_per_thread"),
    "shared_memory": worse(
        "1 KB more shared memory, across the step from four blocks to three", "shared_memory", "dynamic_shared_bytes"
    ),
    "block_size": worse("blocks of 768 threads for 512", "block_size", "block_threads"),
    "slow_warp": worse("one warp twice as long", "slow_warp_or_slower", "achieved_pct"),
    "slower": worse("3 % more time", "slow_warp_or_slower", "time_us"),
}


def runs_of_pairs(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("??-[ab].csv"))


def provenance(folder: pathlib.Path) -> dict[str, str]:
    """Of the first row that a folder of runs has."""
    row = next((row for file in runs_of_pairs(folder) for row in read(file)), dict.fromkeys(PROVENANCE, ""))
    return {name: row[name] for name in PROVENANCE}


def line_of(name: str, judged: Judged, pairs: int, runs: pathlib.Path) -> dict:
    """Of gate_injected.csv; of the worst case, what is said of it first."""
    injection, cases = INJECTIONS[name], judged.verdict["cases"]
    regressions = [one for one in cases if one["verdict"] == "regression"]
    found = [(one["case"].split("=")[-1], one["findings"][0]["subject"]) for one in regressions]
    worst = next((one for one in cases if one["findings"]), {"case": "", "findings": []})
    first = next(iter(worst["findings"]), {"subject": "", "baseline": "", "candidate": "", "message": ""})
    line = {"injection": name, "what": injection.what, "pairs": pairs, "exit_status": judged.status}
    line |= {"verdict": judged.verdict.get("verdict", "none"), "cases": len(cases), "regressions": len(regressions)}
    line |= {"case": worst["case"], "cause": first["subject"], "baseline": first["baseline"]}
    line |= {"candidate": first["candidate"], "finding": first["message"]}
    expected = (judged.status, found) == (injection.status, injection.regressions)
    return line | {"as_expected": "yes" if expected else "no"} | provenance(runs)


def injected(build: pathlib.Path, folder: pathlib.Path, pairs: int, names: list[str]) -> bool:
    lines = []
    print("| injected | status | verdict | reason |\n|---|---|---|---|")
    for name in names:
        arguments = ["--pair", str(build / "injected" / "none"), str(build / "injected" / name)]
        arguments += ["--pairs", str(pairs), "--keep", str(folder / name)]
        judged = gate(build / "bin" / "occbench", arguments, folder / f"{name}.json")
        lines.append(line_of(name, judged, pairs, folder / name))
        write(folder / "gate_injected.csv", lines)
        print(f"| {name} | {judged.status} | {judged.verdict['headline']} | {lines[-1]['finding']} |", flush=True)
        pack(runs_of_pairs(folder / name), folder / f"{name}.csv.gz")
    return all(line["as_expected"] == "yes" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["unchanged", "injected"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--recorded", type=pathlib.Path, metavar="FILE.csv.gz")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--only", nargs="+", choices=[*INJECTIONS], default=[*INJECTIONS])
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path("results/local/gate") / arguments.what
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.what == "injected":
        return 0 if injected(arguments.build, folder, arguments.pairs, arguments.only) else 1
    program = arguments.build / "bin" / "occbench"
    if arguments.recorded:
        files = unpack(arguments.recorded, folder)
    else:
        files = measure(program, folder, arguments.runs)
        write(folder / "gate_unchanged.csv", ranges(files))
        pack(files[:KEPT_RUNS], folder / "unchanged.csv.gz")
    return 0 if unchanged(program, folder, files) else 1


if __name__ == "__main__":
    sys.exit(main())
