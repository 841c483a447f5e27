"""Figures of results/nvidia-h200/gate.md: how far runs of unchanged code, and runs on two GPUs of a model, differ."""

import polars as pl

from occbench_tools.dataset import Results, error, read_table, read_text
from occbench_tools.markdown import stamped, table_of

MOST_NAMED = 4
CASE = ["experiment", "case"]
RANGES = dict.fromkeys(("achieved_range_points", "achieved_elapsed_range_points", "time_range_pct"), pl.Float64)


def unchanged(results: Results) -> str:
    ranges = read_table(results.file("gate_unchanged.csv"), RANGES).sort(*RANGES, descending=True)
    rest = ranges.tail(-MOST_NAMED).select(pl.max(*RANGES), of=pl.format("the other {}, at most", pl.len()))
    named = ranges.head(MOST_NAMED).select(*RANGES, of=pl.format("{}, {}", *CASE))
    columns = {
        "case": "{of}",
        "`achieved_pct`, points:": "{achieved_range_points:.2f}",
        "`achieved_elapsed_pct`, points:": "{achieved_elapsed_range_points:.2f}",
        "time, %:": "{time_range_pct:.2f}",
    }
    return f"{stamped(ranges)}: {ranges['runs'][0]} runs of {len(ranges)} cases.\n\n{table_of(pl.concat([named, rest]), columns)}"


def injected(results: Results) -> str:
    lines = read_text(results.file("gate_injected.csv"))
    wrong = lines.filter(pl.col("as_expected") != "yes")["what"]
    right = f"{len(lines) - len(wrong)} of {len(lines)} came out as expected"
    right += f"; not so: {', '.join(wrong)}" if len(wrong) else ""
    columns = {
        "injected": "{what}",
        "exit status:": "{exit_status}",
        "regressions:": "{regressions}",
        "the gate names first": lambda row: row["finding"] or "nothing",
    }
    on = "; ".join(dict.fromkeys(stamped(row) for row in lines.iter_slices(1)))
    what = f"{on}: {lines['pairs'][0]} pairs of runs each, of {lines['cases'][0]} cases. {right}."
    return f"{what}\n\n{table_of(lines, columns)}"


def two_gpus(results: Results) -> pl.DataFrame:
    """The cases of the recorded suite that were recorded on another GPU too, and by how many points they differ."""
    suite, other = (results.rows(name).drop_nulls("achieved_pct") for name in ("full.csv", "another_gpu.csv"))
    assert set(suite["gpu_uuid"]).isdisjoint(other["gpu_uuid"])
    both = other.join(suite, on=CASE, suffix="_suite")
    return both.select(
        case=pl.format("{}, {}", *CASE),
        achieved=error("achieved_pct_suite"),
        elapsed=error("achieved_elapsed_pct_suite", "achieved_elapsed_pct"),
    )


def two_gpus_block(results: Results) -> str:
    difference = two_gpus(results)
    far = difference.row(difference["achieved"].arg_max(), named=True)
    return (
        f"Of {len(difference)} cases on two H200s ([full.csv](full.csv), [another_gpu.csv](another_gpu.csv)) `achieved_pct` "
        f"differs by up to {far['achieved']:.1f} points ({far['case']}), `achieved_elapsed_pct` by up to {difference['elapsed'].max():.2f}."
    )


def two_gpus_in_short(results: Results) -> str:
    difference = two_gpus(results)
    predicted = results.rows("another_gpu.csv").drop_nulls(["achieved_pct", "predicted_pct"])
    theory, prediction = (
        predicted.select(error(said)).to_series().mean() for said in ("theoretical_pct", "predicted_pct")
    )
    return (
        f"The clocks of each GPU's GPCs and chance decide which SMs get the last blocks of a partial wave of equal work. Over "
        f"{len(difference)} cases on two H200s the counter differs by up to {difference['achieved'].max():.1f} points; over elapsed "
        f"cycles the difference is at most {difference['elapsed'].max():.2f} ([why](prediction.md), "
        f"[gate.md](../results/nvidia-h200/gate.md)). `occbench calibrate` makes a profile of the second GPU in seconds. With it, "
        f"{len(predicted)} cases of waves, tails and imbalance are predicted within {prediction:.1f} points on average, where "
        f"theory is {theory:.1f} off. A built-in profile does not know a GPU's clocks."
    )


BLOCKS = {
    "gate: unchanged": unchanged,
    "gate: injected": injected,
    "gate: two GPUs": two_gpus_block,
    "two GPUs": two_gpus_in_short,
}
