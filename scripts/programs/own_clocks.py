"""Records whether a program's kernels run as they do without a tool, as the program's own clocks say (own_clocks.cu).

    scripts/programs/build build/programs
    python3 scripts/programs/own_clocks.py --occbench build/release/bin/occbench --programs build/programs FOLDER

Writes FOLDER/own_clocks.csv, a line for each kernel and way of running it: alone, traced (launches that are not counted, and
those that are) and under ncu. `achieved_pct` and `cycles_active` are the program's own, `counter_pct` is what the tool's
counter reads, in which a warp's end after its last clock is too.
"""

import re
from statistics import median

from record import ACHIEVED, NCU, Done, Recording, arguments, ncu_launches, remove_scratch, traced_launches, write_table

ROUNDS = 3
#: The trace counts the three launches of a kernel from here on; the first ones find caches that others left.
COUNTED = slice(20, 23)
OTHERS = slice(30, 40)
KERNELS = ("fill", "copy", "wait")


def lives(done: Done, name: str, launches: slice) -> list[tuple[float, float]]:
    """Achieved occupancy and active cycles of some launches of a kernel."""
    found = re.findall(rf"^{name} (\S+) (\S+)$", done.out, re.MULTILINE)[launches]
    return [(float(achieved), float(cycles)) for achieved, cycles in found]


def main() -> None:
    options = arguments(__doc__)
    recording = Recording(options)
    command = [f"{options.programs}/own_clocks"]
    after = str(len(KERNELS) * COUNTED.start)
    read: dict[tuple[str, str], list[tuple[float, float]]] = {}
    counters: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        alone = Done(command)
        traced = recording.traced(command, "--counters", "3", "--after", after)
        ncu = Done([*NCU, *command])
        rows = traced_launches(options.folder / "scratch.csv")
        of_ncu = ncu_launches(ncu.out)
        for name in KERNELS:
            read.setdefault((name, "alone"), []).extend(lives(alone, name, COUNTED))
            read.setdefault((name, "traced, not counted"), []).extend(lives(traced, name, OTHERS))
            read.setdefault((name, "traced, counted"), []).extend(lives(traced, name, COUNTED))
            read.setdefault((name, "ncu"), []).extend(lives(ncu, name, COUNTED))
            row = next(row for row in rows.values() if row["case"].split("/")[-1].startswith(name))
            counters.setdefault((name, "traced, counted"), []).append(float(row["achieved_pct"]))
            launches = next(some for key, some in of_ncu.items() if name in key[0])[COUNTED]
            counters.setdefault((name, "ncu"), []).extend(launch[ACHIEVED] for launch in launches)
    lines = []
    for (name, way), some in read.items():
        line = {**recording.stamp(), "kernel": name, "way": way, "launches": str(len(some))}
        for column, values in zip(("achieved_pct", "cycles_active"), zip(*some, strict=True), strict=True):
            line[column] = f"{median(values):.2f}"
        by_counter = counters.get((name, way), [])
        line["counter_pct"] = f"{median(by_counter):.2f}" if by_counter else ""
        lines.append(line)
        print(line, flush=True)
    write_table(options.folder / "own_clocks.csv", lines)
    remove_scratch(options.folder)


if __name__ == "__main__":
    main()
