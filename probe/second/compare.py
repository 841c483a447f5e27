"""Interleaved loops alone and traced in several ways, and the rows of one way beside another's. compare.py OCCBENCH WORK KIND ROUNDS WAY..."""

import csv
import statistics
import subprocess
import sys
import time

occbench, work, kind, rounds, *ways = sys.argv[1:]
here = __file__.rsplit("/", 1)[0]
options = {"alone": None, "auto": [], "off": ["--counters", "off"], "three": ["--counters", "3"]}
runs = {}
last = "three" in ways
ways = [way for way in ways if way != "three"]
for way in ways:
    command = [sys.executable, f"{here}/turns.py", kind]
    if options[way] is not None:
        command = [occbench, "trace", "--out", f"{work}/{kind}_{way}.csv", "--top", "12", *options[way], "--", *command]
    runs[way] = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(f"{work}/{kind}_{way}.err", "w"), text=True
    )
for way, run in runs.items():
    run.stdout.readline()
times = {way: [] for way in ways}
values = {way: [] for way in ways}
for round_ in range(int(rounds) + 1):
    for way, run in runs.items():
        run.stdin.write("\n")
        run.stdin.flush()
        seconds, value = run.stdout.readline().split()
        if round_:
            times[way].append(float(seconds))
        values[way].append(value)
print(
    f"== {kind}: seconds "
    + "; ".join(f"{way} {statistics.median(t):.3f} ({min(t):.3f}-{max(t):.3f})" for way, t in times.items())
)
for way in ways[1:]:
    more = [100 * (t / a - 1) for t, a in zip(times[way], times[ways[0]])]
    print(
        f"   {way}: {statistics.median(more):+.1f} % at the median, {min(more):+.0f} to {max(more):+.0f}; values equal {values[way] == values[ways[0]]}"
    )
for way, run in runs.items():
    begin = time.time()
    out, _ = run.communicate()
    print(f"-- {way} ended with {run.returncode} in {time.time() - begin:.2f} s")
    if options[way] is not None:
        print(out[-2600:])
        print(open(f"{work}/{kind}_{way}.err").read()[-600:])
if last:  # alone, for it counts with another profiler of CUPTI's
    run = subprocess.run(
        [
            occbench,
            "trace",
            "--out",
            f"{work}/{kind}_three.csv",
            "--top",
            "5",
            *options["three"],
            "--",
            sys.executable,
            f"{here}/turns.py",
            kind,
        ],
        input="\n\n\n\n",
        capture_output=True,
        text=True,
    )
    print("-- three", run.returncode, run.stdout[-1200:], run.stderr[-600:])


def rows(way):
    try:
        return {
            (r["variant"] or r["kernel"], r["parameters"], r["dynamic_shared_bytes"], r["registers_per_thread"]): r
            for r in csv.DictReader(open(f"{work}/{kind}_{way}.csv"))
        }
    except OSError:
        return {}


if last:
    a, b = rows("auto"), rows("three")
    both = [
        (
            float(r["achieved_pct"]) - float(b[k]["achieved_pct"]),
            float(r["time_us"] or 0),
            float(b[k]["time_us"] or 0),
            float(b[k]["achieved_spread_points"] or 0),
            r["case"][:60],
            r["note"],
            float(b[k]["total_time_us"] or 0),
        )
        for k, r in a.items()
        if r["achieved_pct"] and k in b and b[k]["achieved_pct"]
    ]
    total = sum(float(r["total_time_us"] or 0) for r in b.values())
    counted = sum(float(r["total_time_us"] or 0) for k, r in b.items() if k in a and a[k]["achieved_pct"])
    print(
        f"rows: sampled run {len(a)} ({sum(r['achieved_pct'] != '' for r in a.values())} with achieved), counted run {len(b)}; {100 * counted / max(total, 1e-9):.1f} % of the counted run's time is of kernels that were sampled"
    )
    for low, high in ((0, 5), (5, 20), (20, 1e9)):
        d = sorted(abs(x[0]) for x in both if low <= x[2] < high)
        if d:
            print(
                f"   kernels of {low} to {high} us: {len(d)}, difference median {statistics.median(d):.2f}, 95th {d[int(0.95 * (len(d) - 1))]:.2f}, worst {d[-1]:.2f} points"
            )
    for x in sorted(both, key=lambda x: -x[6])[:40]:
        print(
            f"   {x[0]:+7.2f} points, sampled {x[1]:.2f} us, records {x[2]:.2f} us, spread {x[3]:.2f}, total {x[6] / 1e3:.2f} ms  {x[4]}  {x[5]}"
        )
