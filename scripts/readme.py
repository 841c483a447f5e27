#!/usr/bin/env python3
"""Writes the figures of README.md and of the texts under results/ from the recorded rows, between the marks
`<!-- NAME -->` and `<!-- end -->`. Nothing outside of the marks is touched, and no figure of a recorded run belongs there.

scripts/readme.py            # writes them
scripts/readme.py --check    # status 1 if what a text says is not what the rows say
"""

import argparse
import csv
import re
import statistics
import sys
from pathlib import Path

import claims
import depth_figures  # noqa: F401  its blocks are registered with those of figures
import figures
import gate_figures  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "nvidia-h200"
Rows = list[dict[str, str]]


def read(name: str) -> Rows:
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def number(row: dict[str, str], column: str) -> float:
    return float(row[column])


def counted(rows: Rows) -> Rows:
    """Those with both; what the runtime launches by itself has no theory."""
    return [row for row in rows if row["achieved_pct"] and row["theoretical_pct"]]


def error(rows: Rows, column: str) -> float:
    return statistics.mean(abs(number(row, column) - number(row, "achieved_pct")) for row in rows)


def machine(rows: Rows) -> str:
    first = rows[0]
    return (
        f"{first['gpu']} ({first['sm_count']} SMs, compute capability {first['compute_capability']}, driver "
        f"{first['driver']}, CUDA {first['cuda_toolkit']}), commit `{first['commit'][:12]}`, {first['recorded_at'][:10]}"
    )


def middle(rows: Rows, over: str) -> float:
    """Median error of the prediction of achieved occupancy, `over` = 'elapsed_' for that over elapsed cycles."""
    return statistics.median(
        abs(number(row, f"predicted_{over}pct") - number(row, f"achieved_{over}pct")) for row in rows
    )


def launch(row: dict[str, str]) -> tuple[str, ...]:
    """The same for launches that the simulator cannot tell apart."""
    return tuple(row[name] for name in ("kernel", "block_threads", "grid_blocks", "dynamic_shared_bytes", "work"))


def headline() -> str:
    rows = counted(read("full.csv"))
    predicted = [row for row in rows if row["predicted_pct"]]
    calibration, suite = ({launch(row) for row in each} for each in (counted(read("calibration.csv")), rows))
    return (
        f"Over {len(rows)} cases on an {machine(rows)}, theory is {error(rows, 'theoretical_pct'):.1f} points from the "
        f"counter on average; over the {len(predicted)} of them that are predicted, the prediction is "
        f"{error(predicted, 'predicted_pct'):.1f} points from it ({middle(predicted, ''):.1f} at the median) and theory "
        f"{error(predicted, 'theoretical_pct'):.1f}. Over all SMs and the longest one's cycles, which do not depend on who gets the "
        f"last blocks, the prediction is {middle(predicted, 'elapsed_'):.1f} points off at the median. Its device profile, "
        f"`{predicted[0]['device_profile']}`, was made on the same GPU before, by `occbench calibrate`, from {len(calibration)} launches, {len(calibration & suite)} of them also in the suite."
    )


def worked_examples() -> str:
    rows = read("full.csv")
    plain = [row for row in rows if row["experiment"] == "block_size" and row["variant"] == "plain"]
    blocks = {int(row["block_threads"]): row for row in plain}
    waves = {row["parameters"]: row for row in rows if row["experiment"] == "waves"}
    lines = [
        "| worked example | theory | predicted | counter |",
        "|---|---:|---:|---:|",
    ]

    def line(what: str, row: dict[str, str]) -> str:
        values = (f"{number(row, column):.2f} %" for column in ("theoretical_pct", "predicted_pct", "achieved_pct"))
        return f"| {what} | {' | '.join(values)} |"

    lines += [line(f"{threads} threads a block, 4 waves", blocks[threads]) for threads in (32, 64, 768, 1024)]
    lines.append(line("256 threads a block, three quarters of a wave", waves["waves=0.75"]))
    lines.append(line("256 threads a block, one wave and a half", waves["waves=1.50"]))
    whole = [row for threads, row in blocks.items() if threads % 32 == 0]
    worst = max(abs(number(row, "achieved_pct") - number(row, "theoretical_pct")) for row in whole)
    lines += [
        "",
        f"Every block size that is a multiple of 32 ({len(whole)} of them, 4 whole waves of 400,000 cycles) reads within "
        f"{worst:.2f} points of theory.",
    ]
    return "\n".join(lines)


def against_ncu() -> str:
    rows = read("against_ncu.csv")
    close = sum(abs(number(row, "achieved_difference_points")) <= 0.3 for row in rows)
    far = [number(row, "achieved_difference_points") for row in rows]
    far = [difference for difference in far if abs(difference) > 0.3]
    whole = all(row["experiment"] == "waves" for row in rows if abs(number(row, "achieved_difference_points")) > 0.3)
    others = (
        f"the others, {'partial waves of equal blocks, ' if whole else ''}differ by {min(far):+.1f} to {max(far):+.1f}"
    )
    time = max(abs(number(row, "time_difference_us")) for row in rows)
    ours = statistics.median(number(row, "counting_ms_per_launch") for row in rows)
    ncu = statistics.median(number(row, "ncu_ms_per_launch") for row in rows)
    return (
        f"`ncu` on the same {len(rows)} launches reads the same occupancy within 0.3 points in {close} cases ({others}), and the same "
        f"time within {time:.2f} µs. A counted launch costs {ours:.1f} ms here and {ncu:.1f} ms under `ncu` "
        f"([table](results/nvidia-h200/against_ncu.csv))."
    )


def claims_table() -> str:
    return claims.table(figures.run(), claims.read_claims())


BLOCKS = figures.BLOCKS | {
    "headline": headline,
    "worked examples": worked_examples,
    "against ncu": against_ncu,
    "claims": claims_table,
}
MARKED = re.compile(r"(<!-- (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def texts() -> list[Path]:
    return [ROOT / "README.md", *sorted(RESULTS.glob("*.md"))]


def written(file: Path) -> str:
    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in BLOCKS:
            sys.exit(f"{file}: nothing writes the block <!-- {name} -->")
        return match[1] + BLOCKS[name]() + "\n" + match[3]

    return MARKED.sub(block, file.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = []
    for file in texts():
        after = written(file)
        if after == file.read_text(encoding="utf-8"):
            continue
        changed.append(str(file.relative_to(ROOT)))
        if not check:
            file.write_text(after, encoding="utf-8")
    if check and changed:
        sys.exit(f"not what the recorded rows say: {', '.join(changed)}; scripts/readme.py writes them anew")


if __name__ == "__main__":
    main()
