"""Records how much of the GPU time of programs that run for some seconds has a counter by default, and how far that is from counting.

    scripts/programs/build build/programs
    python3 scripts/programs/sampled.py --occbench build/release/bin/occbench --programs build/programs FOLDER

Writes FOLDER/sampled.csv, a line for each program: what `occbench trace` says of it, whether it computed the same as without, and how far
the kernels are from a trace with --counters 20 of a shorter run, in which what would be a graph is launched one by one. Kernels are
compared if the middle half of these readings is within 0.3 points. FOLDER/sampled_kernels.csv has a line for each kernel with a counter in
both, compared or not. The rows of both traces stay in FOLDER.
"""

import csv
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from record import HERE, ROUNDS, Done, Recording, arguments, write_table

#: Rounds of record.py's programs, and lines of loops.py's, which take five seconds and more.
LONG = {
    "sample": 900,
    "inference": 1500,
    "training": 1000,
    "triton_kernels": 9000,
    "cupy_kernels": 6000,
    "jax_gradient": 9000,
}
LOOPS = {"tokens": 24, "tokens_graph": 6, "graph": 4, "network": 12, "steps": 16}
LOOPS |= dict.fromkeys(("attention", "convolutions", "lstm", "factors", "reductions", "sort", "sparse"), 8)
#: Of each kernel: the middle half of three readings is narrow more often than it tells.
COUNTED = 20
STABLE_POINTS = 0.3
LONG_US = 5
LIMITS = {"long": 0.5, "short": 1}
KEY = ("variant", "kernel", "parameters", "dynamic_shared_bytes")


def rows_of(file: Path) -> dict[tuple[str, ...], dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return {tuple(row[name] for name in KEY): row for row in csv.DictReader(lines)}


def number(row: dict[str, str], column: str) -> float:
    return float(row[column] or 0)


def kernels(sampled: Path, counted: Path) -> list[dict[str, str]]:
    """A line for each kernel and configuration that has a counter in both files."""
    ours, theirs = rows_of(sampled), rows_of(counted)
    lines = []
    for key, our in ours.items():
        their = theirs.get(key)
        if not their or not our["achieved_pct"] or not their["achieved_pct"]:
            continue
        repeats = number(their, "achieved_spread_points") <= STABLE_POINTS and number(their, "launches") >= COUNTED / 2
        line = {"case": our["case"], "launches": our["launches"], "counted_total_us": their["total_time_us"]}
        line["source"] = "sampled" if our["counters_status"] == "sampled" else "counted"
        line |= {"counted_time_us": their["time_us"], "time_us": our["time_us"]}
        line |= {"counted_achieved_pct": their["achieved_pct"], "achieved_pct": our["achieved_pct"]}
        line |= {"counted_spread_points": their["achieved_spread_points"], "compared": str(repeats).lower()}
        lines.append(line)
    return lines


def differences(lines: list[dict[str, str]], total_us: float) -> dict[str, str]:
    """How many kernels are compared, and which share of the short and of the long ones is within 1 and 0.5 points.

    Of all, and of those that were sampled. `total_us`: of all rows that were counted.
    """
    stable = [line for line in lines if line["compared"] == "true"]
    sampled = [line for line in stable if line["source"] == "sampled"]
    told = {"countings": f"{COUNTED}", "counted_kernels": f"{len(lines)}", "stable_kernels": f"{len(stable)}"}
    told["stable_pct"] = f"{100 * sum(number(line, 'counted_total_us') for line in stable) / max(total_us, 1e-9):.1f}"
    told |= {f"{kind}_{name}": value for kind in LIMITS for name, value in within(stable, kind).items()}
    told["worst_points"] = f"{max(map(points, stable)):.2f}" if stable else ""
    told["sampled_kernels"] = f"{len(sampled)}"
    told["sampled_pct"] = f"{100 * len(sampled) / len(stable):.1f}" if stable else ""
    return told | {f"sampled_{kind}_{name}": value for kind in LIMITS for name, value in within(sampled, kind).items()}


def points(line: dict[str, str]) -> float:
    """How far the program's occupancy is from counting."""
    return abs(number(line, "achieved_pct") - number(line, "counted_achieved_pct"))


def within(lines: list[dict[str, str]], kind: str) -> dict[str, str]:
    """How many of the lines are of this kind, and which share is within its limit."""
    of = [points(line) for line in lines if (number(line, "counted_time_us") >= LONG_US) == (kind == "long")]
    share = f"{100 * sum(point <= LIMITS[kind] for point in of) / len(of):.1f}" if of else ""
    return {"kernels": f"{len(of)}", "within_pct": share}


def told_by(text: str) -> dict[str, str]:
    """What the last lines of a trace say."""
    forms = {
        ("launches", "gpu_ms"): r"configurations, (\d+) launches, ([\d.]+) ms",
        ("untimed_launches",): r"ms without (\d+) launches that have no time",
        ("with_counter_pct",): r", ([\d.]+) % of it with a counter",
        ("windows", "thrown_away"): r"Sampled: (\d+) windows, (\d+) thrown away",
        ("attributed_pct",): r"; ([\d.]+) % of the GPU's active time",
    }
    told = dict.fromkeys((name for names in forms for name in names), "")
    for names, form in forms.items():
        if found := re.search(form, text):
            told |= dict(zip(names, found.groups(), strict=True))
    return told | {"untimed_launches": told["untimed_launches"] or "0"}


def computed_by(done: Done, name: str) -> list[str]:
    """Values of loops without their seconds, or the line that a program ends with."""
    return re.findall(r"^[\d.]+ (\S+)$", done.out, re.MULTILINE) if name in LOOPS else [done.line(name.split("_")[0])]


def command_of(recording: Recording, name: str, count: int, *, graphs: bool = True) -> list[str]:
    """So many rounds of a program, or loops of loops.py; without graphs what would be a graph is launched one by one."""
    if name in LONG:
        return [word for word in recording.command(name, count) if word != "ungraphed" or not graphs]
    loops = f"{sys.executable} {HERE}/loops.py {name}{'' if graphs else ' ungraphed'}"
    return ["sh", "-c", f"yes '' | head -n {count} | {loops}"]


def main() -> None:
    options = arguments(__doc__, only="programs, separated by commas")
    recording = Recording(options)
    counts = {name: count for name, count in (LONG | LOOPS).items() if name in (options.only or name).split(",")}
    long = {name: command_of(recording, name, count) for name, count in counts.items()}
    with ThreadPoolExecutor() as workers:  # the same on a busy machine: only what is computed is looked at
        alone, again = (dict(zip(long, workers.map(Done, long.values()), strict=True)) for _ in range(2))
    lines, each = [], []
    for name in long:
        files = options.folder / f"{name}.csv", options.folder / f"{name}.counted.csv"
        traced = recording.traced(long[name], out=files[0].name)
        counted = command_of(recording, name, ROUNDS if name in LONG else 1, graphs=False)
        recording.traced(counted, "--counters", f"{COUNTED}", out=files[1].name)
        if not all(file.exists() for file in files):
            continue
        values = [computed_by(done, name) for done in (alone[name], again[name], traced)]
        same = str(values[0] == values[2]).lower() if values[0] == values[1] else "differ untraced"
        stamp, compared = {**recording.stamp(), "program": name}, kernels(*files)
        total_us = sum(number(row, "total_time_us") for row in rows_of(files[1]).values())
        told = {"same_values": same} | told_by(traced.out) | differences(compared, total_us)
        lines.append(stamp | told)
        each += [stamp | line for line in compared]
        print(lines[-1], flush=True)
        write_table(options.folder / "sampled.csv", lines)
        write_table(options.folder / "sampled_kernels.csv", each)


if __name__ == "__main__":
    main()
