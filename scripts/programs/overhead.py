"""How much longer loops take while they are traced. `overhead.py OCCBENCH FOLDER KIND ROUNDS WAY...`

WAY is alone, again (alone as well: how far two untraced processes differ), or what --counters takes (sampled, auto, off = activity
records alone, a number), with further options of occbench trace behind it ("auto --only none"), or a mode of subscriber.cpp, whose
library is beside the programs of FOLDER. Only one process can have the counters of a GPU, so that one way at most should take them.
Each way has a process of loops.py; in each round they run short loops for half a second in turn, in random order, so that what
disturbs a processor for a while disturbs all. All launch from one processor, with their memory at the same addresses: otherwise two
untraced processes differ by more than a trace costs. The first rounds, in which launches are counted one by one, are a warm-up. Prints
how far the median loop of a way's turn is from the first way's: the median of the rounds and its quartiles; the mean of the fastest tenth
of all loops; whether all computed the same; what the trace said. Rows are in FOLDER/KIND_WAY.csv.

    scripts/programs/overhead.py build/release/bin/occbench build/programs tokens 24 alone again calls auto
"""

import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

WARM_UP, SECONDS = 8, 0.5
SUBSCRIBERS = ("nothing", "calls", "records", "elsewhere", "ended")

occbench, folder, kind, rounds, *ways = sys.argv[1:]
program = [sys.executable, str(Path(__file__).with_name("loops.py")), kind, "short", "pinned"]
loops = ["setarch", "--addr-no-randomize", *program]


def file_of(way):
    return f"{folder}/{kind}_{way.replace(' ', '_')}"


def started(way):
    trace = [occbench, "trace", "--out", f"{file_of(way)}.csv", "--top", "8", "--counters", *way.split(), "--"]
    untraced = way in ("alone", "again", *SUBSCRIBERS)
    library = {}
    if way in SUBSCRIBERS:
        library = {"CUDA_INJECTION64_PATH": str(Path(folder).resolve() / "libsubscriber.so"), "SUBSCRIBER": way}
    with Path(f"{file_of(way)}.err").open("w") as said:
        return subprocess.Popen(
            loops if untraced else trace + loops,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=os.environ | library | {"PYTHONHASHSEED": "0"},
        )  # fmt: skip


def turn(process):
    process.stdin.write("\n")
    process.stdin.flush()
    seconds, value = process.stdout.readline().split()
    return float(seconds), value


Path(folder).mkdir(parents=True, exist_ok=True)
begin = time.monotonic()
processes = {way: started(way) for way in ways}
ready = {}
for way, process in processes.items():
    process.stdout.readline()
    ready[way] = time.monotonic() - begin
loops_of_turn = max(1, round(SECONDS / min(turn(processes[ways[0]])[0] for _ in range(3))))
values = {way: [] for way in ways}
times = {way: [] for way in ways}  # a list of loops for each round
for way in ways[1:]:
    for _ in range(3):
        turn(processes[way])  # what the first way has run
for number in range(WARM_UP + int(rounds)):
    for way, process in random.sample(list(processes.items()), len(processes)):
        done = [turn(process) for _ in range(loops_of_turn)]
        values[way] += [value for _, value in done]
        if number >= WARM_UP:
            times[way].append([seconds for seconds, _ in done])


def fastest(way):
    seconds = sorted(itertools.chain.from_iterable(times[way]))
    return statistics.mean(seconds[: max(1, len(seconds) // 10)])


for way, process in processes.items():
    medians = {which: [statistics.median(loops) for loops in times[which]] for which in (way, ways[0])}
    more = [100 * (one / first - 1) for one, first in zip(medians[way], medians[ways[0]], strict=True)]
    low, median, high = statistics.quantiles(more, n=4)
    begin = time.monotonic()
    said, _ = process.communicate()
    same = "equal" if values[way] == values[ways[0]] else "differ"
    tenth = 100 * (fastest(way) / fastest(ways[0]) - 1)
    print(
        f"{kind} {way}: {statistics.median(medians[way]):.5f} s, {median:+.1f} % at the median, {min(more):+.1f} to {max(more):+.1f}; "
        f"quartiles {low:+.1f} to {high:+.1f}; fastest tenth {tenth:+.1f} %; values {same}; "
        f"ready after {ready[way]:.1f} s, ended with {process.returncode} after {time.monotonic() - begin:.2f} s"
    )
    print(said, Path(f"{file_of(way)}.err").read_text()[-600:], sep="")
