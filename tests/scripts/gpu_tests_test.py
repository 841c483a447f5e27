"""scripts/gpu_tests, and what it recorded; how scripts/programs/record.py finds a kernel's rows among those of ncu, and sampled.py
compares kernels."""

import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDED = sorted((ROOT / "results").glob("*/gpu_tests.csv"))

OCCBENCH = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
printf 'commit,gpu,gpu_uuid,driver\\nabc,H1,GPU-1,580\\n' > "$2"
"""
CTEST = """#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
cat > "$2" <<'XML'
<testsuite>
<testcase name="b.fast" time="1.25"><system-out>noise
measured: 1 us, 2 us outside
</system-out></testcase>
<testcase name="a.broken" time="2"><failure message=""/><system-out>wrong</system-out></testcase>
<testcase name="c.lacks" time="0"><skipped message=""/></testcase>
</testsuite>
XML
exit 8
"""


def rows(file):
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


class GpuTests(unittest.TestCase):
    def test_how_each_test_ended_is_recorded_and_rows_of_others_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            checkout = Path(folder)
            for name in ("gpu_tests", "lib/measured.py"):
                copy = checkout / "scripts" / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes((ROOT / "scripts" / name).read_bytes())
            programs = checkout / "build/release/bin"
            programs.mkdir(parents=True)
            for name, text in (("occbench", OCCBENCH), ("ctest", CTEST)):
                (programs / name).write_text(text)
                (programs / name).chmod(0o755)
            record = checkout / "record.csv"
            record.write_text(
                "recorded_at,commit,gpu,gpu_uuid,driver,test,status,seconds,measured\n"
                "then,old,H1,GPU-0,570,b.fast,failed,9,\nthen,old,H1,GPU-0,570,d.other,passed,3,\n"
            )
            path = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
            command = ["python3", checkout / "scripts/gpu_tests", record]
            ended = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 8, ended.stderr)
            told = [
                (row["test"], row["status"], row["seconds"], row["measured"], row["commit"]) for row in rows(record)
            ]
            self.assertEqual(
                told,
                [
                    ("a.broken", "failed", "2.0", "", "abc"),
                    ("b.fast", "passed", "1.2", "1 us, 2 us outside", "abc"),
                    ("c.lacks", "skipped", "0.0", "", "abc"),
                    ("d.other", "passed", "3", "", "old"),
                ],
            )

    def test_every_recorded_one_passed_and_the_sanitizers_are_among_them(self):
        recorded = [row for file in RECORDED for row in rows(file)]
        self.assertEqual([row["test"] for row in recorded if row["status"] != "passed"], [])
        passed = {row["test"] for row in recorded}
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            self.assertIn(f"gpu.{tool}_is_clean", passed)
        self.assertIn("gpu.memcheck_finds_a_injected_fault", passed)
        self.assertIn("gpu.racecheck_judges_shared_race", passed)


sys.path.append(str(ROOT / "scripts" / "programs"))
import sampled  # noqa: E402

import record  # noqa: E402


class Names(unittest.TestCase):
    def test_of_ncu_and_of_rows_are_the_same(self):
        for by_ncu, of_row in (
            ("_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji", "_ZN21_GLOBAL__N__sample_cu4fillEPji"),
            ("_ZN3ns237_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji", "_ZN3ns221_GLOBAL__N__sample_cu4fillEPji"),
            ("_ZN3cub17CUB_300001_SM_9006detail4scanEvv", "_ZN3cub10CUB_3000016detail4scanEvv"),
        ):
            self.assertEqual(record.of_any_build(by_ncu), record.of_any_build(of_row))
        self.assertEqual(record.of_any_build("_Z6reducePf"), "_Z6reducePf")
        self.assertNotEqual(record.of_any_build("_ZN3cub4scanEvv"), record.of_any_build("_ZN3cub4sortEvv"))


class SampledKernels(unittest.TestCase):
    ROW = dict.fromkeys((*sampled.KEY, "case"), "a<<<1, 32>>>") | {
        "launches": "900", "total_time_us": "60", "time_us": "6", "counters_status": "ok", "achieved_pct": "50",
        "achieved_spread_points": "0.1",
    }  # fmt: skip

    def test_each_is_listed_and_those_that_repeat_are_compared(self):
        far = {"kernel": "b", "counters_status": "sampled", "achieved_pct": "51"}
        short = far | {"kernel": "c", "time_us": "2"}
        spread = {"kernel": "d", "achieved_spread_points": "4", "total_time_us": "180"}
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder) / "ours.csv", Path(folder) / "counted.csv"
            record.write_table(files[0], [self.ROW | change for change in ({}, far, short, spread)])
            counted = [{**change, "counters_status": "ok", "achieved_pct": "50"} for change in ({}, far, short, spread)]
            record.write_table(files[1], [self.ROW | change | {"launches": "20"} for change in counted])
            lines = sampled.kernels(*files)
        self.assertEqual([line["compared"] for line in lines], ["true", "true", "true", "false"])
        self.assertEqual([line["source"] for line in lines], ["counted", "sampled", "sampled", "counted"])
        self.assertEqual((lines[3]["counted_spread_points"], lines[1]["launches"]), ("4", "900"))
        told = sampled.differences(lines, 360)
        self.assertEqual((told["stable_kernels"], told["stable_pct"], told["sampled_pct"]), ("3", "50.0", "66.7"))
        self.assertEqual((told["long_kernels"], told["long_within_pct"]), ("2", "50.0"))
        self.assertEqual((told["sampled_long_kernels"], told["sampled_long_within_pct"]), ("1", "0.0"))
        self.assertEqual((told["sampled_short_kernels"], told["sampled_short_within_pct"]), ("1", "100.0"))


if __name__ == "__main__":
    unittest.main()
