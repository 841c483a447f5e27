"""action.yml, step by step as a runner takes them, on recorded runs."""

import csv
import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "gate"

# Measures by copying a recorded run, and answers all else as the command that it stands in for.
STAND_IN = """#!/bin/bash
if [[ $1 == run && $2 == --out ]]; then
  cp "$RECORDED_RUN.csv" "$3" && cp "$RECORDED_RUN.samples.csv" "${3%.csv}.samples.csv"
else exec "$COMMAND" "$@"; fi
"""


class Done(NamedTuple):
    status: int
    output: str  # of all steps, which is what a runner reads annotations from
    summary: str
    outputs: dict[str, str]  # of the action
    used: list[str]  # actions that steps use


class Runner:
    """As much of GitHub's runner as action.yml needs."""

    def __init__(self, folder: Path, **environment: str):
        self.folder = folder
        self.environment = environment
        self.action = YAML(typ="safe").load((ROOT / "action.yml").read_text())

    def run(self, **given: str) -> Done:
        inputs = {name: str(told.get("default", "")) for name, told in self.action["inputs"].items()}
        unknown = set(given) - {name.replace("-", "_") for name in inputs}
        assert not unknown, unknown
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        self.values = {f"inputs.{name}": value for name, value in inputs.items()}
        self.values |= {"github.action_path": str(ROOT), "github.run_id": "1", "github.token": "none"}
        summary, output, used, status = self.folder / "summary", "", [], 0
        summary.write_text("")
        path = self.folder / "path"
        path.write_text("")
        for part in self.action["runs"]["steps"]:
            if not self.is_to_run(part.get("if")):
                continue
            if "uses" in part:
                used.append(part["uses"].split("@")[0])
                continue
            assert part["shell"] == "bash", part["name"]
            outputs = self.folder / "outputs"
            outputs.write_text("")
            environment = {name: self.expanded(value) for name, value in part.get("env", {}).items()}
            environment |= {
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_PATH": str(path),
                "RUNNER_TEMP": str(self.folder),
                "PATH": ":".join([*path.read_text().split(), os.environ["PATH"]]),
                **self.environment,
            }
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", self.expanded(part["run"])],
                cwd=self.folder,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output += done.stdout
            for line in outputs.read_text().splitlines():
                name, value = line.split("=", 1)
                self.values[f"steps.{part['id']}.outputs.{name}"] = value
            if done.returncode != 0:
                status = done.returncode
                break
        told = {name: self.expanded(out["value"]) for name, out in self.action["outputs"].items()}
        return Done(status, output, summary.read_text(), told, used)

    def expanded(self, text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: self.values.get(found[1], ""), str(text))

    def is_to_run(self, condition: str | None) -> bool:
        if condition is None:
            return True
        name = re.fullmatch(r"(inputs\.[\w-]+) != ''", condition)
        assert name, f"this runner does not know the condition {condition}"
        return self.values[name[1]] != ""


class OnRecordedRuns(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        stand_in = self.folder / "occbench_that_copies"
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        self.stand_in = str(stand_in)

    def take(self, name: str, run: str, to: str) -> Path:
        """Rows and samples of one run of a recorded pair."""
        for kind in (".csv", ".samples.csv"):
            with gzip.open(RECORDED / f"{name}{kind}.gz", "rt", newline="") as file:
                lines = list(csv.reader(file))
            with (self.folder / f"{to}{kind}").open("w", newline="") as file:
                csv.writer(file).writerows(line[1:] for line in lines if line[0] in ("run", run))
        return self.folder / f"{to}.csv"

    def gate(self, name: str, before: str, after: str, **given: str) -> Done:
        self.take(name, before, "baseline")
        recorded = self.take(name, after, "candidate").with_suffix("")
        runner = Runner(self.folder, COMMAND=os.environ["OCCBENCH"], RECORDED_RUN=str(recorded))
        given = {"baseline": "baseline.csv", "report": "false", **given}
        return runner.run(measure="run --suite smoke", occbench=self.stand_in, **given)

    def runs_of(self, name: str) -> list[str]:
        with gzip.open(RECORDED / f"{name}.csv.gz", "rt", newline="") as file:
            return sorted({line[0] for line in csv.reader(file)} - {"run"})

    def test_a_run_of_the_same_build_passes(self) -> None:
        first, second, *_ = self.runs_of("unchanged")
        done = self.gate("unchanged", first, second)
        self.assertEqual((done.status, done.outputs["verdict"]), (0, "pass"), done.output)
        self.assertNotIn("::error", done.output)
        self.assertIn("pass", done.summary)
        self.assertIn("<details><summary>The rows</summary>", done.summary)
        self.assertEqual(done.used, ["actions/upload-artifact"])
        self.assertTrue((self.folder / done.outputs["rows"]).exists())
        for file in ("gate.md", "gate.xml", "gate.json", "bencher.json", "table.txt", "rows.samples.csv"):
            self.assertTrue((self.folder / "occbench" / file).exists(), file)

    def test_a_regression_fails_the_job_and_is_annotated_with_kernel_and_cause(self) -> None:
        before, after = self.runs_of("registers")[:2]
        self.assertEqual((before[-2:], after[-2:]), ("-a", "-b"))
        done = self.gate("registers", before, after)
        self.assertEqual((done.status, done.outputs["verdict"]), (1, "regression"), done.output)
        annotations = [line for line in done.output.splitlines() if line.startswith("::error")]
        self.assertIn("injected/injected/arithmetic/may_be_worse_in=registers", annotations[0])
        self.assertIn("::registers_per_thread 31 -> 33; blocks_per_sm 8 -> 6;", annotations[0])
        self.assertIn("regression", done.summary)
        self.assertEqual(self.gate("registers", before, after, fail_on="never").status, 0)

    def test_without_a_baseline_there_is_no_verdict_and_the_reason_is_annotated(self) -> None:
        run = self.runs_of("unchanged")[0]
        done = self.gate("unchanged", run, run, baseline="elsewhere.csv")
        self.assertEqual((done.status, done.outputs["verdict"]), (2, "no-verdict"), done.output)
        self.assertIn("::warning::no baseline: elsewhere.csv is not there", done.output)
        lenient = self.gate("unchanged", run, run, baseline="elsewhere.csv", fail_on="regression")
        self.assertEqual(lenient.status, 0)

    def test_where_nothing_is_to_be_gated_the_rows_are_the_result(self) -> None:
        run = self.runs_of("unchanged")[0]
        done = self.gate("unchanged", run, run, baseline="", artifact="")
        self.assertEqual((done.status, done.outputs["verdict"], done.used), (0, "none", []), done.output)

    def test_the_baseline_may_be_an_earlier_runs_artifact(self) -> None:
        first, second, *_ = self.runs_of("unchanged")
        (self.folder / "occbench" / "baseline").mkdir(parents=True)
        self.take("unchanged", first, "occbench/baseline/rows")
        done = self.gate("unchanged", first, second, baseline="", baseline_artifact="occbench")
        self.assertEqual((done.status, done.outputs["verdict"]), (0, "pass"), done.output)
        self.assertEqual(done.used, ["actions/download-artifact", "actions/upload-artifact"])

    def test_the_theory_of_kernels_is_gated_without_a_gpu(self) -> None:
        head = "case,compute_capability,block_threads,registers_per_thread\n"
        (self.folder / "now.csv").write_text(head + "product,9.0,256,40\n")
        command = os.environ["OCCBENCH"]
        (self.folder / "then.csv").write_text(head + "product,9.0,256,32\n")
        baseline = subprocess.run(
            [command, "calc", "--batch", self.folder / "then.csv"], capture_output=True, text=True, check=True
        )
        (self.folder / "baseline.csv").write_text(baseline.stdout)
        runner = Runner(self.folder)
        done = runner.run(measure='calc --batch "now.csv"', occbench=command, baseline="baseline.csv", report="false")
        self.assertEqual((done.status, done.outputs["verdict"]), (1, "regression"), done.output)
        self.assertIn("75 %", done.summary)

    def test_a_program_that_fails_fails_the_step_with_its_status(self) -> None:
        runner = Runner(self.folder)
        done = runner.run(measure="trace -- sh -c 'exit 7'", occbench=os.environ["OCCBENCH"], report="false")
        self.assertEqual(done.status, 7, done.output)

    def test_what_makes_no_rows_is_refused(self) -> None:
        done = Runner(self.folder).run(measure="columns", occbench=os.environ["OCCBENCH"])
        self.assertEqual(done.status, 64)
        self.assertIn("::error::measure begins with 'columns', which makes no rows", done.output)

    def test_a_report_is_drawn_where_its_packages_are(self) -> None:
        run = self.runs_of("unchanged")[0]
        self.take("unchanged", run, "baseline")
        runner = Runner(
            self.folder,
            COMMAND=os.environ["OCCBENCH"],
            RECORDED_RUN=str(self.folder / "baseline"),
            OCCBENCH_PYTHON=sys.executable,
        )
        done = runner.run(measure="run", occbench=self.stand_in)
        self.assertEqual(done.status, 0, done.output)
        self.assertTrue((self.folder / "occbench" / "report.html").exists(), done.output)

    def test_it_installs_a_wheel_where_one_is_named(self) -> None:
        wheels = sorted(ROOT.glob("build/wheels*/*.whl"), key=os.path.getmtime)
        if not wheels:
            self.skipTest("scripts/wheel has made no wheel")
        (self.folder / "now.csv").write_text("compute_capability,block_threads,registers_per_thread\n9.0,256,40\n")
        done = Runner(self.folder).run(wheel=str(wheels[-1]), measure="calc --batch now.csv", report="false")
        self.assertEqual(done.status, 0, done.output)
        self.assertTrue((self.folder / "occbench-environment" / "bin" / "occbench").exists())


if __name__ == "__main__":
    unittest.main()
