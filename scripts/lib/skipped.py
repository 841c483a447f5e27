"""Which tests were skipped, or failed, and why, by name, from CTest's JUnit files.

usage: skipped.py [--gpu-tests FILE] [--other FILE] RESULTS.xml...
FILE of --gpu-tests has the names of tests that need a GPU which this machine lacks, a line a test; FILE of --other a line
NAME<tab>REASON for each check that is no test of CTest. Exit status: 0 nothing was skipped, or only for want of a GPU; 1 something
else was.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple

LAST_LINES = 30  # of a failed test's output
# Tests of what is said where there is no GPU.
EXCUSED = ("there is a GPU",)
NO_GPU = "there is no GPU"


class Skip(NamedTuple):
    name: str
    reason: str


def reason_of(output: str) -> str:
    """What GoogleTest, unittest or a script gives as the reason; else the last line."""
    for pattern in (
        r": Skipped\n(.+)",  # GoogleTest: FILE:LINE: Skipped
        r"\.\.\. skipped ['\"](.+)['\"]",  # unittest
        r"SKIPPED: (.+)",
        r"^skipped=(\D.+)",
    ):
        if found := re.search(pattern, output):
            return found[1].strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"


def skipped_in(results: Path) -> list[Skip]:
    cases = xml.parse(results).getroot().iter("testcase")
    return [
        Skip(case.get("name", ""), reason_of(case.findtext("system-out", "")))
        for case in cases
        if case.find("skipped") is not None or case.get("status") == "disabled"
    ]


def failures_in(results: Path) -> str:
    """The name and the end of the output of each test that failed."""
    failed = [case for case in xml.parse(results).getroot().iter("testcase") if case.find("failure") is not None]
    ends = [case.findtext("system-out", "").strip().splitlines()[-LAST_LINES:] for case in failed]
    return "".join("\n".join((f"failed: {case.get('name')}", *end, "")) for case, end in zip(failed, ends, strict=True))


def lines_of(file: Path | None) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []


def told(skips: list[Skip]) -> str:
    """A line for each reason."""
    names: dict[str, list[str]] = {}
    for skip in skips:
        names.setdefault(skip.reason, []).append(skip.name)
    return "".join(f"skipped, {reason}: {', '.join(of_reason)}\n" for reason, of_reason in sorted(names.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu-tests", type=Path)
    parser.add_argument("--other", type=Path)
    parser.add_argument("results", nargs="*", type=Path)
    options = parser.parse_args()
    written = [results for results in options.results if results.exists()]
    skips = [skip for results in written for skip in skipped_in(results)]
    skips += [Skip(*line.split("\t", 1)) for line in lines_of(options.other)]
    for_a_gpu = set(lines_of(options.gpu_tests))
    missing_gpu = [Skip(skip.name, NO_GPU) for skip in skips if skip.name in for_a_gpu]
    others = [skip for skip in skips if skip.name not in for_a_gpu]
    print(told(missing_gpu + others) + "".join(map(failures_in, written)), end="")
    return int(any(skip.reason not in EXCUSED for skip in others))


if __name__ == "__main__":
    sys.exit(main())
