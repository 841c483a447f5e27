"""What on_gpu.py keeps of injected builds, and that a plant named by another cause is not as expected be: with a program in
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
plant = pathlib.Path(arguments[arguments.index("--pair") + 2]).name
answer = pathlib.Path(__file__).parent / (plant + ".json")
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
        """Whether all is as expected be, and the lines that are kept."""
        for plant, answer in answers.items():
            (self.folder / "build" / "bin" / f"{plant}.json").write_text(json.dumps(answer))
        out = self.folder / "out"
        out.mkdir()
        with contextlib.redirect_stdout(io.StringIO()):
            right = on_gpu.injected(self.folder / "build", out, 6, list(on_gpu.PLANTS))
        with (out / "injected.csv").open(newline="") as lines:
            return right, {line["plant"]: line for line in csv.DictReader(lines)}

    def answers(self):
        named = {name: plant.regressions for name, plant in on_gpu.PLANTS.items()}
        return {name: verdict(*of[0]) if of else PASS for name, of in named.items()}

    def test_each_plant_is_kept_with_its_cause_and_where_it_was_measured(self):
        right, lines = self.injected(**self.answers())
        self.assertTrue(right)
        self.assertEqual(list(lines), list(on_gpu.PLANTS))
        slower = lines["slower"]
        self.assertEqual((slower["exit_status"], slower["cases"], slower["regressions"]), ("1", "2", "1"))
        self.assertEqual((slower["cause"], slower["finding"]), ("time_us", "time_us 1 -> 2"))
        self.assertEqual((slower["commit"], slower["driver"], slower["recorded_at"]), ("abc", "580", "now"))
        self.assertEqual((lines["none"]["exit_status"], lines["none"]["cause"]), ("0", ""))

    def test_another_cause_another_case_a_pass_or_no_verdict_is_not_as_it_must_be(self):
        slow_warp = verdict("slow_warp_or_slower", "registers_per_thread")
        answers = self.answers() | {"slow_warp": slow_warp, "registers": verdict("block_size", "registers_per_thread")}
        answers |= {"none": verdict("block_size", "time_us"), "slower": PASS}
        del answers["shared_memory"]
        right, lines = self.injected(**answers)
        self.assertFalse(right)
        wrong = [plant for plant, line in lines.items() if line["as_it_must"] == "no"]
        self.assertEqual(wrong, ["none", "registers", "shared_memory", "slow_warp", "slower"])
        self.assertEqual(lines["shared_memory"]["exit_status"], "64")


if __name__ == "__main__":
    unittest.main()
