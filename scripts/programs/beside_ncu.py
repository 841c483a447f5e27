"""Shows what `occbench trace` says of any program beside what ncu says of its first launches.

    python3 scripts/programs/beside_ncu.py build/release/bin/occbench OUT.csv PROGRAM ARGUMENTS...

Needs ncu and a GPU whose counters may be read. The program should run for five seconds or more; under ncu it is ended after some
hundred launches. OUT.csv has a line for each kernel configuration that both counted, with how much of their peaks its tensor cores and
device memory were used. The last line takes those for which the middle half of ncu's readings is within 0.3 points.
"""

import csv
import statistics
import sys
from pathlib import Path

from sampled import LONG_US, STABLE_POINTS

from record import ACHIEVED, NCU, Done, ncu_launches, traced_launches, write_table

USES = {
    "tensor_use_pct": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "dram_busy_pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
}

LAUNCHES_OF_NCU = 300
KEPT = ("commit", "gpu", "driver", "recorded_at", "case", "time_us", "total_time_us", "counters_status", "achieved_pct")


def use_of(row: dict[str, str], column: str) -> str:
    units = dict(pair.split("=") for pair in row["unit_use"].split(";") if pair)
    return row.get(column) or units.get(column.removesuffix("_use_pct"), "")


def beside(rows: Path, ncu: str) -> list[dict[str, str]]:
    theirs = ncu_launches(ncu, USES.values())
    lines = []
    for key, row in traced_launches(rows).items():
        values = [reading[ACHIEVED] for reading in theirs.get(key, [])][1:]  # the trace's first is not counted
        if len(values) < 2 or not row["achieved_pct"]:
            continue
        first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
        line = {name: row[name] for name in KEPT} | {
            "ncu_achieved_pct": f"{middle:.2f}",
            "ncu_launches": f"{len(values)}",
        }
        for column, metric in USES.items():
            line[column] = use_of(row, column)
            read = [reading[metric] for reading in theirs[key]][1:]
            line[f"ncu_{column}"] = f"{statistics.median(read):.2f}"
        difference = float(row["achieved_pct"]) - middle
        lines.append(
            line | {"ncu_middle_half_points": f"{third - first:.2f}", "difference_points": f"{difference:.2f}"}
        )
    return sorted(lines, key=lambda line: -float(line["total_time_us"] or 0))


def summary(lines: list[dict[str, str]], rows: Path) -> str:
    stable = [line for line in lines if float(line["ncu_middle_half_points"]) <= STABLE_POINTS]
    told = []
    for kind, limit in (("long", 0.5), ("short", 1)):
        of = [line for line in stable if (float(line["time_us"] or 0) >= LONG_US) == (kind == "long")]
        close = sum(abs(float(line["difference_points"])) <= limit for line in of)
        told.append(f"{close} of {len(of)} {kind} ones within {limit} points")
    with rows.open(encoding="utf-8", newline="") as table:
        total = sum(float(row["total_time_us"] or 0) for row in csv.DictReader(table))
    share = 100 * sum(float(line["total_time_us"] or 0) for line in lines) / max(total, 1e-9)
    return f"{len(lines)} configurations with {share:.0f} % of the time in both; of those that ncu repeats: {', '.join(told)}"


def main() -> None:
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    occbench, out, command = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    rows = out.with_suffix(".rows.csv")
    traced = Done([occbench, "trace", "--out", str(rows), "--", *command], limit=600)
    print(traced.out, traced.err, sep="")
    few = ["--target-processes", "all", "--launch-count", str(LAUNCHES_OF_NCU), "--kill", "yes"]
    metrics = ",".join([NCU[-1], *USES.values()])
    ncu = Done([*NCU[:-1], metrics, *few, *command], limit=600)
    lines = beside(rows, ncu.out)
    if not lines:
        sys.exit(
            f"ncu and the trace have no kernel in common that both counted: {rows}, {ncu.out[-300:]} {ncu.err[-300:]}"
        )
    write_table(out, lines)
    for line in lines:
        print(
            *(
                line[name]
                for name in (
                    *KEPT[5:],
                    "ncu_achieved_pct",
                    "ncu_middle_half_points",
                    *USES,
                    *(f"ncu_{use}" for use in USES),
                    "case",
                )
            ),
            sep="  ",
        )
    print(summary(lines, rows))


if __name__ == "__main__":
    main()
