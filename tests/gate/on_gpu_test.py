"""What on_gpu.py keeps of injected builds, and that one named by another cause is not as expected: with a program in
the place of occbench that answers what a test wants, and needs no GPU."""

import contextlib
import csv
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import on_gpu  # noqa: E402

PROGRAM = """#!{python}
import pathlib, sys
arguments = sys.argv[1:]
after = dict(zip(arguments, arguments[1:]))
kept = pathlib.Path(after["--keep"])
kept.mkdir(parents=True)
(kept / "01-a.csv").write_text("recorded_at,commit,gpu,gpu_uuid,driver,cuda_toolkit\\nnow,abc,GPU X,GPU-1,580,13.0\\n")
(kept / "02-b.csv").write_text("recorded_at,commit,gpu,gpu_uuid,driver,cuda_toolkit\\nthen,abc,GPU X,GPU-1,580,13.0\\n")
injection = pathlib.Path(arguments[arguments.index("--pair") + 2]).name
answer = pathlib.Path(__file__).parent / (injection + ".json")
if not answer.exists():
    sys.exit(64)
pathlib.Path(after["--write"].removeprefix("json=")).write_text(answer.read_text())
sys.exit(int('"regression"' in answer.read_text()))
"""


def verdict(case, cause):
    """A regression of that case, by that cause."""
    finding = {"subject": cause, "baseline": "1", "candidate": "2", "message": f"{cause} 1 -> 2"}
    passed = {"case": "spin/plain/may_be_worse_in=another", "verdict": "pass", "findings": []}
    worse = {"case": f"spin/plain/may_be_worse_in={case}", "verdict": "regression", "findings": [finding]}
    return {"verdict": "regression", "headline": "regression: 2 cases", "cases": [worse, passed]}


PASS = {"verdict": "pass", "headline": "pass: 2 cases", "cases": []}


class Injected(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        program = self.folder / "build" / "bin" / "occbench"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)

    def injected(self, **answers):
        """Whether all is as expected, and the lines that are kept."""
        for injection, answer in answers.items():
            (self.folder / "build" / "bin" / f"{injection}.json").write_text(json.dumps(answer))
        out = self.folder / "out"
        out.mkdir()
        with contextlib.redirect_stdout(io.StringIO()):
            right = on_gpu.injected(self.folder / "build", out, 6, list(on_gpu.INJECTIONS))
        with (out / "gate_injected.csv").open(newline="") as lines:
            return right, {line["injection"]: line for line in csv.DictReader(lines)}

    def answers(self):
        named = {name: injection.regressions for name, injection in on_gpu.INJECTIONS.items()}
        return {name: verdict(*of[0]) if of else PASS for name, of in named.items()}

    def test_each_injection_is_kept_with_its_cause_and_where_it_was_measured(self):
        right, lines = self.injected(**self.answers())
        self.assertTrue(right)
        self.assertEqual(list(lines), list(on_gpu.INJECTIONS))
        slower = lines["slower"]
        self.assertEqual((slower["exit_status"], slower["cases"], slower["regressions"]), ("1", "2", "1"))
        self.assertEqual((slower["cause"], slower["finding"]), ("time_us", "time_us 1 -> 2"))
        self.assertEqual((slower["commit"], slower["driver"], slower["recorded_at"]), ("abc", "580", "now"))
        self.assertEqual((lines["none"]["exit_status"], lines["none"]["cause"]), ("0", ""))
        packed = on_gpu.read(self.folder / "out" / "slower.csv.gz")
        self.assertEqual([(line["run"], line["recorded_at"]) for line in packed], [("01-a", "now"), ("02-b", "then")])

    def test_another_cause_another_case_a_pass_or_no_verdict_is_not_as_expected(self):
        slow_warp = verdict("slow_warp_or_slower", "registers_per_thread")
        answers = self.answers() | {"slow_warp": slow_warp, "registers": verdict("block_size", "registers_per_thread")}
        answers |= {"none": verdict("block_size", "time_us"), "slower": PASS}
        del answers["shared_memory"]
        right, lines = self.injected(**answers)
        self.assertFalse(right)
        wrong = [name for name, line in lines.items() if line["as_expected"] == "no"]
        self.assertEqual(wrong, ["none", "registers", "shared_memory", "slow_warp", "slower"])
        self.assertEqual(lines["shared_memory"]["exit_status"], "64")


class Unchanged(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_runs_that_were_packed_are_unpacked_as_they_were(self):
        runs = []
        for name, note in (("01", 'a "word", quoted'), ("02", "two\nlines")):
            runs.append(self.folder / f"{name}.csv")
            on_gpu.write(runs[-1], [{"case": "a", "note": note}, {"case": "b", "note": ""}])
            on_gpu.write(runs[-1].with_suffix(".samples.csv"), [{"case": "a", "value": name}])
        before = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        on_gpu.pack(runs, self.folder / "packed.csv.gz")
        out = self.folder / "out"
        out.mkdir()
        self.assertEqual(on_gpu.unpack(self.folder / "packed.csv.gz", out), [out / run.name for run in runs])
        self.assertEqual({file.name: file.read_bytes() for file in out.iterdir()}, before)

    def test_the_range_of_a_case_is_that_of_the_runs_that_counted_it(self):
        runs = [self.folder / f"{number}.csv" for number in range(3)]
        row = dict.fromkeys(on_gpu.PROVENANCE, "x") | {"experiment": "waves", "case": "a"}
        for run, (achieved, time) in zip(runs, ((50, 100), (52.5, 103), ("", 200)), strict=True):
            counted = {"achieved_pct": achieved, "achieved_elapsed_pct": achieved, "time_us": time}
            on_gpu.write(run, [row | counted])
        (line,) = on_gpu.ranges(runs)
        self.assertEqual((line["runs"], line["achieved_range_points"], line["time_range_pct"]), (2, "2.5000", "3.0000"))


if __name__ == "__main__":
    unittest.main()
