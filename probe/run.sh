#!/usr/bin/env bash
# Run on the GPU machine: OUT=folder [BIN=folder of a release build] bash probe/run.sh. At most 3 minutes. Writes 3 text files to $OUT.
set -u
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
mkdir -p "$OUT"
for packed in "$here"/bin/*.xz; do xz -dkc "$packed" > "$work/$(basename "${packed%.xz}")"; done
chmod +x "$work"/* 2>/dev/null
cupti=$(dirname "$(find /usr/local/cuda*/ /usr/lib /opt "${CUDA_HOME:-/nonexistent}" -name 'libcupti.so.13' 2>/dev/null | head -1)")
mkdir -p "$work/lib"
ln -sf "$cupti"/libcupti* "$cupti"/libnvperf* "$cupti"/libpcsamplingutil* "$work/lib" 2>/dev/null
export LD_LIBRARY_PATH="$work/lib:${LD_LIBRARY_PATH:-}"
launches=$OUT/launches.txt samples=$OUT/samples.txt programs=$OUT/programs.txt
{
  echo "cupti in $cupti"; nvidia-smi --query-gpu=name,driver_version,persistence_mode --format=csv,noheader; nproc
  if ! ldd "$work/pm_probe" | grep -q 'not found' && timeout 20 "$work/pm_probe" registers; then :; else
    echo "compiling here"; nvcc -O2 -std=c++17 -arch=sm_90 -I"$cupti/../include" -L"$cupti" "$here/pm_probe.cu" -lcupti -lcuda -L"$cupti/stubs" -o "$work/pm_probe" && timeout 20 "$work/pm_probe" registers
  fi
} > "$launches" 2>&1
[ "${1:-}" = quick ] && exit
# Programs that wait for their turn import meanwhile.
export TURN=$work/turn READY=$work/ready GO=$work/go
: > "$READY"
started=0
tokens() {  # label, variables...
  local label=$1; shift
  mkdir -p "$work/$label"
  env "$@" LABEL="$label" OCCBENCH_TRACE_OUT="$work/$label/run.csv" OCC_PROBE_FILE="$work/$label/parts.txt" timeout 230 python3 "$here/tokens.py" 2 > "$work/$label/said.txt" 2>&1 &
  started=$((started + 1))
}
lib="CUDA_INJECTION64_PATH=$work/libocc_trace.so"
tokens alone A=1
tokens alone_again A=1
tokens subscribed "$lib" OCCBENCH_TRACE_COUNTERS=0 "OCC_PROBE=norecords noflush"
tokens empty_callbacks "$lib" OCCBENCH_TRACE_COUNTERS=0 "OCC_PROBE=norecords noflush callbacks emptycallbacks"
tokens records_thrown_away "$lib" OCCBENCH_TRACE_COUNTERS=0 "OCC_PROBE=throw noflush nowrite"
tokens records_not_written "$lib" OCCBENCH_TRACE_COUNTERS=0 "OCC_PROBE=nowrite"
tokens counters_off "$lib" OCCBENCH_TRACE_COUNTERS=0 "OCC_PROBE=all"
tokens never_counted "$lib" OCCBENCH_TRACE_COUNTERS=auto OCCBENCH_TRACE_AFTER=1000000000 "OCC_PROBE=all"
tokens auto "$lib" OCCBENCH_TRACE_COUNTERS=auto "OCC_PROBE=all"
tokens interposed "LD_PRELOAD=$work/interpose.so"
begin=$SECONDS
{
  for mode in alone subscribe callback records both; do timeout 20 "$work/pm_probe" launch $mode; done
  echo "interposed:"; LD_PRELOAD=$work/interpose.so timeout 20 "$work/pm_probe" launch alone
  for arguments in "1000 3 128" "500 2 256" "2000 6 64"; do echo "== windows $arguments (interval ns, window ms, buffer MB)"; timeout 30 "$work/pm_probe" windows $arguments; done
  echo "== sizes"; timeout 40 "$work/pm_probe" sizes
  echo "== beside"; timeout 30 "$work/pm_probe" beside
  echo "pm probes took $((SECONDS - begin)) s"
} >> "$launches" 2>&1
timeout 30 "$work/pm_probe" traces > "$samples" 2>&1
# A graph network: which rows have a counter and no time, or a time and no counter?
gnn() {  # label, variables...
  local label=$1; shift
  mkdir -p "$work/$label"
  env "$@" OCCBENCH_TRACE_OUT="$work/$label/run.csv" OCC_PROBE=all OCC_PROBE_FILE="$work/$label/parts.txt" timeout 60 python3 "$here/gnn.py" 25
  cat "$work/$label/parts.txt" 2>/dev/null
  python3 - "$work/$label" <<'P'
import csv, glob, sys
for name in glob.glob(sys.argv[1] + "/run.*.csv"):
    if "samples" in name: continue
    rows = list(csv.DictReader(open(name)))
    total = sum(float(r["total_time_us"] or 0) for r in rows)
    counted = sum(float(r["total_time_us"] or 0) for r in rows if r["achieved_pct"])
    print(f"{len(rows)} rows, total {total/1e3:.1f} ms, {100*counted/max(total,1e-9):.1f} % of it in rows with a counter")
    for r in sorted(rows, key=lambda r: r["kernel"]):
        if (r["achieved_pct"] == "") == (r["time_us"] == ""): continue
        print("ROW", r["case"][:90], "launches", r["launches"], "total us", r["total_time_us"], "registers", r["registers_per_thread"], "static", r["static_shared_bytes"], "local", r["local_bytes_per_thread"], "achieved", r["achieved_pct"], r["note"][:24])
P
}
{
  echo "== graph network"
  gnn gnn_alone A=1
  gnn gnn_auto "$lib" OCCBENCH_TRACE_COUNTERS=auto
  gnn gnn_after_0 "$lib" OCCBENCH_TRACE_COUNTERS=auto OCCBENCH_TRACE_AFTER=0
} > "$programs" 2>&1
for _ in $(seq 300); do [ "$(wc -c < "$READY")" -ge "$started" ] && break; sleep 0.1; done
touch "$GO"
wait
{
  echo "== tokens"
  for folder in "$work"/*/; do [ -f "$folder/said.txt" ] || continue; tail -n 4 "$folder/said.txt" | cut -c1-400; cat "$folder/parts.txt" 2>/dev/null
    for rows in "$folder"run.*.csv; do case $rows in *samples*) wc -c "$rows";; *) wc -lc "$rows";; esac 2>/dev/null; done; done
  echo "all took $SECONDS s"
} >> "$programs" 2>&1
rm -rf "$work"
