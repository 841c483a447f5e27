"""Figures of results/nvidia-h200/gate.md: how far runs of unchanged code, and runs on two GPUs of a model, differ."""

import polars as pl

from occbench_tools.dataset import Results, error, most, read_table, read_text
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


def two_gpus(results: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cases of the recorded suite that were recorded on another GPU too: by how many points they differ there, and in a second
    run on the suite's GPU."""
    suite, other, second = (
        results.rows(name).drop_nulls("achieved_pct") for name in ("full.csv", "another_gpu.csv", "repeat.csv")
    )
    assert set(suite["gpu_uuid"]).isdisjoint(other["gpu_uuid"])
    assert set(suite["gpu_uuid"]) == set(second["gpu_uuid"])
    differences = (
        run.join(suite, on=CASE, suffix="_suite").select(
            case=pl.format("{}, {}", *CASE),
            achieved=error("achieved_pct_suite"),
            elapsed=error("achieved_elapsed_pct_suite", "achieved_elapsed_pct"),
        )
        for run in (other, second.join(other, on=CASE, how="semi"))
    )
    return next(differences), next(differences)


def two_gpus_block(results: Results) -> str:
    difference, of_one = two_gpus(results)

    def most_of(points: pl.DataFrame) -> str:
        far = most(points, "achieved")
        return (
            f"`achieved_pct` differs by up to {far['achieved']:.1f} points ({far['case']}), `achieved_elapsed_pct` by up to "
            f"{points['elapsed'].max():.2f}"
        )

    return (
        f"Of {len(difference)} cases on two H200s ([full.csv](full.csv), [another_gpu.csv](another_gpu.csv)) {most_of(difference)}. "
        f"In two runs on one of them ([repeat.csv](repeat.csv)) {most_of(of_one)}."
    )


def two_gpus_in_short(results: Results) -> str:
    points, of_one = two_gpus(results)
    predicted = results.rows("another_gpu.csv").drop_nulls(["achieved_pct", "predicted_pct"])
    theory, prediction = (
        predicted.select(error(said)).to_series().mean() for said in ("theoretical_pct", "predicted_pct")
    )
    return (
        f"Counters of {len(points)} cases differ between two H200s by up to {points['achieved'].max():.1f} points, and between two "
        f"runs of one by up to {of_one['achieved'].max():.1f}; by over a point in {(points['achieved'] > 1).sum()} and "
        f"{(of_one['achieved'] > 1).sum()}. Over elapsed cycles it is at most {points['elapsed'].max():.2f} and "
        f"{of_one['elapsed'].max():.2f}. So clocks and chance decide which SMs get the last blocks "
        f"([why](prediction.md), [gate.md](../results/nvidia-h200/gate.md)), and the largest difference is chance. With a profile that `occbench calibrate` made of the second "
        f"GPU, {len(predicted)} cases of waves, tails and imbalance are predicted within {prediction:.1f} points on average, where "
        f"theory is {theory:.1f} off."
    )


BLOCKS = {
    "gate: unchanged": unchanged,
    "gate: injected": injected,
    "gate: two GPUs": two_gpus_block,
    "two GPUs": two_gpus_in_short,
}
