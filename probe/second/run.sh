#!/usr/bin/env bash
# On the GPU machine: OUT=folder bash probe/second/run.sh. At most 3 minutes. Writes 1 text file. What sampling in windows is worth.
set -u
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
mkdir -p "$OUT"
for packed in "$here"/bin/*.xz; do xz -dkc "$packed" > "$work/$(basename "${packed%.xz}")"; done
chmod +x "$work"/*
cupti=$(dirname "$(find /usr/local/cuda*/ -name 'libcupti.so.13' 2>/dev/null | head -1)")
mkdir -p "$work/lib"; ln -sf "$cupti"/libcupti* "$cupti"/libnvperf* "$work"/lib*.so* "$work/lib" 2>/dev/null
export LD_LIBRARY_PATH="$work/lib:${LD_LIBRARY_PATH:-}"
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  ldd "$work/occbench" | grep 'not found'
  echo "== sample alone, auto, --counters 9"; time timeout 60 "$work/sample" 300
  timeout 60 "$work/occbench" trace --top 0 --out "$work/s.csv" -- "$work/sample" 300
  timeout 60 "$work/occbench" trace --top 0 --counters 9 --out "$work/c.csv" -- "$work/sample" 30
  python3 - "$work" <<'P'
import csv, sys
a, b = ({(r["kernel"], r["parameters"], r["dynamic_shared_bytes"]): r for r in csv.DictReader(open(f"{sys.argv[1]}/{n}.csv"))} for n in "sc")
for k, r in a.items():
    o = b.get(k, {}); print(r["case"][:50], "sampled", r["achieved_pct"], r["time_us"], "us | counted", o.get("achieved_pct"), o.get("achieved_spread_points"), o.get("time_us"), "us |", r["note"], r["graph"])
P
  for n in 1 2 3; do for way in alone auto off; do
    case $way in alone) w=();; auto) w=("$work/occbench" trace --out "$work/l.csv" --);; off) w=("$work/occbench" trace --counters off --out "$work/l.csv" --);; esac
    echo "launches $way $(timeout 30 "${w[@]}" "$work/launches" looked 200000 2>&1 | grep nanoseconds)"; done; done
  timeout 70 python3 "$here/compare.py" "$work/occbench" "$work" tokens 8 alone auto off three
  timeout 60 python3 "$here/compare.py" "$work/occbench" "$work" gnn 8 alone auto three
  timeout 50 python3 "$here/compare.py" "$work/occbench" "$work" steps 8 alone auto off
  timeout 40 python3 "$here/compare.py" "$work/occbench" "$work" tokens_graph 6 alone auto
  echo "all took $SECONDS s"
} > "$OUT/second.txt" 2>&1
rm -rf "$work"
