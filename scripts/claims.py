#!/usr/bin/env python3
"""The README's table of claims: what documents say, what recorded rows say, and whether the two agree.

    scripts/claims.py RESULTS.csv...    # prints it; scripts/readme.py puts that of the recorded run into README.md

Claims and sources are those of the experiments (bench/*.cpp). What was measured and the verdict are computed here from
the rows and their samples (RESULTS.samples.csv): each experiment has a function that turns its rows into findings, each
of which bears the claim out or does not, and `verdict` is the one rule over findings. Nothing is typed in by hand.
"""

import argparse
import csv
import gzip
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# What counts as the same and what as a difference.
SAME_POINTS = 1.0  # achieved occupancy, percentage points
SAME_RATIO = 0.05  # times and rates, relative
WORTH = 1.05  # a rate or time that is better by less is no gain


class Finding(NamedTuple):
    name: str  # what it is about, as a word in the verdict
    holds: bool
    measured: str


class Claim(NamedTuple):
    experiment: str
    claim: str
    source: str


def verdict(findings):
    """The one rule: a claim holds if every finding bears it out, and does not if none does."""
    failed = [finding.name for finding in findings if not finding.holds]
    if not findings:
        return "not measured"
    if not failed:
        return "holds"
    return "does not hold" if len(failed) == len(findings) else f"holds except: {', '.join(failed)}"


class Row(dict):
    """A recorded row: cells by column, numbers by `number`, what the experiment varied by `parameter`."""

    def number(self, column):
        return float(self[column])

    def parameter(self, name):
        return dict(pair.split("=", 1) for pair in self["parameters"].split(";") if pair).get(name)


class Run:
    """All rows of some result files, and the samples beside them."""

    def __init__(self, files):
        self.rows = []
        self.samples = defaultdict(lambda: defaultdict(list))
        for file in map(Path, files):
            self.rows += [Row(row) for row in read_csv(file)]
            samples = file.with_suffix(".samples.csv")
            # Recorded suites keep their samples compressed.
            for name in (samples, samples.with_name(samples.name + ".gz")):
                for sample in read_csv(name) if name.exists() else []:
                    key = sample["experiment"], sample["case"]
                    self.samples[key][sample["quantity"]].append(float(sample["value"]))

    def of(self, experiment):
        """Its rows that were measured, counters included."""
        return [row for row in self.rows if row["experiment"] == experiment and row["achieved_pct"] and row["time_us"]]

    def traces(self, row):
        return self.samples[row["experiment"], row["case"]]


def read_csv(file):
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def read_claims(bench=ROOT / "bench"):
    """Name, claim and source of each experiment: the three strings that `const Experiment experiment{` begins with."""
    claims = []
    for file in sorted(bench.glob("*.cpp")):
        text = file.read_text(encoding="utf-8")
        definition = re.search(r"const Experiment experiment\{(.*?),\s*\w+\};", text, re.DOTALL)
        if not definition:
            raise SystemExit(f"{file}: no experiment is defined there in the form that this script reads")
        strings = re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+)', definition[1])
        claims.append(Claim(*("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', string)) for string in strings)))
    return claims


def near(value, wanted, points=SAME_POINTS):
    return abs(value - wanted) <= points


def pick(rows, **wanted):
    """Rows with these values of parameters, or where there is no such parameter, of columns."""

    def value(row, name):
        parameter = row.parameter(name)
        return row.get(name) if parameter is None else parameter

    return [row for row in rows if all(value(row, name) == str(want) for name, want in wanted.items())]


def block_size(run):
    rows = {row["block_threads"]: row for row in pick(run.of("block_size"), variant="plain")}
    return [
        Finding(
            f"{threads} threads",
            near(rows[threads].number("achieved_pct"), claimed),
            f"{threads}: {rows[threads].number('achieved_pct'):.1f} %",
        )
        for threads, claimed in {"32": 50, "64": 100, "768": 75, "1024": 100}.items()
        if threads in rows
    ]


def waves(run):
    return [
        Finding(
            "three quarters of a wave",
            near(row.number("achieved_pct"), 75),
            f"0.75 waves: {row.number('achieved_pct'):.1f} %",
        )
        for row in pick(run.of("waves"), waves="0.75")
    ]


def register_cliff(run):
    findings = []
    for body in "latency", "throughput":
        rows = pick(run.of("register_cliff"), body=body, block_threads=512)
        before, after = (
            [row for row in pick(rows, registers_per_thread=count) if not row.parameter("padded_as")]
            for count in (31, 33)
        )
        if not before or not after:
            continue
        before, after = before[0], after[0]
        occupancies = [row.number("achieved_pct") for row in (before, after)]
        theory = [row.number("theoretical_pct") for row in (before, after)]
        slower = after.number("time_us") / before.number("time_us")
        findings += [
            Finding(
                f"occupancy of the {body}-bound kernel",
                theory == [100, 75] and near(occupancies[1] / occupancies[0], 0.75, 0.04),
                f"{body}-bound: achieved {occupancies[0]:.1f} → {occupancies[1]:.1f} %",
            ),
            Finding(
                f"time of the {body}-bound kernel",
                slower >= WORTH,
                f"time × {slower:.2f}",
            ),
        ]
        for control in pick(rows, padded_as=33):
            ratio = control.number("time_us") / after.number("time_us")
            findings.append(
                Finding(
                    f"{body}-bound control",
                    near(ratio, 1, SAME_RATIO),
                    f"31 registers at the same occupancy: time × {control.number('time_us') / before.number('time_us'):.2f}",
                )
            )
    return findings


def register_cap(run):
    rows = [row for row in pick(run.of("register_cap"), block_threads=256) if row["variant"].startswith("cap_")]
    if not rows:
        return []
    rows.sort(key=lambda row: row.number("registers_per_thread"))
    fewest, most = rows[0], rows[-1]
    fastest = min(rows, key=lambda row: row.number("time_us"))
    gains = [row.number("time_us") / fastest.number("time_us") for row in (fewest, most)]
    findings = [
        Finding(
            "occupancy",
            fewest.number("achieved_pct") > most.number("achieved_pct") + SAME_POINTS,
            f"{fewest['registers_per_thread']} registers: {fewest.number('achieved_pct'):.0f} %, "
            f"{most['registers_per_thread']}: {most.number('achieved_pct'):.0f} %",
        ),
        Finding(
            "the fastest",
            min(gains) >= WORTH,
            f"fastest with {fastest['registers_per_thread']} ({fastest.number('achieved_pct'):.0f} %): "
            f"{gains[0]:.2f} and {gains[1]:.2f} times as fast as those",
        ),
    ]
    if all(row["spill_bytes"] for row in rows):
        spills = [row.number("spill_bytes") for row in rows]
        findings.append(
            Finding(
                "spills",
                spills == sorted(spills, reverse=True) and spills[0] > 0,
                f"spills of {spills[0]:.0f} and {spills[-1]:.0f} B a thread",
            )
        )
    return findings


def shared_memory(run):
    rows = run.of("shared_memory")
    plain = [row for row in rows if not row.parameter("carveout_pct")]
    findings = []
    if plain:
        misses = [abs(row.number("achieved_pct") - row.number("theoretical_pct")) for row in plain]
        findings.append(
            Finding(
                "achieved",
                statistics.median(misses) <= SAME_POINTS,
                f"achieved within {statistics.median(misses):.1f} points of theory at the median of {len(plain)} sizes, "
                f"{max(misses):.1f} at most",
            )
        )
    for row in pick(plain, dynamic_shared_bytes=102400, block_threads=256):
        findings.append(
            Finding(
                "100 KB",
                row["blocks_per_sm"] == "2",
                f"100 KB: {row['blocks_per_sm']} blocks, {row.number('achieved_pct'):.1f} %",
            )
        )
    carved = pick(rows, dynamic_shared_bytes=16384)
    little, much = pick(carved, carveout_pct=0), pick(carved, carveout_pct=100)
    if little and much:
        achieved = [row.number("achieved_pct") for row in (little[0], much[0])]
        findings.append(
            Finding(
                "carveout",
                achieved[1] > achieved[0] + SAME_POINTS,
                f"16 KB a block: carveout 0 → {achieved[0]:.1f} %, 100 → {achieved[1]:.1f} %",
            )
        )
    return findings


def imbalance_within_block(run):
    findings = []
    for warps, factor in (8, 4), (8, 16), (32, 16):
        for row in pick(
            run.of("imbalance_within_block"),
            warps_per_block=warps,
            shape=f"slow_{factor}",
        ):
            # Of a place that stays empty until its block's slowest warp has ended.
            claimed = row.number("theoretical_pct") * (warps - 1 + factor) / (warps * factor)
            achieved = row.number("achieved_pct")
            findings.append(
                Finding(
                    f"1 of {warps} warps {factor} times longer",
                    near(achieved, claimed, 2 * SAME_POINTS),
                    f"1 of {warps} warps {factor} times longer: {achieved:.1f} % (empty places would make it {claimed:.1f})",
                )
            )
    return findings


def imbalance_between_blocks(run):
    rows = run.of("imbalance_between_blocks")
    findings = []
    for shape in dict.fromkeys(row.parameter("shape") for row in rows):
        few, many = (pick(rows, shape=shape, waves=count) for count in (1, 16))
        if shape == "equal" or not few or not many:
            continue
        elapsed = [row[0].number("achieved_elapsed_pct") for row in (few, many)]
        faster = few[0].number("time_us") / many[0].number("time_us")
        findings.append(
            Finding(
                shape,
                elapsed[0] < 100 - 5 * SAME_POINTS and elapsed[1] > elapsed[0] + SAME_POINTS and faster >= WORTH,
                f"{shape}: {elapsed[0]:.0f} → {elapsed[1]:.0f} % of the time with 16 times the blocks, {faster:.2f} times as fast",
            )
        )
    return findings


def tail_remedies(run):
    rows = pick(run.of("tail_remedies"), waves="1.50")
    findings = []
    for remedy in (
        "shorter_blocks",
        "narrower_blocks",
        "persistent",
        "persistent_shorter",
        "second_stream",
    ):
        for shape in "equal", "uniform":
            plain, cured = (pick(rows, remedy=name, shape=shape) for name in ("plain", remedy))
            if not plain or not cured:
                continue
            gain = cured[0].number("throughput") / plain[0].number("throughput")
            name = f"{remedy.replace('_', ' ')} ({shape})"
            findings.append(Finding(name, gain >= WORTH, f"{name}: throughput × {gain:.2f}"))
    return findings


def partial_warps(run):
    rows = {row["block_threads"]: row for row in pick(run.of("partial_warps"), kernel="live_values")}
    findings = []
    for part, whole, lanes in ("1", "32", 32), ("33", "64", 64 / 33):
        if part not in rows or whole not in rows:
            continue
        achieved = [rows[threads].number("achieved_pct") for threads in (part, whole)]
        rate = rows[whole].number("throughput") / rows[part].number("throughput")
        findings.append(
            Finding(
                f"blocks of {part}",
                near(*achieved, 2 * SAME_POINTS) and near(rate / lanes, 1, 2 * SAME_RATIO),
                f"{part} threads: {achieved[0]:.1f} %, {whole}: {achieved[1]:.1f} % with {rate:.1f} times the throughput",
            )
        )
    return findings


def placement(run):
    traced = [(row, run.traces(row)) for row in run.of("placement") if run.traces(row)["trace_sm"]]
    if not traced:
        return []
    ascending = [row for row, trace in traced if trace["trace_out_of_order"] == [0]]
    in_turn = [
        row
        for row, trace in traced
        if all(
            sm == block % row.number("sm_count") for block, sm in enumerate(trace["trace_sm"][: int(row["sm_count"])])
        )
    ]
    gaps = [gap for _, trace in traced for gap in trace["trace_hand_over_cycles"]]
    over = statistics.median(gaps) if gaps else 0
    return [
        Finding(
            "the SM",
            not in_turn,
            f"blocks went to SMs in the order of their numbers in {len(in_turn)} of {len(traced)} traced launches",
        ),
        Finding(
            "the order of starts on this GPU",
            len(ascending) < len(traced),
            f"blocks started in ascending order in {len(ascending)}; a place was handed on within {over:.0f} cycles at the median",
        ),
    ]


FINDINGS = {
    function.__name__: function
    for function in (
        block_size,
        waves,
        register_cliff,
        register_cap,
        shared_memory,
        imbalance_within_block,
        imbalance_between_blocks,
        tail_remedies,
        partial_warps,
        placement,
    )
}


def table(run, claims):
    lines = [
        "| experiment | claim | source | measured | verdict |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        findings = FINDINGS[claim.experiment](run) if claim.experiment in FINDINGS else []
        measured = "; ".join(finding.measured for finding in findings)
        lines.append(f"| `{claim.experiment}` | {claim.claim} | {claim.source} | {measured} | {verdict(findings)} |")
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+", help="CSV files of recorded rows; samples are looked for beside them")
    print(table(Run(parser.parse_args(arguments).results), read_claims()))


if __name__ == "__main__":
    main(sys.argv[1:])
