"""Records what `occbench trace` says of programs on this machine's GPU beside what ncu says, and what tracing costs.

Needs a GPU whose counters may be read, ncu, PyTorch, Triton, CuPy and JAX, and nothing else: it runs where occbench's Python
packages are not installed. Writes into FOLDER: the rows of each program (NAME.csv, NAME.samples.csv), against_ncu.csv (a line
for each launch that both counted), costs.csv, unchanged.csv (what each program computed with and without), choices.csv (what
tuners chose), killed.csv (launches in the file of each process that was killed), a second trace of `training` and the trace of
PyTorch's own profiler.

    scripts/programs/build build/programs
    python3 scripts/programs/record.py --occbench build/release/bin/occbench --programs build/programs FOLDER
"""

import argparse
import csv
import datetime
import io
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
ROUNDS, ROUNDS_OF_NCU = 10, 4
TRIES_OF_NCU = 4
ROUNDS_OF_SAMPLES = {"sample": 900, "inference": 1500, "training": 1000, "triton_kernels": 9000, "gemm": 900}
ROUNDS_OF_TUNERS = {"xla": 10, "xla with its cache": 3, "cudnn": 10}
PROGRAMS = {
    "sample": ["{programs}/sample"],
    "gemm": ["{programs}/gemm"],
    "inference": [sys.executable, f"{HERE}/inference.py"],
    "training": [sys.executable, f"{HERE}/training.py"],
    "triton_kernels": [sys.executable, f"{HERE}/triton_kernels.py"],
    "cupy_kernels": [sys.executable, f"{HERE}/cupy_kernels.py"],
    "jax_gradient": [sys.executable, f"{HERE}/jax_gradient.py", "ungraphed"],
}
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
CYCLES = "sm__cycles_active.avg"
REGISTERS = "launch__registers_per_thread"
NCU = ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
NCU += ["--print-kernel-base", "mangled", "--metrics", f"{ACHIEVED},{CYCLES},{REGISTERS}"]
#: Identifiers that tell builds of one source apart.
BUILT = re.compile(r"_GLOBAL__N__\w+|(CUB|THRUST)_\d{6}\w*")
Key = tuple[str, tuple[int, ...], tuple[int, ...], int]


class Done:
    """A command that has ended."""

    def __init__(self, command: list[str], limit: int = 120) -> None:
        begin = time.monotonic()
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            self.status, self.out, self.err = ended.returncode, ended.stdout, ended.stderr
        except subprocess.TimeoutExpired as late:
            self.status, self.out, self.err = 124, str(late.stdout or ""), str(late.stderr or "")
        self.seconds = time.monotonic() - begin
        if self.status != 0:
            print(f"{' '.join(command)[-120:]} ended with {self.status}: {self.err[-600:]}", flush=True)

    def line(self, word: str) -> str:
        """The rest of the first line of the output that begins with the word."""
        found = re.search(rf"^{word}\b ?(.*)$", self.out, re.MULTILINE)
        return found.group(1) if found else ""

    def number(self, word: str) -> float:
        numbers = self.line(word).split()
        return float(numbers[0]) if numbers else float("nan")

    def choices(self) -> dict[str, str]:
        """Of a program that says "chose NAME: VALUE"."""
        return dict(re.findall(r"^chose (.*): (.*)$", self.out, re.MULTILINE))


def dimensions(text: str) -> tuple[int, ...]:
    """Of "66x2", or of "(66, 2, 1)"."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return tuple(numbers + [1] * (3 - len(numbers)))


def traced_launches(file: Path) -> dict[Key, dict[str, str]]:
    launches = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            parameters = dict(one.split("=") for one in row["parameters"].split(";"))
            name = of_any_build(row["variant"] or row["kernel"])
            registers = int(row["registers_per_thread"])
            launches[name, dimensions(parameters["grid"]), dimensions(parameters["block"]), registers] = row
    return launches


def of_any_build(name: str) -> str:
    """A mangled name without what tells the builds of one source apart, whose identifiers the trace's rows shorten.

    Kernels of one name in unnamed namespaces of two files become one.
    """
    done = ""
    while found := re.search(r"(\d+)(_GLOBAL__N__|CUB_|THRUST_)", name):
        digits, beginning = found.groups()
        # The digits before a length may be those of another identifier that ends there.
        lengths = (int(digits[-count:]) for count in range(1, len(digits) + 1))
        whole = (length for length in lengths if BUILT.fullmatch(name[found.start(2) :][:length]))
        length = next(whole, len(beginning))
        done += name[: found.start()] + beginning
        name = name[found.start(2) + length :]
    return done + name


def ncu_launches(text: str, more: Iterable[str] = ()) -> dict[Key, list[dict[str, float]]]:
    """Readings of each launch in the order of the program, of further metrics too."""
    metrics = (ACHIEVED, CYCLES, REGISTERS, *more)
    table = "".join(line for line in io.StringIO(text) if line.startswith('"'))
    launches: dict[Key, list[dict[str, float]]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        if not row["ID"]:
            continue  # units stand below the names
        number = {name: float(row[name].replace(",", "") or "nan") for name in metrics}
        key = (
            of_any_build(row["Kernel Name"]),
            dimensions(row["Grid Size"]),
            dimensions(row["Block Size"]),
            int(number[REGISTERS]),
        )
        launches.setdefault(key, []).append(number)
    return launches


def kept_choices(cache: Path) -> dict[str, str]:
    """Variables with which JAX keeps what it compiled and chose. It keeps what takes long to compile, if not told otherwise."""
    cache.mkdir(parents=True, exist_ok=True)
    keep_all = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    return {"JAX_COMPILATION_CACHE_DIR": str(cache), **keep_all}


def under_ncu(command: list[str]) -> Done:
    """ncu ends some runs of JAX with a segmentation fault and then waits."""
    for _ in range(TRIES_OF_NCU):
        done = Done(NCU + command, limit=60)
        if done.status == 0:
            break
    return done


def compared(program: str, rows: Path, ncu: str) -> list[dict[str, str]]:
    """A line for each launch that both have counted. ncu's first launch of each is left out, as the trace's is."""
    lines = []
    theirs = ncu_launches(ncu)
    for key, row in traced_launches(rows).items():
        readings = theirs.get(key, [])[1:]
        if not readings or not row["achieved_pct"]:
            continue
        values = [reading[ACHIEVED] for reading in readings]
        middle = statistics.median(values)
        kept = ("case", "theoretical_pct", "predicted_pct", "achieved_pct")
        line = {name: row[name] for name in ("commit", "gpu", "gpu_uuid", "driver", "recorded_at")}
        line |= {"program": program} | {name: row[name] for name in kept}
        line |= {"ncu_achieved_pct": f"{middle:.2f}", "ncu_range_points": f"{max(values) - min(values):.2f}"}
        line |= {"difference_points": f"{float(row['achieved_pct']) - middle:.2f}"}
        line |= {"cycles_active": row["sm_cycles_active_avg"]}
        line |= {"ncu_cycles_active": f"{statistics.median(reading[CYCLES] for reading in readings):.0f}"}
        lines.append(line)
    return lines


def write_table(file: Path, lines: list[dict[str, str]]) -> None:
    if not lines:
        return
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


class Recording:
    def __init__(self, options: argparse.Namespace) -> None:
        self.folder: Path = options.folder
        self.occbench: str = options.occbench
        self.programs: str = options.programs
        self.counters: str = options.counters
        self.provenance: dict[str, str] = {}
        self.costs: list[dict[str, str]] = []

    def command(self, program: str, rounds: int) -> list[str]:
        return [word.format(programs=self.programs) for word in PROGRAMS[program]] + [str(rounds)]

    def trace(self, command: list[str], *options: str, out: str) -> list[str]:
        if "--counters" not in options:
            options = ("--counters", self.counters, *options)
        return [self.occbench, "trace", "--out", str(self.folder / out), "--top", "10", *options, "--", *command]

    def traced(self, command: list[str], *options: str, out: str = "scratch.csv", limit: int = 120) -> Done:
        done = Done(self.trace(command, *options, out=out), limit)
        self.see(self.folder / out)
        return done

    def see(self, rows: Path) -> None:
        """What is measured is stamped with the first rows' commit and GPU."""
        if rows.exists() and not self.provenance:
            row = next(iter(traced_launches(rows).values()))
            self.provenance = {key: row[key] for key in ("commit", "gpu", "gpu_uuid", "driver")}

    def compare(self, names: list[str]) -> None:
        with ThreadPoolExecutor() as workers:  # the same on a busy machine: only what is computed is looked at
            plain = dict(zip(names, workers.map(lambda name: Done(self.command(name, ROUNDS)), names), strict=True))
        # ncu ends some of JAX's runs with a segmentation fault while its tuner runs. So the trace keeps what it chose.
        cache = self.folder.resolve() / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        with mock.patch.dict(os.environ, kept_choices(cache)):
            self.compare_each(plain)
        shutil.rmtree(cache, ignore_errors=True)
        if "training" in names:
            # A second trace of the program for the gate, and one of PyTorch's own profiler.
            self.traced(self.command("training", ROUNDS), "--counters", "3", out="training_again.csv")
            Done([*self.command("training", ROUNDS), str(self.folder / "training.json.gz")])

    def compare_each(self, plain: dict[str, Done]) -> None:
        against, unchanged = [], []
        for name in plain:
            traced = self.traced(self.command(name, ROUNDS), "--counters", "3", out=f"{name}.csv")
            print(f"== {name}: {traced.seconds:.1f} s traced\n{traced.err[-700:]}{traced.out[-3600:]}", flush=True)
            rows = self.folder / f"{name}.csv"
            if not rows.exists():
                continue
            against += self.beside_ncu(name, rows, traced.seconds)
            computes, computes_traced = (done.line(name.split("_")[0]) for done in (plain[name], traced))
            line = {**self.stamp(), "program": name, "computes": computes, "computes_traced": computes_traced}
            unchanged.append(line | {"same": str(computes == computes_traced).lower()})
            write_table(self.folder / "against_ncu.csv", against)
            write_table(self.folder / "unchanged.csv", unchanged)
        self.summarize("all", against)
        for line in unchanged:
            print(f"{line['program']}: results the same: {line['same']} ({line['computes']})", flush=True)

    def compare_samples(self) -> None:
        """Programs of some seconds that are sampled, beside ncu."""
        against = []
        rows = self.folder / "scratch.csv"
        for name, rounds in ROUNDS_OF_SAMPLES.items():
            rows.unlink(missing_ok=True)
            traced = self.traced(self.command(name, rounds), "--counters", "sampled")
            if rows.exists():
                against += self.beside_ncu(name, rows, traced.seconds)
                write_table(self.folder / "sampled_against_ncu.csv", against)

    def beside_ncu(self, name: str, rows: Path, seconds: float) -> list[dict[str, str]]:
        ncu = under_ncu(self.command(name, ROUNDS_OF_NCU))
        (self.folder / f"{name}.ncu.txt").write_text(ncu.out, encoding="utf-8")
        lines = compared(name, rows, ncu.out)
        self.summarize(name, lines, seconds, ncu.seconds)
        return lines

    def stamp(self) -> dict[str, str]:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"recorded_at": now, **self.provenance}

    @staticmethod
    def summarize(name: str, lines: list[dict[str, str]], traced: float = 0, ncu: float = 0) -> None:
        steady = [abs(float(line["difference_points"])) for line in lines if float(line["ncu_range_points"]) <= 0.3]
        close = sum(points <= 0.3 for points in steady)
        print(f"{name}: {len(lines)} launches compared, {len(steady)} that ncu repeats within 0.3 points, {close} of them"
              f" within 0.3 of ncu; {traced:.1f} s traced, {ncu:.1f} s under ncu", flush=True)  # fmt: skip

    def cost(self, what: str, unit: str, values: list[float]) -> None:
        text = " ".join(f"{value:.4g}" for value in values)
        self.costs.append({**self.stamp(), "what": what, "unit": unit, "median": f"{statistics.median(values):.4g}"})
        self.costs[-1] |= {"values": text}
        write_table(self.folder / "costs.csv", self.costs)
        print(f"{what}: median {statistics.median(values):.4g} {unit} ({text})", flush=True)

    def measure_costs(self) -> None:
        looked = [f"{self.programs}/launches", "looked", "50000"]
        runs: dict[str, list[float]] = {"alone": [], "--counters off": [], "": []}
        for _ in range(3):
            for options, values in runs.items():
                done = Done(looked) if options == "alone" else self.traced(looked, *options.split())
                values.append(done.number("nanoseconds"))
        for options, values in runs.items():
            self.cost(f"a launch, {'alone' if options == 'alone' else f'trace {options}'.strip()}", "ns", values)
        # By default a launch of each is counted, by --counters 3 three, under ncu all four of them.
        for what, configurations, launches, counters in (
            ("a counted launch, trace", 50, 1, "auto"),
            ("a launch counted by --counters 3, trace", 200, 3, "3"),
            ("a counted launch, ncu", 50, 4, ""),
        ):
            counted = [f"{self.programs}/launches", "counted", str(configurations)]
            alone = Done(counted).number("milliseconds")
            done = self.traced(counted, "--after", "0", "--counters", counters) if counters else Done(NCU + counted)
            self.cost(what, "ms", [(done.number("milliseconds") - alone) / (launches * configurations)])
        million = self.traced([f"{self.programs}/launches", "looked", "1000000"], limit=60)
        self.cost("a launch of a million, trace", "ns", [million.number("nanoseconds")])
        print(f"{million.err[-300:]}{million.out[-500:]}")
        threads = self.traced([f"{self.programs}/launches", "threads", "2000"], limit=60)
        print(f"64 threads: {threads.seconds:.1f} s, status {threads.status} {threads.err[-300:]}{threads.out[-500:]}")

    def measure_waits(self) -> None:
        """What a thread that launches waits for while counting and sampling are set up, also where the device's memory is nearly full."""
        for percent, memory in (("1", ""), ("99", " where 99 % of the device memory is taken")):
            command = [f"{self.programs}/launches", "waits", "6", percent]
            for way, run in (("trace", self.traced), ("alone", Done)):
                done = [run(command) for _ in range(3)]
                self.cost(f"the first launch{memory}, {way}", "ms", [one.number("first") for one in done])
                self.cost(
                    f"waits above 10 ms after the first launch{memory}, {way}",
                    "ms",
                    [one.number("waited") for one in done],
                )
                self.cost(f"the longest of them{memory}, {way}", "ms", [one.number("longest") for one in done])
                self.cost(f"free memory gone{memory}, {way}", "MB", [one.number("taken") for one in done])
                print(f"computed right: {[one.line('correct') for one in done]}\n{done[-1].out[-400:]}", flush=True)

    def choose(self, tuners: list[str]) -> None:
        """What programs that time kernels to choose among them choose, in turns alone and traced."""
        lines = []
        cache = self.folder.resolve() / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        for tuner in tuners:
            command = [sys.executable, str(HERE / "choices.py"), tuner.split()[0]]
            if "cache" in tuner:
                command = ["env", *(f"{name}={value}" for name, value in kept_choices(cache).items()), *command]
            alone, traced = [], []
            for _ in range(ROUNDS_OF_TUNERS[tuner]):
                alone.append(Done(command).choices())
                traced.append(self.traced(command).choices())
            shutil.rmtree(cache, ignore_errors=True)
            untuned = Done([*command, "heuristics"]).choices() if tuner == "cudnn" else {}
            for choice in alone[0]:
                line = {**self.stamp(), "tuner": tuner, "choice": choice}
                line |= {"alone": " ".join(run.get(choice, "none") for run in alone)}
                line |= {"traced": " ".join(run.get(choice, "none") for run in traced)}
                line |= {"untuned": untuned.get(choice, "")}
                lines.append(line)
                print(f"{choice}: {line['alone']}; traced {line['traced']}; untuned {line['untuned']}", flush=True)
            write_table(self.folder / "choices.csv", lines)

    def kill(self) -> None:
        """20 programs that are killed while they launch: how many launches each had made, and how many its file has."""
        lines = []
        for number in range(20):
            milliseconds = 50 + 75 * number
            done = self.traced([f"{self.programs}/launches", "killed", str(milliseconds)])
            rows = self.folder / "scratch.csv"
            kept = sum(int(row["launches"]) for row in traced_launches(rows).values()) if rows.exists() else 0
            remove_scratch(self.folder)
            line = {"milliseconds": f"{milliseconds}", "status": f"{done.status}"}
            lines.append(line | {"launched": done.line("launched"), "in_the_file": f"{kept}"})
        # Stamped at the end: a process that is killed early leaves no rows.
        write_table(self.folder / "killed.csv", [{**self.stamp(), **line} for line in lines])
        print("killed:", *lines, sep="\n  ", flush=True)


def arguments(of: str | None, parts: str | None = None, **others: str) -> argparse.Namespace:
    """Of the command line, with what each of these programs takes. `others`: further options with their help."""
    parser = argparse.ArgumentParser(description=of, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--occbench", required=True, help="the program, with libocc_trace.so beside it")
    parser.add_argument("--programs", required=True, help="folder of scripts/programs/build")
    parser.add_argument("--counters", default="auto", help="of traces that choose none of their own")
    parser.add_argument("folder", type=Path)
    if parts:
        parser.add_argument("--parts", default=parts, help="which parts, separated by commas")
    for name, told in others.items():
        parser.add_argument(f"--{name}", help=told)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ.pop("CUDA_INJECTION64_PATH", None)
    return options


def remove_scratch(folder: Path) -> None:
    for file in folder.glob("scratch*"):
        file.unlink()


def main() -> None:
    parts = "compare,samples,choices,costs,waits,kill"
    options = arguments(__doc__, parts, only="programs to compare or tuners, separated by commas")
    recording = Recording(options)
    only = options.only.split(",") if options.only else []
    do = {
        "compare": lambda: recording.compare([name for name in PROGRAMS if name in only or not only]),
        "samples": recording.compare_samples,
        "choices": lambda: recording.choose([name for name in ROUNDS_OF_TUNERS if name in only or not only]),
        "costs": recording.measure_costs,
        "waits": recording.measure_waits,
        "kill": recording.kill,
    }
    for part, record in do.items():
        if part in options.parts.split(","):
            record()


if __name__ == "__main__":
    main()
