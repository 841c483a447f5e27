"""Recorded rows: cells by column, what an experiment varied by its name, the samples beside them."""

import csv
import gzip
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "nvidia-h200"
SUITE = RESULTS / "full.csv"


def read_csv(file):
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def write_csv(file, lines):
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, lines[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


class Row(dict):
    """Cells by column; one that was not measured is empty. A row of a Run has `samples`, lists of values by quantity."""

    def number(self, column):
        return float(self[column])

    def parameter(self, name):
        return dict(pair.split("=", 1) for pair in self["parameters"].split(";") if pair).get(name)

    def clock_hz(self):
        return self.number("sm_clock_mhz") * 1e6

    def miss(self, against="predicted_pct", of="achieved_pct"):
        """Points between what was said and what was counted."""
        return abs(self.number(of) - self.number(against))


class Rows(list):
    def pick(self, **wanted):
        """Those with these values of parameters, or where there is no such parameter, of columns."""

        def value(row, name):
            parameter = row.parameter(name)
            return row.get(name) if parameter is None else parameter

        return Rows(row for row in self if all(value(row, name) == str(want) for name, want in wanted.items()))

    def first(self, **wanted):
        return next(iter(self.pick(**wanted)), None)


class Experiment(Rows):
    """Its rows that were measured, counters included; `every` has the others too."""

    def __init__(self, name, every):
        super().__init__(row for row in every if row["achieved_pct"] and row["time_us"])
        self.name = name
        self.every = Rows(every)

    def one(self, **wanted):
        rows = self.pick(**wanted)
        if len(rows) != 1:
            raise SystemExit(f"{self.name} has {len(rows)} rows of {wanted}, not one")
        return rows[0]


def read_rows(file):
    return Rows(map(Row, read_csv(file)))


def read_samples(file):
    """Of the rows of a file: by experiment and case, and then by quantity."""
    of_case = defaultdict(lambda: defaultdict(list))
    samples = file.with_suffix(".samples.csv")
    # Recorded suites keep their samples compressed.
    for name in (samples, samples.with_name(samples.name + ".gz")):
        for sample in read_csv(name) if name.exists() else []:
            of_case[sample["experiment"], sample["case"]][sample["quantity"]].append(float(sample["value"]))
    return of_case


class Run:
    """All rows of some result files, with the samples beside them."""

    def __init__(self, files):
        self.rows = Rows()
        for file in map(Path, files):
            samples = read_samples(file)
            for row in read_rows(file):
                row.samples = samples[row["experiment"], row["case"]]
                self.rows.append(row)

    def of(self, experiment):
        return Experiment(experiment, [row for row in self.rows if row["experiment"] == experiment])


@cache
def suite():
    """The recorded run that the texts are about."""
    return Run([SUITE])


@cache
def against_ncu():
    return read_rows(RESULTS / "against_ncu.csv")


def numbers(rows, column):
    return [row.number(column) for row in rows]


def least(rows, column):
    return min(rows, key=lambda row: row.number(column))


def most(rows, column):
    return max(rows, key=lambda row: row.number(column))


def spread_pct(values):
    """By how much the largest exceeds the least."""
    return 100 * (max(values) / min(values) - 1)
