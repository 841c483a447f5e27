"""A line of CSV for each program that was sampled, of what overhead.py, occbench trace and differences.py printed.

    scripts/programs/sampled.py FOLDER COMMIT DATE > results/nvidia-h100-80gb-hbm3/programs/sampled.csv

FOLDER has gpu.txt (of nvidia-smi), shares.txt (of traces, each under a line `== PROGRAM WAY COUNT`), overhead.txt and differences.txt.
"""

import csv
import re
import sys
from pathlib import Path

COLUMNS = (
    *("recorded_at", "commit", "gpu", "driver", "program", "gpu_ms", "with_counter_pct", "launches", "untimed_launches", "windows"),
    *("thrown_away", "attributed_pct", "overhead_pct", "overhead_least_pct", "overhead_most_pct", "records_pct", "same_values"),
    *("counted_kernels", "stable_kernels", "stable_pct", "long_kernels", "long_within_pct", "short_kernels", "short_within_pct", "worst_points"),
)  # fmt: skip
folder, commit, date = Path(sys.argv[1]), *sys.argv[2:]


def parts(name):
    """Texts of a file under lines that begin with ==, by these lines."""
    file = folder / name
    found = re.split(r"^== (.*)$", file.read_text(encoding="utf-8"), flags=re.M)[1:] if file.exists() else []
    return dict(zip(found[::2], found[1::2], strict=True))


def taken(pattern, text, *names):
    match = re.search(pattern, text)
    return dict(zip(names, match.groups(), strict=True)) if match else {}


gpu, driver, *_ = (folder / "gpu.txt").read_text(encoding="utf-8").splitlines()[0].split(", ")
rows = {}


def row_of(program):
    recorded = {"recorded_at": date, "commit": commit, "gpu": gpu.removeprefix("NVIDIA "), "driver": driver}
    return rows.setdefault(program, recorded | {"program": program})


for head, text in parts("shares.txt").items():
    program, way, *_ = head.split()
    if way != "sampled":
        continue
    row = row_of(program)
    row |= taken(
        r"configurations, (\d+) launches, ([\d.]+) ms, ([\d.]+) % of it", text, "launches", "gpu_ms", "with_counter_pct"
    )
    row |= {"untimed_launches": 0} | taken(r"\((\d+) launches have no time\)", text, "untimed_launches")
    row |= taken(r"Sampled: (\d+) windows, (\d+) thrown away", text, "windows", "thrown_away")
    row |= taken(r"; ([\d.]+) % of the GPU's active time", text, "attributed_pct")
overhead = folder / "overhead.txt"
pattern = r"^(\w+) (sampled|auto|off): [\d.]+ s, ([-+\d.]+) % at the median, ([-+\d.]+) to ([-+\d.]+);.*? values (\w+)"
for program, way, pct, least, most, same in (
    re.findall(pattern, overhead.read_text(encoding="utf-8"), flags=re.M) if overhead.exists() else ()
):
    if way != "off":
        row_of(program).update(
            {"overhead_pct": pct, "overhead_least_pct": least, "overhead_most_pct": most, "same_values": same}
        )
    else:
        row_of(program)["records_pct"] = pct
for program, text in parts("differences.txt").items():
    row = rows.get(program, {})
    row |= taken(r"both have (\d+) with", text, "counted_kernels")
    row |= taken(r"\n(\d+) with ([\d.]+) % repeat", text, "stable_kernels", "stable_pct")
    classes = re.findall(
        r"  (\d+) to \S+ us: (\d+) kernels, .* worst ([\d.]+) points; (\d+) % within 0.5, (\d+) % within 1", text
    )
    for kind, place in (("short", 4), ("long", 3)):
        of = [one for one in classes if (one[0] == "0") == (kind == "short")]
        count = sum(int(one[1]) for one in of)
        if count:
            row[f"{kind}_kernels"] = count
            row[f"{kind}_within_pct"] = round(sum(int(one[1]) * int(one[place]) for one in of) / count)
    if classes:
        row["worst_points"] = max(float(one[2]) for one in classes)
table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
table.writeheader()
table.writerows(rows.values())
