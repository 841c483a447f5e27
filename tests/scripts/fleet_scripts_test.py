"""scripts/slurm without Slurm: the same tasks on this host, with cases predicted instead of measured."""

import csv
import gzip
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts/slurm"
OCCBENCH = Path(os.environ["OCCBENCH"])
RECORDED = ROOT / "results/nvidia-h100-80gb-hbm3/full.csv"
REPEATED = ROOT / "results/nvidia-h100-80gb-hbm3/repeat.csv"
# Twelve smoke runs of one GPU.
RUNS = ROOT / "tests/data/fleet/h100_repeats.csv.gz"

# Drawing takes seconds, and no verdict depends on it.
WITHOUT_PAGES = {"OCCBENCH_PYTHON": "/bin/false"}

# In place of the program: `run` copies rows, the other commands are the program's.
FAKE = """#!/bin/bash
[[ $1 == run ]] || exec "$OCCBENCH_REAL" "$@"
while (($#)); do [[ $1 != --out ]] || out=$2; shift; done
[[ -z $FAKE_ROWS ]] || cp "$FAKE_ROWS" "$out"
cp "$FAKE_SAMPLES" "${out%.csv}.samples.csv.gz"
echo "the last line of the log"
"""


def run(*command, **environment) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def change(file: Path, column: str, factor: float) -> None:
    with file.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    for row in rows:
        if row[column]:
            row[column] = str(float(row[column]) * factor)
    with file.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))


class LocalFleet(InAFolder):
    def local(self, **environment):
        rehearsed = ("--", "--rehearse", RECORDED, "--filter", "^waves/")
        options = ("--gpus", 4, "--folder", self.folder, "--occbench", OCCBENCH)
        return run(SCRIPTS / "fleet", "--local", *options, *rehearsed, **environment)

    def finish(self, files: int):
        return run(SCRIPTS / "finish", files, self.folder, OCCBENCH, **WITHOUT_PAGES)

    def verdict(self) -> str:
        return (self.folder / "verdict").read_text(encoding="utf-8").strip()

    def test_measures_each_gpu_merges_and_ranks(self):
        done = self.local()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.verdict(), "in line")
        lines = (self.folder / "fleet.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual([json.loads(line)["verdict"] for line in lines], ["in line"] * 4)

    def test_goes_on_with_the_rows_that_are_there(self):
        self.assertEqual(self.local(**WITHOUT_PAGES).returncode, 0)
        file = next(self.folder.glob("gpu-*-2.csv"))
        whole = file.read_text(encoding="utf-8")
        file.write_text(whole[: len(whole) // 2], encoding="utf-8")
        done = self.local(**WITHOUT_PAGES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(file.read_text(encoding="utf-8").splitlines()), len(whole.splitlines()))

    def test_has_no_verdict_where_a_file_is_missing(self):
        self.assertEqual(self.local(**WITHOUT_PAGES).returncode, 0)
        self.assertEqual(self.finish(5).returncode, 2)
        self.assertEqual(self.verdict(), "no verdict; 4 of 5 files of rows are there")

    def test_names_a_slow_gpu_even_where_a_file_is_missing(self):
        self.assertEqual(self.local(**WITHOUT_PAGES).returncode, 0)
        change(next(self.folder.glob("gpu-*-1.csv")), "sm_clock_mhz", 0.95)
        self.assertEqual(self.finish(5).returncode, 1)
        self.assertIn("1 of 4 GPUs is out of line", self.verdict())

    def test_refuses_wrong_use(self):
        for wrong in (["--partition"], ["--nodes", "x", "--local"], [], ["--what", "1"]):
            with self.subTest(wrong=wrong):
                done = run(SCRIPTS / "fleet", *wrong)
                self.assertEqual(done.returncode, 64)
                self.assertIn("usage:", done.stderr)

    def test_refuses_files_that_are_not_there_before_it_measures(self):
        empty = self.folder / "empty"
        empty.mkdir()
        folder = self.folder / "fleet"
        for option, value in (
            ("--baseline", self.folder / "missing.csv"),
            ("--peers", self.folder / "missing.csv"),
            ("--peers", self.folder),
            ("--since", self.folder / "missing"),
            ("--since", RECORDED),
            ("--since", empty),
        ):
            with self.subTest(option=option, value=value):
                options = ("--gpus", 1, "--folder", folder, "--occbench", OCCBENCH, option, value)
                done = run(SCRIPTS / "fleet", "--local", *options, "--", "--rehearse", RECORDED, "--filter", "^waves/")
                self.assertEqual(done.returncode, 64, done.stdout)
                self.assertIn(f"{option} {value}: ", done.stderr)
                self.assertFalse(folder.exists())


class HealthCheck(InAFolder):
    def check(self, rows: Path | str, baseline: Path = RECORDED):
        fake = self.folder / "occbench"
        fake.write_text(FAKE, encoding="utf-8")
        fake.chmod(0o755)
        environment = {"OCCBENCH": str(fake), "OCCBENCH_REAL": str(OCCBENCH), "FAKE_ROWS": str(rows)}
        samples = REPEATED.with_suffix(".samples.csv.gz")
        done = run(SCRIPTS / "health_check", baseline, **environment, FAKE_SAMPLES=str(samples))
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        return done

    def test_passes_a_second_run_of_the_same_gpu(self):
        done = self.check(REPEATED)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("pass", done.stdout)

    def test_says_1_where_occupancy_fell(self):
        slower = self.folder / "slower.csv"
        slower.write_bytes(REPEATED.read_bytes())
        change(slower, "achieved_pct", 0.8)
        change(slower, "achieved_elapsed_pct", 0.8)
        self.assertEqual(self.check(slower).returncode, 1)

    def test_says_2_where_nothing_was_measured(self):
        done = self.check("")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the last line of the log", done.stdout)

    def test_says_2_and_why_where_there_is_no_baseline(self):
        done = self.check(REPEATED, self.folder / "none.csv")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.csv does not exist", done.stdout)

    def earlier_runs(self, runs: int) -> tuple[Path, Path]:
        """A folder of runs of one H100, and the run after them."""
        folder = self.folder / "earlier"
        folder.mkdir()
        with gzip.open(RUNS, "rt", encoding="utf-8", newline="") as packed:
            names, *rows = csv.reader(packed)
        files = {}
        for row in rows:
            files.setdefault(row[0], [names[1:]]).append(row[1:])
        *earlier, now = [files[name] for name in sorted(files)[: runs + 1]]
        for number, lines in enumerate(earlier):
            with (folder / f"{number}.csv").open("w", encoding="utf-8", newline="") as target:
                csv.writer(target, lineterminator="\n").writerows(lines)
        with (self.folder / "now.csv").open("w", encoding="utf-8", newline="") as target:
            csv.writer(target, lineterminator="\n").writerows(now)
        return folder, self.folder / "now.csv"

    def test_compares_with_a_folder_of_earlier_runs_whenever_they_were(self):
        folder, now = self.earlier_runs(4)
        done = self.check(now, folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("0 of 1 GPU", done.stdout)
        change(now, "sm_clock_mhz", 0.99)
        done = self.check(now, folder)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"GPU 0: SM clock 1\.0. % below the median")

    def test_says_2_where_there_are_too_few_earlier_runs(self):
        folder, now = self.earlier_runs(1)
        done = self.check(now, folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("a comparison needs 3", done.stdout)


if __name__ == "__main__":
    unittest.main()
