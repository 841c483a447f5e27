#!/usr/bin/env python3
"""Ends a bench binary's process group at random times, by SIGINT and SIGKILL in turn, and resumes it: after each end the
file of rows must be whole for every finished case, and in the end every case must have its row once, beside no other file.

usage: end_at_random.py RUNS PROGRAM [ARGUMENT...]"""

import collections
import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def whole_lines(file: Path) -> list[dict[str, str]]:
    """The records of a CSV, less a last line that its writer did not end."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]), strict=True, restkey="more", restval=None))


def check(rows_file: Path, names: set[str]) -> set[str]:
    """The finished cases; ends the test if one of them is not whole."""
    rows = whole_lines(rows_file)
    samples = collections.Counter(
        sample["case"]
        for sample in whole_lines(rows_file.with_suffix(".samples.csv"))
        if sample["quantity"] == "time_us"
    )
    finished = [row["case"] for row in rows]
    if "--occ_fastest" in sys.argv and set(finished) == names:
        [whole] = [row for row in rows if row["counters_status"] == "ok"]
        least = min(float(row["time_us"]) for row in rows if row["time_us"])
        assert float(whole["time_us"]) <= 1.01 * least, (
            "the fastest of a resumed race is not the one that was measured whole"
        )
    assert len(finished) == len(set(finished)), "a case has two rows"
    for row in rows:
        assert None not in row.values() and "more" not in row, f"a row is torn: {row}"
        assert row["case"] in names and row["time_status"], row
        if row["time_status"] != "skipped":
            assert samples[row["case"]] == int(row["repetitions"]), f"{row['case']}: {samples[row['case']]} samples"
    return set(finished)


def kept_launches(rows_file: Path) -> collections.Counter[str]:
    """Timed launches of each case with a row."""
    finished = {row["case"] for row in whole_lines(rows_file)}
    samples = whole_lines(rows_file.with_suffix(".samples.csv"))
    return collections.Counter(
        sample["case"] for sample in samples if sample["quantity"] == "time_us" and sample["case"] in finished
    )


def main() -> None:
    runs, program, *arguments = sys.argv[1:]
    listed = subprocess.run([program, *arguments, "--occ_list"], check=True, capture_output=True, text=True).stdout
    names = {json.loads(line)["case"] for line in listed.splitlines() if line.startswith("{")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        command = [program, *arguments, f"--occ_csv={file}", "--occ_resume"]
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        whole_run = time.monotonic() - start
        assert check(file, names) == names, "a run that nobody ended lacks cases"
        file.unlink()
        completed = ended = resumed = 0
        before: collections.Counter[str] = collections.Counter()
        chance = random.Random(1)
        for run in range(int(runs)):
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            time.sleep(chance.uniform(0, whole_run))
            os.killpg(process.pid, signal.SIGINT if run % 2 else signal.SIGKILL)
            ended += process.wait() != 0
            kept = kept_launches(file)
            assert before <= kept, f"launches are lost: {before - kept}"
            resumed += bool(before)
            before = kept
            if file.exists() and check(file, names) == names:
                completed += 1
                file.unlink()
                before.clear()
        assert resumed, "no run was ended that had kept a launch"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert check(file, names) == names, "resuming did not complete the file"
        left = sorted(each.name for each in file.parent.iterdir())
        assert left == ["rows.csv", "rows.samples.csv"], f"left {left}"
    print(
        f"{runs} runs of {len(names)} cases, {ended} of them ended early; {completed + 1} files completed by resuming"
    )


if __name__ == "__main__":
    main()
