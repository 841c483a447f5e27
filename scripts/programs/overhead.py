"""How much longer loops take while they are traced. `overhead.py OCCBENCH FOLDER KIND ROUNDS WAY...`

WAY is alone, again (alone as well: how far two untraced processes differ), or what --counters takes (sampled, auto, off = activity
records alone, a number), with further options of occbench trace behind it ("auto --only none"), or a mode of subscriber.cpp, whose
library is beside the programs of FOLDER. Only one process can have the counters of a GPU, so that one way at most should take them.
Each way has a process of loops.py; in each round they run a short loop in turn, in random order, so that what disturbs a processor
for a second disturbs all. The first rounds, in which launches are counted one by one, are a warm-up. Prints how far a way is from
the first one: the median of the rounds, its quartiles, and the mean of the fastest tenth; whether all computed the same; what the
trace said. Rows are in FOLDER/KIND_WAY.csv.

    scripts/programs/overhead.py build/release/bin/occbench build/programs tokens 200 alone again auto
"""

import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

WARM_UP = 60
SUBSCRIBERS = ("nothing", "calls", "records", "elsewhere", "ended")

occbench, folder, kind, rounds, *ways = sys.argv[1:]
loops = [sys.executable, str(Path(__file__).with_name("loops.py")), kind, "short"]


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
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=os.environ | library,
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
times, values = ({way: [] for way in ways} for _ in range(2))
for number in range(WARM_UP + int(rounds)):
    for way, process in random.sample(list(processes.items()), len(processes)):
        seconds, value = turn(process)
        values[way].append(value)
        if number >= WARM_UP:
            times[way].append(seconds)


def fastest(way):
    return statistics.mean(sorted(times[way])[: max(1, len(times[way]) // 10)])


for way, process in processes.items():
    more = [100 * (one / first - 1) for one, first in zip(times[way], times[ways[0]], strict=True)]
    low, median, high = statistics.quantiles(more, n=4)
    begin = time.monotonic()
    said, _ = process.communicate()
    same = "equal" if values[way] == values[ways[0]] else "differ"
    tenth = 100 * (fastest(way) / fastest(ways[0]) - 1)
    print(
        f"{kind} {way}: {statistics.median(times[way]):.5f} s, {median:+.1f} % at the median, {min(more):+.1f} to {max(more):+.1f}; "
        f"quartiles {low:+.1f} to {high:+.1f}; fastest tenth {tenth:+.1f} %; values {same}; "
        f"ready after {ready[way]:.1f} s, ended with {process.returncode} after {time.monotonic() - begin:.2f} s"
    )
    print(said, Path(f"{file_of(way)}.err").read_text()[-600:], sep="")
