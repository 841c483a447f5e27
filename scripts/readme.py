#!/usr/bin/env python3
"""Writes the figures of README.md and of the texts under results/ from the recorded rows, between the marks
`<!-- NAME -->` and `<!-- end -->`. Nothing outside of the marks is touched, and no figure of a recorded run belongs there.

scripts/readme.py            # writes them
scripts/readme.py --check    # status 1 if what a text says is not what the rows say
"""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import claims
import depth_figures
import experiments
import gate_figures
import scheduling_figures
import suite_figures
from recorded import RESULTS, ROOT


def blocks_of_experiments() -> dict[str, Callable[[], str]]:
    blocks = {
        f"{name}: {what}": partial(experiments.block, name, what)
        for name, module in experiments.MODULES.items()
        for what in module.BLOCKS
    }
    for claim in claims.read_claims():
        blocks[f"{claim.experiment}: claim"] = partial(claims.claim_in_text, claim)
        blocks[f"{claim.experiment}: findings"] = partial(claims.findings_in_text, claim)
    return blocks


BLOCKS = (
    blocks_of_experiments()
    | suite_figures.BLOCKS
    | depth_figures.BLOCKS
    | gate_figures.BLOCKS
    | scheduling_figures.BLOCKS
)
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
        sys.exit(f"not what the recorded rows say: {', '.join(changed)}; scripts/readme.py writes them again")


if __name__ == "__main__":
    main()
