"""Every script says what it is for on --help."""

import subprocess
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Help(unittest.TestCase):
    def test_every_script_that_runs_has_a_help_text_and_ends_well(self):
        scripts = [file for file in SCRIPTS.glob("*.py") if "__main__" in file.read_text(encoding="utf-8")]
        self.assertGreaterEqual(len(scripts), 3)
        for script in sorted(scripts):
            with self.subTest(script.name):
                done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=False)
                if "ModuleNotFoundError" in done.stderr:
                    self.skipTest(f"{script.name} needs the packages of scripts/python")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"(?s)^usage: .+?\n\n\S.{30}")

    def test_an_argument_that_there_is_not_is_wrong_use(self):
        script = SCRIPTS / "readme.py"
        done = subprocess.run([sys.executable, script, "--chekc"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
