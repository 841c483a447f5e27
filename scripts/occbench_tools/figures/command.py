"""Writes the figures of README.md and of the texts under results/ from the recorded rows, between the marks
`<!-- NAME -->` and `<!-- end -->`. Nothing outside of the marks is touched, and no figure of a recorded run belongs there.

    scripts/python -m occbench_tools figures            # writes them
    scripts/python -m occbench_tools figures --check    # status 1 if what a text says is not what the rows say
"""

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from occbench_tools import WrongInput, experiments, figures
from occbench_tools.dataset import Results, Run, gpu_of, packed
from occbench_tools.experiments import NOT_RECORDED
from occbench_tools.markdown import machine, table
from occbench_tools.program import RESULTS, SOURCES, Claim, Occbench, binaries_of, declare_binaries, read_claims
from occbench_tools.verdicts import measured, verdict

# `$ occbench ARGUMENTS | N lines`: what the command prints, from its first line on.
PRINTED = re.compile(r"\$ occbench (?P<arguments>.+) \| (?P<lines>\d+) lines")
MARKED = re.compile(r"(<!-- (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)

# What the column "supports the claim" says.
SUPPORTS = {True: "yes", False: "no", None: "not claimed"}

Blocks = dict[str, Callable[[Results], str]]


def claim_in_text(claim: Claim, results: Results) -> str:
    rows = results.experiment(claim.experiment).every
    file = "full.csv" if claim.experiment in results.suite.rows["experiment"] else "added.csv"
    recorded = (
        NOT_RECORDED
        if rows.is_empty()
        else f"{machine(rows.row(0, named=True))}. {len(rows)} rows of [{file}]({file}), experiment "
        f"`{claim.experiment}`; occupancies in percent."
    )
    return f"**Claimed:** {claim.claim} ({claim.source}).\n\n{recorded}"


def suites(results: Results) -> dict[str, Run]:
    """The recorded experiments of each GPU model by its name, that of `results` first."""
    return {gpu_of(model.suite.rows): model.with_added for model in results.models if packed(model.folder / "full.csv")}


def findings_in_text(claim: Claim, results: Results) -> str:
    """A line for each finding, with what it measured on each GPU model and whether that supports the claim."""
    found = {gpu: experiments.findings(run.of(claim.experiment)) for gpu, run in suites(results).items()}
    by_name = {gpu: {finding.name: finding for finding in findings} for gpu, findings in found.items()}
    names = list(dict.fromkeys(finding.name for findings in found.values() for finding in findings))

    def cells(name: str) -> Iterator[str]:
        for of_model in by_name.values():
            finding = of_model.get(name)
            yield from (finding.measured, SUPPORTS[finding.holds]) if finding else ("", "")

    head = ("finding", *(column for gpu in found for column in (gpu, "supports the claim")))
    verdicts = "; ".join(f"{gpu}: **{verdict(findings)}**" for gpu, findings in found.items())
    return f"{table(head, [(name, *cells(name)) for name in names])}\n\nThe claim, {verdicts}."


def table_of_claims(runs: dict[str, Run], claims: list[Claim]) -> str:
    """A line for each experiment, linked to its text, which has the source and what a verdict excepts. What was measured is that
    of the first of `runs`, which are by the names of the GPU models; the verdict is of all."""
    first = next(iter(runs))
    lines = []
    for claim in claims:
        findings = {gpu: experiments.findings(run.of(claim.experiment)) for gpu, run in runs.items()}
        verdicts = {gpu: verdict(of_model).partition(" (")[0] for gpu, of_model in findings.items()}
        same = len(set(verdicts.values())) == 1
        told = verdicts[first] if same else ", ".join(f"{gpu}: {of_model}" for gpu, of_model in verdicts.items())
        name = f"[{claim.experiment}](../results/nvidia-h200/{claim.experiment}.md)"
        lines.append((name, claim.claim, measured(findings[first]), told))
    return table(("experiment", "claim", f"measured, {first}", f"verdict, {' and '.join(runs)}"), lines)


def block_in_text(name: str, what: str, results: Results) -> str:
    return experiments.block(results.experiment(name), what)


def blocks(claims: list[Claim]) -> Blocks:
    """By name, of all texts."""
    of_experiments: Blocks = {
        f"{name}: {what}": partial(block_in_text, name, what)
        for name, module in experiments.MODULES.items()
        for what in module.BLOCKS
    }
    for claim in claims:
        of_experiments[f"{claim.experiment}: claim"] = partial(claim_in_text, claim)
        of_experiments[f"{claim.experiment}: findings"] = partial(findings_in_text, claim)
    table_of_all: Blocks = {"claims": lambda results: table_of_claims(suites(results), claims)}
    return of_experiments | table_of_all | figures.BLOCKS


def texts(folder: Path = RESULTS) -> list[Path]:
    pages = sorted((SOURCES / "docs").rglob("*.md"))
    elsewhere = [SOURCES / "README.md", *pages, SOURCES / "examples/python/README.md"]
    return [*(elsewhere if folder == RESULTS else []), *sorted(folder.glob("*.md"))]


def printed(match: re.Match[str], results: Results) -> str:
    output = results.occbench.output(*shlex.split(match["arguments"]), folder=SOURCES).splitlines()
    kept = output[: int(match["lines"])]
    return "\n".join(["```", *kept, *(["..."] if len(kept) < len(output) else []), "```"])


def written(file: Path, known: Blocks, results: Results) -> str:
    """The text of a file with its blocks rewritten."""

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        command = PRINTED.fullmatch(name)
        if command:
            return match[1] + printed(command, results) + "\n" + match[3]
        if name not in known:
            raise WrongInput(f"{file}: nothing writes the block <!-- {name} -->")
        return match[1] + known[name](results) + "\n" + match[3]

    return MARKED.sub(block, file.read_text(encoding="utf-8"))


def check_experiments(claims: list[Claim], binaries: Path) -> None:
    """Each module of an experiment has its bench binary."""
    for name in experiments.MODULES.keys() - {claim.experiment for claim in claims}:
        raise WrongInput(
            f"{binaries} has no bench_{name}, and {experiments.__path__[0]}/{name}.py is there: build all bench binaries, "
            "or remove the module if the experiment is gone"
        )


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if a text is not up to date")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="folder with the rows of a GPU model and its texts (default: all; README.md and docs/ belong to results/nvidia-h200)",
    )
    declare_binaries(parser, "bench_*")


def run(options: argparse.Namespace) -> int:
    binaries = binaries_of(options, "bench_*")
    claims = read_claims(binaries)
    check_experiments(claims, binaries)
    known = blocks(claims)
    folders = (
        [options.results] if options.results else sorted(file.parent for file in RESULTS.parent.glob("*/full.csv"))
    )
    before: dict[Path, str] = {}
    after: dict[Path, str] = {}
    for folder in folders:
        results = Results(folder.resolve(), Occbench(binaries / "occbench"))
        of_folder = {file: file.read_text(encoding="utf-8") for file in texts(results.folder)}
        before |= of_folder
        after |= {file: written(file, known, results) for file in of_folder}
    changed = [file for file in before if before[file] != after[file]]
    if not options.check:
        for file in changed:
            file.write_text(after[file], encoding="utf-8")
        return 0
    if changed:
        print(
            f"occbench: not what the recorded rows say: {', '.join(map(str, changed))}; "
            "scripts/python -m occbench_tools figures writes them",
            file=sys.stderr,
        )
    return 1 if changed else 0
