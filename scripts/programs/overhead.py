"""How much longer loops take while they are traced. `overhead.py OCCBENCH FOLDER KIND ROUNDS WAY...`

WAY is alone, again (alone as well: how far two untraced processes differ), or what --counters takes (sampled, auto, off = activity
records alone, a number). Each way has a process of loops.py, which run a loop in turn. Prints the median of the rounds' differences
from the first way, whether all computed the same, what each process took in all, and what the trace said. Rows are in
FOLDER/KIND_WAY.csv.

    scripts/programs/overhead.py build/release/bin/occbench build/programs tokens 8 alone again sampled auto
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

occbench, folder, kind, rounds, *ways = sys.argv[1:]
loops = [sys.executable, str(Path(__file__).with_name("loops.py")), kind]


def started(way):
    trace = [occbench, "trace", "--out", f"{folder}/{kind}_{way}.csv", "--top", "8", "--counters", way, "--"]
    command = loops if way in ("alone", "again") else trace + loops
    with Path(f"{folder}/{kind}_{way}.err").open("w") as said:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)


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
for number in range(int(rounds) + 1):
    for way, process in processes.items():
        seconds, value = turn(process)
        values[way].append(value)
        if number > 0:  # the first warms up
            times[way].append(seconds)
for way, process in processes.items():
    more = [100 * (traced / alone - 1) for traced, alone in zip(times[way], times[ways[0]], strict=True)]
    begin = time.monotonic()
    said, _ = process.communicate()
    print(
        f"{kind} {way}: {statistics.median(times[way]):.4f} s, {statistics.median(more):+.1f} % at the median, {min(more):+.1f} to "
        f"{max(more):+.1f}; values {'equal' if values[way] == values[ways[0]] else 'differ'}; ready after {ready[way]:.1f} s, "
        f"ended with {process.returncode} after {time.monotonic() - begin:.2f} s"
    )
    print(said, Path(f"{folder}/{kind}_{way}.err").read_text()[-600:] if way not in ("alone", "again") else "", sep="")
