"""Records what `occbench trace` does where something is in the way: another tool, another CUPTI, MPS, no GPU.

    scripts/programs/build build/programs
    python3 scripts/programs/in_the_way.py --occbench build/release/bin/occbench --programs build/programs FOLDER

Writes FOLDER/in_the_way.csv, a line for each case: the exit status of the trace, how many rows it wrote, how many have times
and how many were counted, what the program computed, and what the trace said. `--cupti12 libcupti.so.12` adds a program that
has CUPTI 12. MPS is tried where its daemon is installed; it runs for this alone and changes no setting of the GPU.
"""

import contextlib
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from record import HERE, NCU, Recording, arguments, remove_scratch, write_table

CUPTI_13 = "libcupti.so.13"
#: Of processes, and of a folder of this run.
NUMBERS = re.compile(r"(?<=process) \d+|/\S+/pipe/(?=control)")


@contextlib.contextmanager
def mps() -> Iterator[None]:
    """NVIDIA's Multi-Process Service for processes that are started meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for place in places.values():
            Path(place).mkdir()
        with mock.patch.dict(os.environ, places):
            subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
            try:
                yield
            finally:
                subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)


@contextlib.contextmanager
def another(recording: Recording, *, traced: bool) -> Iterator[None]:
    """Another program uses the GPU, and has its counters if it is traced."""
    command = [f"{recording.programs}/launches", "looked", "1000000000"]
    other = subprocess.Popen(recording.trace(command, out="scratch_other.csv") if traced else command)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            other.wait(4)
        yield
    finally:
        other.terminate()
        other.wait()


class InTheWay:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.lines: list[dict[str, str]] = []
        self.own = f"{recording.programs}/own_cupti"

    def case(self, case: str, *command: str, options: tuple[str, ...] = ()) -> None:
        for file in self.recording.folder.glob("scratch.*"):
            file.unlink()
        done = self.recording.traced(list(command), *options)
        rows = self.recording.folder / "scratch.csv"
        read = list(csv.DictReader(rows.open(encoding="utf-8"))) if rows.exists() else []
        said = [line for line in done.err.splitlines() if line.startswith("occbench")]
        line = {"case": case, "status": f"{done.status}", "rows": f"{len(read)}"}
        line |= {
            name: f"{sum(bool(row[of]) for row in read)}"
            for name, of in (("timed", "time_us"), ("counted", "achieved_pct"))
        }
        line |= {"achieved_pct": " ".join(row["achieved_pct"] for row in read[:1]), "computed": done.line("computed")}
        line |= {"cupti": done.line("cupti"), "said": NUMBERS.sub("", "; ".join(said))}
        print(line, flush=True)
        self.lines.append(self.recording.stamp() | line)
        write_table(self.recording.folder / "in_the_way.csv", self.lines)

    def all(self, cupti12: str | None) -> None:
        recording, own = self.recording, self.own
        sample = f"{recording.programs}/sample"
        self.case("nothing is in the way", own, "none")
        self.case("the program ends with status 7", "sh", "-c", f"{own} none; exit 7")
        self.case("a command that does not exist", "./no-such-command")
        self.case("no CUDA in the program", "true")
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            self.case("the program sees no GPU", own, "none")
        with mock.patch.dict(os.environ, CUDA_INJECTION64_PATH="/another/library.so"):
            self.case("CUDA_INJECTION64_PATH is set", own, "none")
        self.case("the command is ncu", *NCU, sample, "2")
        self.case("the command is compute-sanitizer", "compute-sanitizer", own, "none")
        profiled = [sys.executable, f"{HERE}/training.py", "3", str(recording.folder / "scratch.json.gz")]
        self.case("the program uses PyTorch's profiler", *profiled)
        for version, path in {"13": CUPTI_13, "12": cupti12}.items():
            if path:
                self.case(f"the program subscribes to CUPTI {version} before the trace", own, path, "first")
        self.case("the program takes the records of CUPTI 13 after the trace began", own, CUPTI_13, "later")
        self.case("the program takes the records of CUPTI 13 for a while", own, CUPTI_13, "awhile")
        every = ("--after", "0", "--counters", "200")
        self.case("it takes them while each launch is counted", own, CUPTI_13, "awhile", options=every)
        if cupti12:
            self.case("the program tries to use CUPTI 12 after the trace began", own, cupti12, "later")
        with another(recording, traced=True):
            self.case("another trace has the counters", own, "none")
        if shutil.which("nvidia-cuda-mps-control"):
            with mps():
                self.case("MPS shares the GPU", own, "none")
                self.case("a second program under MPS", own, "none")
                with another(recording, traced=False):
                    self.case("another program runs under MPS", own, "none")
                with another(recording, traced=True):
                    self.case("another traced program runs under MPS", own, "none")


def main() -> None:
    options = arguments(__doc__, cupti12="a libcupti.so.12")
    InTheWay(Recording(options)).all(options.cupti12)
    remove_scratch(options.folder)


if __name__ == "__main__":
    main()
