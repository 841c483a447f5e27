"""Figures of the recorded suite as a whole, for README.md and results/nvidia-h200/README.md."""

import statistics
from collections import Counter

from claims import read_claims, table_of_claims
from markdown import machine, revision, table
from recorded import RESULTS, against_ncu, numbers, read_rows, suite


def counted(rows):
    """Those with both; what the runtime launches by itself has no theory."""
    return [row for row in rows if row["achieved_pct"] and row["theoretical_pct"]]


def launch(row):
    """The same for launches that the simulator cannot tell apart."""
    return tuple(row[name] for name in ("kernel", "block_threads", "grid_blocks", "dynamic_shared_bytes", "work"))


def headline():
    rows = counted(suite().rows)
    predicted = [row for row in rows if row["predicted_pct"]]
    calibration, measured = (
        {launch(row) for row in each} for each in (counted(read_rows(RESULTS / "calibration.csv")), rows)
    )
    theory, theory_of_predicted = (
        statistics.mean(row.miss("theoretical_pct") for row in each) for each in (rows, predicted)
    )
    prediction = [row.miss() for row in predicted]
    elapsed = [row.miss("predicted_elapsed_pct", "achieved_elapsed_pct") for row in predicted]
    on = rows[0]
    return (
        f"Over {len(rows)} cases on an {on['gpu']} ({on['sm_count']} SMs, compute capability {on['compute_capability']}, driver "
        f"{on['driver']}, CUDA {on['cuda_toolkit']}), {revision(on)}, theory is {theory:.1f} points from the "
        f"counter on average; over the {len(predicted)} of them that are predicted, the prediction is "
        f"{statistics.mean(prediction):.1f} points from it ({statistics.median(prediction):.1f} at the median) and theory "
        f"{theory_of_predicted:.1f}. Over all SMs and the longest one's cycles, which do not depend on who gets the "
        f"last blocks, the prediction is {statistics.median(elapsed):.1f} points off at the median. Its device profile, "
        f"`{predicted[0]['device_profile']}`, was made on the same GPU before, by `occbench calibrate`, from {len(calibration)} "
        f"launches, {len(calibration & measured)} of them also in the suite."
    )


def worked_examples():
    block_size, waves = suite().of("block_size"), suite().of("waves")
    examples = [
        *(
            (f"{threads} threads a block, 4 waves", block_size.one(variant="plain", block_threads=threads))
            for threads in (32, 64, 768, 1024)
        ),
        ("256 threads a block, three quarters of a wave", waves.one(waves="0.75")),
        ("256 threads a block, one wave and a half", waves.one(waves="1.50")),
    ]
    columns = ("theoretical_pct", "predicted_pct", "achieved_pct")
    lines = [(what, *(f"{row.number(column):.2f} %" for column in columns)) for what, row in examples]
    whole = [row for row in block_size.pick(variant="plain") if int(row["block_threads"]) % 32 == 0]
    worst = max(row.miss("theoretical_pct") for row in whole)
    return (
        f"{table(('worked example', 'theory:', 'predicted:', 'counter:'), lines)}\n\n"
        f"Every block size that is a multiple of 32 ({len(whole)} of them, 4 whole waves of 400,000 cycles) reads within "
        f"{worst:.2f} points of theory."
    )


def against_ncu_in_short():
    rows = against_ncu()
    others = [row for row in rows if abs(row.number("achieved_difference_points")) > 0.3]
    far = numbers(others, "achieved_difference_points")
    partial = "partial waves of equal blocks, " if all(row["experiment"] == "waves" for row in others) else ""
    time = max(map(abs, numbers(rows, "time_difference_us")))
    ours, ncu = (statistics.median(numbers(rows, f"{each}_ms_per_launch")) for each in ("counting", "ncu"))
    return (
        f"`ncu` on the same {len(rows)} launches reads the same occupancy within 0.3 points in {len(rows) - len(others)} cases (the "
        f"others, {partial}differ by {min(far):+.1f} to {max(far):+.1f}), and the same "
        f"time within {time:.2f} µs. A counted launch costs {ours:.1f} ms here and {ncu:.1f} ms under `ncu` "
        f"([table](results/nvidia-h200/against_ncu.csv))."
    )


def claims_table():
    return table_of_claims(suite(), read_claims())


def recorded_run():
    rows = suite().rows
    status = Counter(row["time_status"] for row in rows)
    measured = [row for row in rows if row["achieved_pct"]]
    clocks = numbers((row for row in measured if row["sm_clock_mhz"]), "sm_clock_mhz")
    return (
        f"{machine(rows[0])}.\n{len(rows)} cases: {len(measured)} measured with counters, {status['skipped']} that cannot be "
        f"launched and are skipped, {status['unstable']} with a time that is unstable, {status['failed']} failed, "
        f"{sum(row['check'] == 'wrong' for row in rows)} with a wrong result. SM clock: {min(clocks):.0f} to "
        f"{max(clocks):.0f} MHz."
    )


BLOCKS = {
    "headline": headline,
    "worked examples": worked_examples,
    "against ncu": against_ncu_in_short,
    "claims": claims_table,
    "recorded run": recorded_run,
}
