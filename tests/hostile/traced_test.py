#!/usr/bin/env python3
"""Each distinct call stack of an allocation or write inside the traced programs' library fails once, and after each failed write the
rename of the file that is then written whole: the program goes on to its result, and the file of its process is true.

usage: traced_test.py PROGRAM [--most N]    N stacks of each kind of program (default: all)"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KINDS = ("counted", "sampled", "handed_over", "ended", "refused")
SECONDS = 30  # of a run, which takes a tenth of one


def run(program: Path, preload: Path, kind: str, environment: dict[str, str]) -> tuple[str, list[str]]:
    """What was not held, and the calls that were listed."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "calls"
        environment = {"LD_PRELOAD": str(preload), "OCC_FAULT_WAITS": "1", **environment}
        if "OCC_FAULT" not in environment:
            environment["OCC_FAULT_LIST"] = str(listed)
        try:
            ended = subprocess.run(
                [program, kind, folder], env=os.environ | environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "a hang", []
        calls = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    if ended.returncode == 0 and ended.stdout == b"done 604\n":
        return "", calls
    return f"status {ended.returncode}, {ended.stdout!r}, {ended.stderr[-500:]!r}", calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--most", type=int, default=10**9)
    options = parser.parse_args()
    tried, held = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        preload = Path(folder) / "faults.so"
        compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", "-o", preload]
        subprocess.run([*compiler, Path(__file__).with_name("faults.cpp"), "-ldl"], check=True)
        for kind in KINDS:
            # Threads differ from run to run in what they come to do.
            stacks = set()
            for _ in range(3):
                fault, calls = run(options.program, preload, kind, {})
                if fault:
                    print(f"NOT HELD: {kind} without a fault: {fault}", file=sys.stderr)
                    return 1
                stacks |= {(call, stack) for call, _, stack in map(str.split, calls)}
            chosen = random.Random(1).sample(sorted(stacks), min(options.most, len(stacks)))
            chosen += [("rename", f"{call}@{stack},rename:1") for call, stack in chosen if call == "write"]
            faults = [stack if call == "rename" else f"{call}@{stack}" for call, stack in chosen]
            ended = pool.map(
                lambda each, kind=kind: run(options.program, preload, kind, {"OCC_FAULT": each})[0], faults
            )
            for (call, _), fault, what in zip(chosen, ended, faults, strict=True):
                tried[call] += 1
                held[call] += not fault
                if fault:
                    print(f"NOT HELD: {kind} {what}: {fault}", file=sys.stderr)
    for call, count in tried.items():
        print(f"{call:<24}{count:>8}{held[call]:>8}")
    return 0 if tried == held else 1


if __name__ == "__main__":
    sys.exit(main())
