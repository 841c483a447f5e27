"""occbench.trace from Python on a GPU: a program as a frame, its regions, and that the frame is what the command writes.

usage: python frames.py PROGRAM.py [ARGUMENTS...], in an environment that has the wheel of occbench and Polars
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import occbench
import polars

assert "torch" not in sys.modules, "importing occbench loads no framework"
with tempfile.TemporaryDirectory() as folder:
    rows = Path(folder) / "rows.csv"
    begun = time.monotonic()
    frame = occbench.trace([sys.executable, *sys.argv[1:]], out=rows)
    seconds = time.monotonic() - begun
    assert frame.equals(occbench.read(rows)), "the frame is not what was written"
    table = subprocess.run(
        [sys.executable, "-m", "occbench", "explain", "--top", "1", str(rows)],
        capture_output=True,
        text=True,
        check=True,
    )
counted = frame.filter(polars.col("achieved_pct").is_not_null())
print(f"occbench.trace: {seconds:.1f} s, {frame.height} rows, {counted.height} with a counter; dtypes of columns:")
print({name: str(frame.schema[name]) for name in ("kernel", "region", "achieved_pct", "block_threads")})
regions = frame["region"].drop_nulls().unique().sort().to_list()
print("regions:", regions)
print(frame.sort("achieved_pct", nulls_last=True).select("kernel", "achieved_pct", "theoretical_pct").head(3))
print(table.stdout.splitlines()[0])
