#!/usr/bin/env python3
"""The README's table of claims: what documents say, what recorded rows say, and whether the two agree.

    scripts/claims.py RESULTS.csv...    # prints it; scripts/readme.py puts that of the recorded run into README.md

Claims and sources are those of the experiments (bench/*.cpp). What was measured and the verdict are computed from
the rows and their samples (RESULTS.samples.csv): each experiment has a rule (scripts/experiments), which turns its rows
into findings, each of which supports the claim or does not, and there is one rule over findings. Nothing is typed in by
hand. The table has one line an experiment; all findings are in the experiment's text (scripts/readme.py).
"""

import argparse
import re
import sys
from typing import NamedTuple

import experiments
from markdown import machine, table
from recorded import ROOT, SUITE, Run, suite
from verdicts import measured, verdict


class Claim(NamedTuple):
    experiment: str
    claim: str
    source: str


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


def table_of_claims(run, claims):
    lines = []
    for claim in claims:
        findings = experiments.findings(claim.experiment, run)
        lines.append((f"`{claim.experiment}`", claim.claim, claim.source, measured(findings), verdict(findings)))
    return table(("experiment", "claim", "source", "measured", "verdict"), lines)


def claim_in_text(claim):
    rows = suite().of(claim.experiment).every
    recorded = (
        f"{machine(rows[0])}. {len(rows)} rows of [{SUITE.name}]({SUITE.name}), experiment `{claim.experiment}`; "
        f"occupancies in percent."
        if rows
        else "Not recorded yet."
    )
    return f"**Claimed:** {claim.claim} ({claim.source}).\n\n{recorded}"


def findings_in_text(claim):
    findings = experiments.findings(claim.experiment, suite())
    lines = [(finding.name, finding.measured, "yes" if finding.holds else "no") for finding in findings]
    return f"{table(('finding', 'measured', 'supports the claim'), lines)}\n\nThe claim: **{verdict(findings)}**."


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+", help="CSV files of recorded rows; samples are looked for beside them")
    print(table_of_claims(Run(parser.parse_args(arguments).results), read_claims()))


if __name__ == "__main__":
    main(sys.argv[1:])
