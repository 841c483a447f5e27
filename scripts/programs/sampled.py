"""Records how much of the GPU time of programs that run for some seconds has a counter by default, and how far that is from counting.

    scripts/programs/build build/programs
    python3 scripts/programs/sampled.py --occbench build/release/bin/occbench --programs build/programs FOLDER

Writes FOLDER/sampled.csv, a line for each program: what `occbench trace` says of it, whether it computed the same as without, and how
far the kernels are from a trace with --counters 20 of a shorter run, in which what would be a graph is launched one by one. Kernels are
compared if the middle half of these readings is within 0.3 points. The rows of both traces stay in FOLDER. Of those from 5 us on, which
are farther than 0.5 points from counting is printed: program, kernel, time when counted and in the program, occupancy likewise.
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
KEY = ("variant", "kernel", "parameters", "dynamic_shared_bytes")


def rows_of(file: Path) -> dict[tuple[str, ...], dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return {tuple(row[name] for name in KEY): row for row in csv.DictReader(lines)}


def number(row: dict[str, str], column: str) -> float:
    return float(row[column] or 0)


def differences(sampled: Path, counted: Path) -> dict[str, str]:
    """How many kernels both have, and which share of the short and of the long ones is within 1 and 0.5 points."""
    ours, theirs = rows_of(sampled), rows_of(counted)
    total = sum(number(row, "total_time_us") for row in theirs.values())
    both = [key for key in ours.keys() & theirs.keys() if ours[key]["achieved_pct"] and theirs[key]["achieved_pct"]]
    stable = {
        key
        for key in both
        if number(theirs[key], "achieved_spread_points") <= STABLE_POINTS
        and number(theirs[key], "launches") >= COUNTED / 2
    }
    points = {key: number(ours[key], "achieved_pct") - number(theirs[key], "achieved_pct") for key in both}
    told = {"countings": f"{COUNTED}", "counted_kernels": f"{len(both)}", "stable_kernels": f"{len(stable)}"}
    told["stable_pct"] = f"{100 * sum(number(theirs[key], 'total_time_us') for key in stable) / max(total, 1e-9):.1f}"
    for kind, is_of, limit in (("long", float.__ge__, 0.5), ("short", float.__lt__, 1)):
        of = [abs(points[key]) for key in stable if is_of(number(theirs[key], "time_us"), float(LONG_US))]
        within = f"{100 * sum(point <= limit for point in of) / len(of):.1f}" if of else ""
        told |= {f"{kind}_kernels": f"{len(of)}", f"{kind}_within_pct": within}
    told["worst_points"] = f"{max(abs(points[key]) for key in stable):.2f}" if stable else ""
    for key in sorted(stable, key=lambda key: ours[key]["case"]):
        if number(theirs[key], "time_us") >= LONG_US and abs(points[key]) > 0.5:
            numbers = [number(rows[key], name) for name in ("time_us", "achieved_pct") for rows in (theirs, ours)]
            print("{:15}{:56}{:15.2f}{:16.2f}{:12.2f}{:10.2f}".format(sampled.stem, ours[key]["case"][:56], *numbers))
    return told


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


def main() -> None:
    options = arguments(__doc__, only="programs, separated by commas")
    recording = Recording(options)
    long, short = {}, {}
    for name in (*LONG, *LOOPS):
        if options.only and name not in options.only.split(","):
            continue
        loops = f"{sys.executable} {HERE}/loops.py {name}"
        long[name] = ["sh", "-c", f"yes '' | head -n {LOOPS.get(name)} | {loops}"]
        short[name] = ["sh", "-c", f"echo | {loops} ungraphed"]
        if name in LONG:
            long[name] = [word for word in recording.command(name, LONG[name]) if word != "ungraphed"]
            short[name] = recording.command(name, ROUNDS)
    with ThreadPoolExecutor() as workers:  # the same on a busy machine: only what is computed is looked at
        alone, again = (dict(zip(long, workers.map(Done, long.values()), strict=True)) for _ in range(2))
    lines = []
    for name in long:
        files = options.folder / f"{name}.csv", options.folder / f"{name}.counted.csv"
        traced = recording.traced(long[name], out=files[0].name)
        recording.traced(short[name], "--counters", f"{COUNTED}", out=files[1].name)
        if not all(file.exists() for file in files):
            continue
        values = [computed_by(done, name) for done in (alone[name], again[name], traced)]
        same = str(values[0] == values[2]).lower() if values[0] == values[1] else "differ untraced"
        lines.append(
            {**recording.stamp(), "program": name, "same_values": same} | told_by(traced.out) | differences(*files)
        )
        print(lines[-1], flush=True)
        write_table(options.folder / "sampled.csv", lines)


if __name__ == "__main__":
    main()
