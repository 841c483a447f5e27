#!/usr/bin/env python3
"""The README's table of claims: what documents say, what recorded rows say, and whether the two agree.

    scripts/claims.py RESULTS.csv...    # prints it; scripts/readme.py puts that of the recorded run into README.md

Claims and sources are those of the experiments (bench/*.cpp). What was measured and the verdict are computed here from
the rows and their samples (RESULTS.samples.csv): each experiment has a `rule`, a function of its name that turns its rows
into findings, each of which bears the claim out or does not, and `verdict` is the one rule over findings. Nothing is typed
in by hand. The table has one line an experiment; all findings are in the experiment's text (scripts/readme.py).
"""

import argparse
import csv
import gzip
import math
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


class Findings(list):
    """The findings of an experiment that have too much to say for the table, which shows `summary` for them."""

    def __init__(self, findings, summary):
        super().__init__(findings)
        self.summary = summary


class Claim(NamedTuple):
    experiment: str
    claim: str
    source: str


FINDINGS = {}  # the rule of each experiment


def rule(function):
    """Registers the rule of the experiment of that name: from a Run to a list of findings, none if it was not run."""
    FINDINGS[function.__name__] = function
    return function


def measured(findings):
    if isinstance(findings, Findings) and findings:
        return findings.summary
    return "; ".join(finding.measured for finding in findings)


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
        self.rows_of_file = {}
        self.samples = defaultdict(lambda: defaultdict(list))
        for file in map(Path, files):
            self.rows_of_file[file] = [Row(row) for row in read_csv(file)]
            samples = file.with_suffix(".samples.csv")
            # Recorded suites keep their samples compressed.
            for name in (samples, samples.with_name(samples.name + ".gz")):
                for sample in read_csv(name) if name.exists() else []:
                    key = sample["experiment"], sample["case"]
                    self.samples[key][sample["quantity"]].append(float(sample["value"]))

    @property
    def rows(self):
        return [row for rows in self.rows_of_file.values() for row in rows]

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


@rule
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


@rule
def waves(run):
    rows = [row for count in ("0.75", "1.25", "1.50") for row in pick(run.of("waves"), waves=count)]
    findings = []
    told = []
    for row in rows:
        count = row.number("waves")
        # The last wave takes as long as a whole one.
        claimed = row.number("theoretical_pct") * count / math.ceil(count)
        achieved, elapsed = row.number("achieved_pct"), row.number("achieved_elapsed_pct")
        for name, value in ("achieved", achieved), ("of elapsed", elapsed):
            findings.append(
                Finding(f"{name} at {count:.2f} waves", near(value, claimed), f"{value:.1f} % ({claimed:.1f} claimed)")
            )
        told.append(f"{count:.2f}: {achieved:.1f} and {elapsed:.1f} ({claimed:.1f})")
    return Findings(findings, f"waves: achieved and of elapsed, % (claimed): {'; '.join(told)}")


@rule
def register_cliff(run):
    findings = []
    told = []
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
        told.append(f"{body}-bound: {occupancies[0]:.1f} → {occupancies[1]:.1f} %, time × {slower:.2f}")
        for control in pick(rows, padded_as=33):
            padded = control.number("time_us") / before.number("time_us")
            findings.append(
                Finding(
                    f"{body}-bound control",
                    near(padded / slower, 1, SAME_RATIO),
                    f"31 registers at the same occupancy: time × {padded:.2f}",
                )
            )
            told[-1] += f" (31 registers at the same occupancy: × {padded:.2f})"
    return Findings(findings, "; ".join(told))


@rule
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


@rule
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
                f"{len(plain)} sizes: {statistics.median(misses):.1f} points from theory at the median, {max(misses):.1f} at most",
            )
        )
    for row in pick(plain, dynamic_shared_bytes=102400, block_threads=256):
        capability = row["compute_capability"]
        if capability not in ("9.0", "10.0"):
            continue  # the claim says nothing of others
        findings.append(
            Finding(
                "100 KB",
                row["blocks_per_sm"] == "2",
                f"100 KB on {capability}, the only one measured: {row['blocks_per_sm']} blocks, "
                f"{row.number('achieved_pct'):.1f} %",
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


def longest_of(shape, warps):
    """Of a block's warps, drawn as `shape` says: how much longer than the mean its longest is expected to be."""
    kind, parameter = shape.split("_")
    if kind == "slow":
        factor = int(parameter)
        return factor * warps / (warps - 1 + factor)
    if kind == "uniform":  # from 0.5 to 1.5
        return 0.5 + warps / (warps + 1)
    if kind == "bimodal":  # one in ten takes 8 times as long
        return (1 + 7 * (1 - 0.9**warps)) / 1.7
    raise ValueError(f"no rule for the shape {shape}")


@rule
def imbalance_within_block(run):
    rows = run.of("imbalance_within_block")
    findings = []
    told = []
    for warps, shape, words in (
        (8, "slow_4", "1 of 8 warps × 4"),
        (8, "slow_16", "1 of 8 × 16"),
        (32, "slow_16", "1 of 32 × 16"),
        (8, "uniform_1", "uniform"),
        (8, "bimodal_1", "bimodal"),
    ):
        for row in pick(rows, warps_per_block=warps, shape=shape):
            # Of a place that stays empty until its block's slowest warp has ended.
            claimed = row.number("theoretical_pct") / longest_of(shape, warps)
            achieved = row.number("achieved_pct")
            measured = f"{achieved:.1f} % ({claimed:.1f})"
            findings.append(Finding(words, near(achieved, claimed, 2 * SAME_POINTS), measured))
            told.append(f"{words}: {measured}")
    return Findings(findings, f"achieved (claimed): {'; '.join(told)}")


@rule
def imbalance_between_blocks(run):
    rows = run.of("imbalance_between_blocks")
    findings = []
    gains = []
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
                f"of elapsed {elapsed[0]:.0f} → {elapsed[1]:.0f} %, {faster:.2f} times as fast",
            )
        )
        gains.append((faster, shape, *elapsed))
    if not gains:
        return []
    (least, least_shape, *_), (most, most_shape, *_) = min(gains), max(gains)
    before, after = ([gain[which] for gain in gains] for which in (2, 3))
    return Findings(
        findings,
        f"{len(gains)} shapes, 16 times the blocks: of elapsed {min(before):.0f} to {max(before):.0f} → {min(after):.0f} to "
        f"{max(after):.0f} %, {least:.2f} ({least_shape}) to {most:.2f} times ({most_shape}) as fast",
    )


@rule
def tail_remedies(run):
    rows = pick(run.of("tail_remedies"), waves="1.50")
    findings = []
    told = []
    for remedy in "shorter_blocks", "second_stream", "persistent_shorter", "persistent", "narrower_blocks":
        gains = []
        for shape in "equal", "uniform":
            plain, cured = (pick(rows, remedy=name, shape=shape) for name in ("plain", remedy))
            if not plain or not cured:
                continue
            gains.append(cured[0].number("throughput") / plain[0].number("throughput"))
            name = f"{remedy.replace('_', ' ')} ({shape})"
            findings.append(Finding(name, gains[-1] >= WORTH, f"throughput × {gains[-1]:.2f}"))
        if gains:
            told.append(f"{remedy.replace('_', ' ')} × {min(gains):.2f}–{max(gains):.2f}")
    return Findings(findings, f"throughput at 1.5 waves, equal and uneven: {', '.join(told)}")


@rule
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
                f"blocks of {part}: {achieved[0]:.1f} %, of {whole}: {achieved[1]:.1f} % with {rate:.1f} times the throughput",
            )
        )
    return findings


def clock_step(traces):
    """Nanoseconds by which the device's clock goes on, as far as the traces show: closer starts are simultaneous."""
    times = sorted({time for trace in traces for time in trace})
    return min((after - before for before, after in zip(times, times[1:], strict=False)), default=0)


def starts_ascending(starts, step):
    """Whether no block started later than one of a higher number did, by more than the clock's step."""
    earliest_above = math.inf
    for start in reversed(starts):
        if start > earliest_above + step:
            return False
        earliest_above = min(earliest_above, start)
    return True


def swapped(starts, again, step):
    """Whether two blocks started in the one order in one launch and in the other in another, simultaneous ones aside."""
    order = sorted(range(len(starts)), key=lambda block: starts[block])
    earlier, latest_again = 0, -math.inf
    for block in order:
        while starts[order[earlier]] + step < starts[block]:
            latest_again = max(latest_again, again[order[earlier]])
            earlier += 1
        if latest_again > again[block] + step:
            return True
    return False


@rule
def placement(run):
    traces = [run.traces(row) for row in run.of("placement") if run.traces(row)["trace_sm"]]
    twice = [trace for trace in traces if trace["trace_again_sm"]]
    step = clock_step([trace[name] for trace in traces for name in ("trace_start_ns", "trace_again_start_ns")])
    moved = sum(trace["trace_sm"] != trace["trace_again_sm"] for trace in twice)
    reordered = sum(swapped(trace["trace_start_ns"], trace["trace_again_start_ns"], step) for trace in twice)
    ascending = sum(starts_ascending(trace["trace_start_ns"], step) for trace in traces)
    findings = []
    if twice:
        findings = [
            Finding("the SM", moved > 0, f"launched twice, blocks went to other SMs in {moved} of {len(twice)} cases"),
            Finding("the order", reordered > 0, f"started in another order in {reordered}"),
        ]
    if traces:
        findings.append(
            Finding(
                "ascending starts",
                ascending < len(traces),
                f"started in ascending order in {ascending} of {len(traces)} (the clock steps {step:.0f} ns)",
            )
        )
    return findings


ENOUGH = 0.95  # of the best throughput
FP32_LANES = {
    "7.5": 64,
    "8.0": 64,
}  # of an SM, where they are not 128 (CUDA C++ Programming Guide, arithmetic instructions)


def throughput_of(row):
    return row.number("throughput")


def clock_hz(row):
    return row.number("sm_clock_mhz") * 1e6


def enough(rows):
    """Of rows that differ in occupancy alone: the one of least occupancy that has nearly the best throughput."""
    best = max(map(throughput_of, rows))
    return min(
        (row for row in rows if throughput_of(row) >= ENOUGH * best), key=lambda row: row.number("theoretical_pct")
    )


def by_variant(rows):
    groups = defaultdict(list)
    for row in rows:
        groups[row["variant"]].append(row)
    return groups


def latency_seconds(run, operation):
    """Of a dependent multiply-add, from one warp a scheduler and one chain; of a load, from the chain through memory."""
    if operation == "multiply_add":
        rows = pick(run.of("latency_hiding"), variant="multiply_add_1", blocks_per_sm=1)
        return rows and rows[0].number("grid_blocks") * rows[0].number("block_threads") / throughput_of(rows[0])
    rows = pick(run.of("latency_hiding"), kernel="chase", memory="device")
    return rows and 1 / throughput_of(rows[0])


def little_pct(run, row, rate):
    """The occupancy that Little's law asks for: latency x rate in flight, by warps that each have so many under way."""
    latency = latency_seconds(run, "reads" if row["kernel"] == "reads" else "multiply_add")
    own = own_in_flight(row) * int(row.parameter("bytes") or 1)
    warps = latency * rate / 32 / own / row.number("sm_count")
    return warps / (row.number("blocks_per_sm") * row.number("block_threads") / 32 / row.number("theoretical_pct"))


def copy_of(run):
    """The runtime's copy, of whose kernel no counter need tell."""
    rows = [row for row in run.rows if row["experiment"] == "latency_hiding" and row["variant"] == "copy"]
    return next((row for row in rows if row["time_us"]), None)


def own_in_flight(row):
    """Operations that a thread has under way at once."""
    return int(row.parameter("chains") or row.parameter("in_flight"))


def peak_multiply_adds(row):
    return row.number("sm_count") * FP32_LANES.get(row["compute_capability"], 128) * clock_hz(row)


@rule
def latency_hiding(run):
    rows = run.of("latency_hiding")
    findings = []
    told = []
    for kernel, size, words in (
        ("chains", None, "multiply-adds"),
        *(("reads", str(size), f"reads of {size} B") for size in (4, 8, 16)),
    ):
        chosen = [row for row in pick(rows, kernel=kernel) if row["theoretical_pct"] and row.parameter("bytes") == size]
        firsts = {own_in_flight(group[0]): enough(group) for group in by_variant(chosen).values()}
        if not firsts:
            continue
        for own, first in firsts.items():
            pct = first.number("theoretical_pct")
            measured = f"{100 * ENOUGH:.0f} % of their best from {pct:g} % occupancy on"
            if own > 2:  # with fewer a thread has little independent work, of which the claim says nothing
                findings.append(Finding(f"{words}, {own} in flight", pct <= 50, measured))
        of = [f"{first.number('theoretical_pct'):.0f}" for first in firsts.values()]
        told.append(f"{words}: {', '.join(of)}")
    if not findings:
        return []
    best = max(pick(rows, kernel="chains"), key=throughput_of)
    share = throughput_of(best) / peak_multiply_adds(best)
    findings.append(Finding("FP32 at its peak", share >= 0.97, f"{100 * share:.1f} % of SMs x lanes x clock"))
    copied = copy_of(run)
    reads = [row for row in pick(rows, kernel="reads") if row["variant"] != "copy"]
    if copied and reads:
        share = max(map(throughput_of, reads)) / throughput_of(copied)
        findings.append(
            Finding(
                "reads at their peak", share >= 0.98, f"{100 * share:.1f} % of the bytes a second that a copy moves"
            )
        )
    return Findings(
        findings, f"% occupancy for {100 * ENOUGH:.0f} % of the best, 1, 2, 4, 8 in flight a thread: {'; '.join(told)}"
    )


@rule
def pipe_saturation(run):
    findings = []
    told = []
    for pipe in "fp32", "xu":
        column = f"{pipe}_pipe_pct"
        for chains in (1, 4):
            rows = [row for row in pick(run.of("pipe_saturation"), pipe=pipe, chains=chains) if row[column]]
            if not rows:
                continue
            most = max(rows, key=lambda row: row.number("theoretical_pct"))
            full = [row for row in rows if row.number(column) >= 100 * ENOUGH]
            first = min(full or [most], key=lambda row: row.number("theoretical_pct"))
            gain = throughput_of(most) / throughput_of(first)
            reached, theory = first.number(column), first.number("theoretical_pct")
            findings.append(
                Finding(
                    f"{pipe}, {chains} {'chain' if chains == 1 else 'chains'} a thread",
                    bool(full) and gain < WORTH,
                    f"{reached:.1f} % of the pipe at {theory:g} % occupancy, {most.number(column):.1f} % and × {gain:.2f} at "
                    f"{most.number('theoretical_pct'):g} %",
                )
            )
            told.append(f"{pipe}, {chains}: {reached:.0f} at {theory:.0f}, then × {gain:.2f}")
    return Findings(findings, f"pipe, chains: % of it at % occupancy, and what full occupancy adds: {'; '.join(told)}")


@rule
def l1_carveout(run):
    findings = []
    for kilobytes in (16, 96, 160, 224, 384):
        rows = pick(run.of("l1_carveout"), kilobytes=kilobytes)
        most, least = pick(rows, carveout_pct=0), pick(rows, carveout_pct=100)
        if most and least:
            gain = throughput_of(most[0]) / throughput_of(least[0])
            findings.append(Finding(f"{kilobytes} KB", gain >= WORTH, f"× {gain:.2f}"))
    told = "; ".join(f"{each.name} {each.measured}" for each in findings)
    return Findings(findings, f"throughput, carveout of 0 over 100 %: {told}")


SUMS = {
    "thread": "an atomic a thread",
    "warp": "warp shuffles",
    "serial": "thread 0 of a block",
    "block": "the whole block",
}


@rule
def atomics(run):
    findings = []
    told = []
    for addresses in (1, 4096):
        times = {row.parameter("sum"): row.number("time_us") for row in pick(run.of("atomics"), addresses=addresses)}
        if "thread" not in times:
            continue
        gains = {name: times["thread"] / times[name] for name in ("warp", "serial", "block") if name in times}
        findings += [
            Finding(f"{SUMS[name]}, {addresses:,} addresses", gain >= WORTH, f"{gain:.2f} times as fast")
            for name, gain in gains.items()
        ]
        told.append(f"{addresses:,}: {', '.join(f'{name} {gain:.1f}' for name, gain in gains.items())}")
    return Findings(findings, f"addresses: times as fast as an atomic a thread: {'; '.join(told)}")


def sync_cost_us(run, **wanted):
    """Of one grid.sync(): a round with it less a round without."""
    grid, alone = (pick(run.of("grid_sync"), variant=variant, **wanted) for variant in ("grid", "alone"))
    return 1e6 / throughput_of(grid[0]) - 1e6 / throughput_of(alone[0]) if grid and alone else None


@rule
def grid_sync(run):
    every = [row for row in run.rows if row["experiment"] == "grid_sync"]
    limits, beyond = (pick(every, grid=grid) for grid in ("limit", "limit_and_one"))
    if not limits or not beyond:
        return []
    ran = sum(row["check"] == "ok" for row in limits)
    refused = sum(row["time_status"] == "skipped" and "is refused" in row["note"] for row in beyond)
    findings = [
        Finding("the limit", ran == len(limits), f"ran in {ran} of {len(limits)} cases"),
        Finding("one block more", refused == len(beyond), f"refused in {refused} of {len(beyond)}"),
    ]
    told = [f"the limit {findings[0].measured}, one block more was {findings[1].measured}"]
    rows = pick(run.of("grid_sync"), variant="grid", block_threads=256)
    counts = sorted({int(row.parameter("blocks_per_sm")) for row in rows if row.parameter("blocks_per_sm")})
    if len(counts) > 1:
        few, many = (sync_cost_us(run, block_threads=256, blocks_per_sm=count) for count in (counts[0], counts[-1]))
        measured = f"{few:.2f} µs with {counts[0]} block of 256 an SM, {many:.2f} with {counts[-1]}"
        findings.append(Finding("its cost", many >= WORTH * few, measured))
        told.append(f"grid.sync() {measured}")
    for threads in (256, 1024):
        held = pick(run.of("grid_sync"), kernel="hold", block_threads=threads)
        alone = pick(held, cluster=1)
        if not alone or len(held) < 2:
            continue
        slower = max(row.number("time_us") for row in held) / alone[0].number("time_us")
        findings.append(
            Finding(
                f"clusters of blocks of {threads}",
                slower < WORTH,
                f"up to {max(int(row['cluster_blocks']) for row in held)} blocks, as many clusters as the calculator allows: "
                f"at most × {slower:.2f} of a wave's time",
            )
        )
    return Findings(findings, "; ".join(told))


def table(run, claims):
    lines = [
        "| experiment | claim | source | measured | verdict |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        findings = FINDINGS[claim.experiment](run) if claim.experiment in FINDINGS else []
        cells = (f"`{claim.experiment}`", claim.claim, claim.source, measured(findings), verdict(findings))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+", help="CSV files of recorded rows; samples are looked for beside them")
    print(table(Run(parser.parse_args(arguments).results), read_claims()))


if __name__ == "__main__":
    main(sys.argv[1:])
