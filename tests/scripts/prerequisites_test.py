"""What scripts/run and scripts/test say of each prerequisite that is missing, and what is left when they are interrupted.

They run in a copy of their own, on a machine that is made up by programs of the same name in front on the PATH: nothing is
installed, fetched or built."""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
NOBODY = 65534
PREREQUISITE_MISSING = 69
EVERYTHING = {
    "c++": "echo c++ 99",
    "cmake": "echo cmake version 99.0",
    "ninja": "",
    "dpkg-query": "printf installed",
    "df": "printf 'Avail\\n99000000\\n'",
    "dpkg": "",
    "apt-get": "exit 100",
    "sudo": "exit 1",
    "nvidia-smi": "echo 'No devices were found'; exit 6",
}
# No toolkit knows it, so that this machine's own never serves.
FUTURE_GPU = 'case "$*" in *compute_cap*) echo 99.9 ;; *driver_version*) echo 999.9 ;; esac'


class Prerequisites(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="occbench with spaces ")
        self.addCleanup(folder.cleanup)
        self.checkout = Path(folder.name) / "checkout"
        self.programs = Path(folder.name) / "programs"
        shutil.copytree(SCRIPTS, self.checkout / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        self.programs.mkdir()
        for path in (Path(folder.name), self.checkout):
            path.chmod(0o777)
        self.machine(**EVERYTHING)

    def machine(self, **programs):
        for name, body in programs.items():
            file = self.programs / name
            file.write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
            file.chmod(0o755)

    def start(self, script, *arguments, user=None, **variables):
        return subprocess.Popen(
            [self.checkout / "scripts" / script, *arguments],
            env={"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": "/nonexistent", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
            user=user if os.geteuid() == 0 else None,
        )

    def says(self, *expected, script="run", arguments=(), **options):
        """Fails for want of a prerequisite, with a text that has all that is expected."""
        process = self.start(script, *arguments, **options)
        text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, PREREQUISITE_MISSING, text)
        for part in expected:
            self.assertIn(part, text)
        return text

    def test_offline_names_packages_and_wheels_at_once_and_fetches_nothing(self):
        self.machine(**{"dpkg-query": "", "nvidia-smi": FUTURE_GPU, "apt-get": f"touch '{self.checkout}/fetched'"})
        lock = (SCRIPTS / "requirements.lock").read_text(encoding="utf-8")
        pinned = [line.split()[0] for line in lock.splitlines() if line[:1].isalpha()]
        toolkit = [name for name in pinned if name.startswith("nvidia-")]
        self.says("libfmt-dev libcli11-dev", "build/cuda: nvidia-", *toolkit, arguments=["--offline"])
        self.assertEqual([file.name for file in (self.checkout / "build").iterdir()], [".lock"])
        self.assertFalse((self.checkout / "fetched").exists())
        for_python = set(pinned) - set(toolkit)
        self.says("libfmt-dev libcli11-dev", "build/python: ", *for_python, script="test", arguments=["--offline"])

    def test_packages_that_only_root_may_install_are_named_with_the_command(self):
        self.machine(**{"dpkg-query": '[[ "${*: -1}" == zlib1g-dev ]] || printf installed'})
        self.says("only root may", "apt-get install --no-install-recommends zlib1g-dev\n", user=NOBODY)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, who may install")
    def test_packages_that_cannot_be_installed_are_named_with_what_apt_get_says(self):
        self.machine(**{"dpkg-query": "", "apt-get": "echo 'Temporary failure resolving'; exit 100"})
        self.says("Temporary failure resolving", "check the network and the package sources")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, who may install")
    def test_an_installation_that_was_cut_short_is_completed_first(self):
        steps = self.checkout / "steps"
        note = f'echo "$(basename "$0") $1" >>"{steps}"'
        self.machine(**{"dpkg-query": "", "dpkg": f"{note}; exit 1", "apt-get": f"{note}; [[ $1 == update ]]"})
        self.says("could not be installed")
        self.assertEqual(steps.read_text().splitlines(), ["apt-get update", "dpkg --configure", "apt-get install"])

    def test_too_little_disk_space_to_fetch_or_to_build(self):
        for smi in (FUTURE_GPU, EVERYTHING["nvidia-smi"]):
            with self.subTest(smi):
                self.machine(**{"df": "printf 'Avail\\n5999999\\n'", "nvidia-smi": smi})
                self.says("needs 6 GB", "5999 MB are free", "Free some space")

    def test_a_checkout_that_cannot_be_written_to(self):
        self.checkout.chmod(0o555)
        self.says(f"cannot write to {self.checkout}/build", "Make the checkout writable", user=NOBODY)

    def test_a_compiler_or_cmake_too_old(self):
        self.machine(**{"c++": "[[ $1 == --version ]] && echo c++ 9.4"})
        self.says("c++ (c++ 9.4) does not compile C++20", "g++ 11 or later")
        self.machine(**{"c++": 'exec /usr/bin/c++ -U__GNUC__ -D__GNUC__=10 "$@"'})
        self.says("does not compile C++20", "g++ 11 or later")
        self.machine(**{"c++": "", "cmake": "echo cmake version 3.24.9"})
        self.says("CMake 3.24.9 is too old: 3.25 or later")

    def test_a_driver_too_old_for_the_wheels(self):
        self.machine(**{"nvidia-smi": FUTURE_GPU.replace("999.9", "575.57")})
        self.says("driver 575.57 is older than 580", "Update the driver")

    def test_a_gpu_that_its_driver_does_not_show(self):
        self.machine(**{"dpkg-query": ""})
        self.says("nvidia-smi finds no GPU: No devices were found", arguments=["--offline"])

    def test_no_way_to_the_package_index(self):
        self.machine(**{"nvidia-smi": FUTURE_GPU})
        nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0"}
        self.says("could not be fetched", "check the network", **nowhere)
        self.assertFalse((self.checkout / "build" / "cuda").exists())

    def test_without_the_packages_of_the_report_a_run_still_measures(self):
        program = self.checkout / "build" / "cpu" / "bin" / "occbench"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "measured with $*"\n')
        program.chmod(0o755)
        self.machine(python="[[ $1 == -c ]]")  # it serves, and makes no environment
        process = self.start("run", "--suite", "smoke", PYTHON=str(self.programs / "python"))
        text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("measuring goes on without the Python packages", text)
        self.assertIn("scripts/python --version sets them up", text)
        self.assertTrue(text.endswith("measured with run --suite smoke\n"), text)

    def test_two_at_once_take_turns(self):
        self.machine(**{"dpkg-query": ""})
        (self.checkout / "build").mkdir()
        with open(self.checkout / "build" / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("run", "--offline")
            self.assertIn("another scripts/run or scripts/test is at work", process.stdout.readline())
            self.assertIsNone(process.poll())
        text, _ = process.communicate(timeout=60)
        self.assertIn("would be fetched", text)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, who may install")
    def test_an_interrupt_says_how_to_go_on_and_leaves_the_lock_free(self):
        self.machine(**{"dpkg-query": "", "apt-get": f"touch '{self.checkout}/started'; exec sleep 10"})
        process = self.start("run")
        deadline = time.monotonic() + 60
        while not (self.checkout / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, text)
        self.assertIn("run the same command again", text)
        self.assertNotIn("another scripts/run", self.says(arguments=["--offline"]))


if __name__ == "__main__":
    unittest.main()
