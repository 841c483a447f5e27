"""The wheel in fresh virtual environments, with neither compilers nor the source tree in sight.

usage: wheel_test.py FILE.whl; with OCCBENCH_TIMES=FILE.md the commands' times are written there.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from slower import slower  # noqa: E402

SOURCES = Path(__file__).resolve().parents[2]
RECORDED = SOURCES / "results" / "nvidia-h100-80gb-hbm3" / "programs" / "training.json.gz"
WHEEL = Path(sys.argv.pop()).resolve()
SECONDS_TO_FIRST_ANSWER = 20
# Says "equal, 0.2 us" where one call answers the recorded launches as cuda_occupancy.h and the command do.
TEN_THOUSAND = f"""
import json, subprocess, sys, time
import numpy as np, occbench, polars as pl
file = {str(SOURCES / "tests" / "data" / "theory" / "launches.csv")!r}
rows = pl.read_csv(file, schema_overrides={{"compute_capability": pl.String}})
asked = dict(block_size="block_threads", registers="registers_per_thread", static_smem="static_shared_bytes",
             dynamic_smem="dynamic_shared_bytes", barriers="barriers")
asked = {{name: rows[column].to_numpy() for name, column in asked.items()}}
asked |= dict(compute_capability=rows["compute_capability"].to_numpy(), carveout=rows["carveout_pct"].fill_null(-1).to_numpy())
seconds = []
for _ in range(5):
    begin = time.perf_counter()
    answers = occbench.calc(**asked)
    seconds.append(time.perf_counter() - begin)
said = subprocess.run([sys.executable, "-m", "occbench", "calc", "--batch", file, "--format=json"], capture_output=True, check=True)
said = [row["blocks_per_sm"] for row in json.loads(said.stdout)]
same = answers.blocks_per_sm.tolist() == rows["blocks_per_sm"].to_list() == said
print("equal," if same else "different,", round(1e6 * min(seconds) / len(rows), 3), "us")
"""


class FreshEnvironment(unittest.TestCase):
    times: list[tuple[str, float]] = []

    @classmethod
    def setUpClass(cls) -> None:
        cls.enterClassContext(folder := tempfile.TemporaryDirectory())
        cls.folder = Path(folder.name)
        cls.python = cls.folder / "fresh" / "bin" / "python"
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "fresh"], check=True)
        cls.run_in_it("pip install WHEEL", "-m", "pip", "install", "--no-index", "--no-deps", str(WHEEL))
        cls.run_in_it(
            "first answer", "-c", "import occbench; print(occbench.calc('h200', block_size=256, registers=32))"
        )
        cls.until_first_answer = time.perf_counter() - begin
        cls.slower = slower()
        cls.times.append(("virtual environment, installation, first answer", cls.until_first_answer))

    @classmethod
    def tearDownClass(cls) -> None:
        if file := os.environ.get("OCCBENCH_TIMES"):
            lines = [f"| {name} | {seconds:.2f} s |" for name, seconds in cls.times]
            Path(file).write_text("\n".join(["| step | time |", "|---|---|", *lines]) + "\n")

    @classmethod
    def run_in_it(cls, name: str, *words: str, status: int = 0, **environment: str) -> str:
        begin = time.perf_counter()
        done = subprocess.run(
            [cls.python, *words],
            cwd=cls.folder,
            env={"PATH": "/nowhere", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        cls.times.append((name, time.perf_counter() - begin))
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def occbench(self, *words: str, status: int = 0, **environment: str) -> str:
        return self.run_in_it(
            " ".join(["occbench", *words[:2]]), "-m", "occbench", *words, status=status, **environment
        )

    def test_it_answers_within_seconds_of_its_installation(self) -> None:
        self.assertLess(self.until_first_answer, SECONDS_TO_FIRST_ANSWER * self.slower)

    def test_the_commands_work_one_after_the_other(self) -> None:
        self.assertIn("75 %", self.occbench("calc", "--gpu=a100-sxm4-80gb", "--block-size=512", "--registers=33"))
        launch = ["--gpu=h200", "--block-size=256", "--registers=20", "--grid=1320"]
        self.assertIn("1,056 blocks", self.occbench("predict", *launch, "--work=equal:100us"))
        self.occbench("trace", "--import", str(RECORDED), "--out", "rows.csv")
        self.assertIn("pass: 86 cases", self.occbench("gate", "rows.csv", "rows.csv"))
        self.assertIn("small_grid", self.occbench("explain", "rows.csv", "--format=json"))
        self.occbench("merge", "rows.csv", "-o", "merged.csv")
        self.assertIn("no package", self.occbench("report", "rows.csv", status=2))
        # The packages of the extra `report`.
        packages = sysconfig.get_path("purelib", vars={"base": str(self.folder / "fresh")})
        Path(packages, "extra.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.assertIn(
            "equal, ", told := self.run_in_it("10,000 launches, one call and the command", "-c", TEN_THOUSAND)
        )
        self.assertLess(float(told.split()[1]), slower(), "microseconds a launch")
        self.times.append((f"of these the call: {told.split()[1]} us a launch", 1e-2 * float(told.split()[1])))
        self.occbench("report", "rows.csv", "-o", "report.html")
        self.assertGreater((self.folder / "report.html").stat().st_size, 100_000)

    def test_a_sweep_is_planned_without_a_gpu(self) -> None:
        self.assertIn("live_registers", self.occbench("sweep", "--help"))
        words = ("sweep", "spin", "--block-size=256,768", "--list", "--gpu=h200")
        toolkits = (Path("/usr/local/cuda/lib64"), SOURCES / "build" / "cuda" / "lib")
        toolkit = next((folder for folder in toolkits if (folder / "libnvrtc.so").exists()), None)
        if toolkit is None:
            self.assertIn("nvidia-cuda-nvrtc", self.occbench(*words, status=64))
        else:
            listed = self.occbench(*words, OCCBENCH_CUPTI=str(toolkit), XDG_CACHE_HOME=str(self.folder))
            self.assertRegex(listed, "block_size=768 .* 75 %")

    def test_the_installed_command_is_the_module(self) -> None:
        command = self.python.parent / "occbench"
        done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, self.occbench("--version"))
        itself = os.environ | {"OCCBENCH_PROGRAM": str(command)}
        named = subprocess.run(
            [command, "--version"], env=itself, capture_output=True, text=True, check=True, timeout=60
        )
        self.assertEqual(named.stdout, done.stdout, "a command that names itself must not start itself without end")
        commit = os.environ.get("OCCBENCH_COMMIT", "[0-9a-f]{12}(-dirty)?")
        self.assertRegex(done.stdout, rf"^occbench \d+\.\d+\.\d+ \(commit {commit}\)$")

    def test_a_command_that_does_not_use_cuda_ends_as_it_does_untraced(self) -> None:
        self.assertIn("no process loaded libocc_trace.so", self.occbench("trace", "--", "/bin/true"))
        self.occbench("trace", "--", "/bin/sh", "-c", "exit 7", status=7)

    def test_where_there_is_no_gpu_it_says_so(self) -> None:
        if not Path("/dev/nvidiactl").exists():
            self.assertIn("no NVIDIA driver is loaded", self.occbench("devices", status=2))

    def test_what_is_installed_links_neither_cupti_nor_nvrtc(self) -> None:
        with zipfile.ZipFile(WHEEL) as files:
            files.extractall(self.folder / "unpacked")
        programs = [
            file
            for file in (self.folder / "unpacked").rglob("*")
            if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"
        ]
        self.assertEqual(len(programs), 4)
        of_c = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s)\.so|ld-linux")
        for program in programs:
            listed = subprocess.run(
                ["readelf", "--dynamic", program], capture_output=True, text=True, check=True
            ).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listed)
            self.assertEqual([name for name in needed if not of_c.match(name)], [], program)
            self.assertNotIn("PATH", listed)


if __name__ == "__main__":
    unittest.main()
