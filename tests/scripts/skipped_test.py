"""What the end of scripts/test says of tests that were skipped or failed."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import made_up

sys.path.insert(0, str(made_up.ROOT / "scripts/lib"))

import skipped  # noqa: E402

RESULTS = """<testsuite><testcase name="a.Passed" status="run"><system-out>fine</system-out></testcase>
<testcase name="gpu.One" status="notrun"><skipped message="X"/><system-out>tests/on_a_gpu.hpp:20: Skipped
no CUDA-capable device is detected

[  SKIPPED ] gpu.One</system-out></testcase>
<testcase name="cli.Here" status="notrun"><skipped message="X"/><system-out>x.cpp:3: Skipped
there is a GPU
</system-out></testcase>{}</testsuite>"""
PAGE = """<testcase name="report.page" status="notrun"><skipped message="X"/><system-out>setUpModule (__main__) ... skipped
'there is no Chromium: apt-get install chromium'
</system-out></testcase>""".replace("skipped\n", "skipped ")


class Skipped(unittest.TestCase):
    def end_of(self, results, gpu_tests=("gpu.One",), other=""):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "results.xml").write_text(results)
        (folder / "gpu").write_text("".join(f"{name}\n" for name in gpu_tests))
        (folder / "other").write_text(other)
        arguments = ["--gpu-tests", folder / "gpu", "--other", folder / "other", folder / "results.xml"]
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["skipped.py", *map(str, arguments)]), contextlib.redirect_stdout(out):
            return skipped.main(), out.getvalue()

    def test_a_missing_gpu_is_excused_and_named(self):
        status, text = self.end_of(RESULTS.format(""))
        self.assertEqual(text, "skipped, there is a GPU: cli.Here\nskipped, there is no GPU: gpu.One\n")
        self.assertEqual(status, 0)

    def test_anything_else_is_named_with_its_reason(self):
        status, text = self.end_of(RESULTS.format(PAGE), other="fuzzing\tit needs clang++\n")
        self.assertIn("skipped, there is no Chromium: apt-get install chromium: report.page\n", text)
        self.assertIn("skipped, it needs clang++: fuzzing\n", text)
        self.assertEqual(status, 1)

    def test_where_there_is_a_gpu_its_tests_are_not_excused(self):
        status, text = self.end_of(RESULTS.format(""), gpu_tests=())
        self.assertIn("skipped, no CUDA-capable device is detected: gpu.One\n", text)
        self.assertEqual(status, 1)

    def test_what_failed_is_named_with_the_end_of_its_output(self):
        output = "".join(f"line {number}\n" for number in range(40))
        failed = f'<testcase name="web.times" status="fail"><failure/><system-out>{output}</system-out></testcase>'
        status, text = self.end_of(RESULTS.format(failed))
        self.assertIn("failed: web.times\nline 10\n", text)
        self.assertTrue(text.endswith("line 39\n"))
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()
