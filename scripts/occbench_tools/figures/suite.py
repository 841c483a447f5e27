"""Figures of the recorded suite as a whole, for docs/accuracy.md and results/nvidia-h200/README.md."""

import collections
import json
from pathlib import Path

import polars as pl

from occbench_tools.dataset import Results, error, gpu_of, median, one, packed, pick
from occbench_tools.markdown import listed, machine, of_most, revision, table_by, table_of


def worked_examples(results: Results) -> str:
    block_size, waves = (results.experiment(name).rows for name in ("block_size", "waves"))
    examples = {
        f"{threads} threads a block, 4 waves": one(block_size, variant="plain", block_threads=threads)
        for threads in (32, 64, 768, 1024)
    } | {
        "256 threads a block, three quarters of a wave": one(waves, waves="0.75"),
        "256 threads a block, one wave and a half": one(waves, waves="1.50"),
    }
    columns = {"worked example": "{what}", "theory:": "{theoretical_pct:.2f} %"}
    columns |= {"predicted:": "{predicted_pct:.2f} %", "counter:": "{achieved_pct:.2f} %"}
    whole = pick(block_size, variant="plain").filter(pl.col("block_threads") % 32 == 0)
    worst = whole.select(error("theoretical_pct")).to_series().max()
    return (
        f"{table_of((row | {'what': what} for what, row in examples.items()), columns)}\n\n"
        f"Every block size that is a multiple of 32 ({len(whole)} of them, 4 whole waves of 400,000 cycles) is within "
        f"{worst:.2f} points of theory."
    )


PROGRAMS = ("sample", "training", "inference", "triton_kernels", "cupy_kernels", "jax_gradient", "gemm")  # traced
FAR_BELOW = 10  # points between theory and the counter


def imbalance_share(results: Results) -> str:
    """Of the rows far below theory, those whose largest loss is uneven work: of suites, and of programs that were traced."""

    def line(model: Results, what: str, files: list[Path]) -> dict[str, object]:
        text = model.occbench.output("explain", *map(packed, files), "--top", "0", "--format", "json")
        read = [row for row in json.loads(text) if row.get("achieved_pct") is not None]
        far = [row for row in read if row["theoretical_pct"] - row["achieved_pct"] > FAR_BELOW]
        losses = [[found["cause"] for found in row["findings"] if found["list"] == "losses"] for row in far]
        first = collections.Counter(causes[0] for causes in losses if causes)
        named = ("uneven_blocks", "uneven_warps", "tail")
        return {
            "rows of": f"{gpu_of(model.suite.rows)}, {what}",
            "rows:": len(read),
            f"more than {FAR_BELOW} points below theory:": len(far),
            "uneven work:": first["uneven_blocks"] + first["uneven_warps"],
            "tail:": first["tail"],
            "other causes": ", ".join(f"{cause} {count}" for cause, count in first.most_common() if cause not in named),
        }

    lines = []
    for model in results.models:
        programs = [file for name in PROGRAMS if packed(file := model.folder / "programs" / f"{name}.csv")]
        lines += [line(model, "the suite", [model.file("full.csv")])]
        lines += [line(model, "programs", programs)] if programs else []
    return table_by(lines)


def against_ncu_in_short(results: Results) -> str:
    """Of the launches in waves; those of block sizes, all in whole waves, agree."""

    def line(model: Results) -> dict[str, object]:
        rows = model.against_ncu.filter(experiment="waves")
        points = rows["achieved_difference_points"]
        return {
            "GPU": f"[{gpu_of(rows)}](../results/{model.folder.name}/against_ncu.csv)",
            "launches:": len(rows),
            "within 0.3 points:": (points.abs() <= 0.3).sum(),
            "difference, points:": f"{points.min():+.1f} to {points.max():+.1f}",
            "times within:": f"{rows['time_difference_us'].abs().max():.2f} µs",
            "a counted launch here:": f"{rows['counting_ms_per_launch'].median():.1f} ms",
            "by `ncu`:": f"{rows['ncu_ms_per_launch'].median():.1f} ms",
        }

    models = [model for model in results.models if packed(model.folder / "against_ncu.csv")]
    whole = pl.concat(model.against_ncu.filter(experiment="block_size") for model in models)
    return (
        f"{table_by(map(line, models))}\n\n{len(whole)} more launches, of block sizes in whole waves, agree within "
        f"{whole['achieved_difference_points'].abs().max():.2f} points. Recorded by "
        f"{listed(dict.fromkeys(revision(model.against_ncu.row(0, named=True)) for model in models))}."
    )


def differences(one: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> str:
    """Of the same cases in two runs, in words."""
    pairs = one.join(other, on=on, suffix="_other")
    columns = ("achieved_pct", "achieved_elapsed_pct")
    achieved, elapsed = (pairs.select(error(f"{of}_other", of)).to_series().drop_nulls() for of in columns)
    time = pairs.select(100 * (pl.col("time_us") / pl.col("time_us_other") - 1).abs()).to_series().drop_nulls()
    return (
        f"{median(achieved):.3f} points of achieved occupancy at the median and {achieved.max():.1f} at most (over elapsed cycles "
        f"{elapsed.max():.1f}), and by {median(time):.2f} % of the time"
    )


def two_gpus_at_once(results: Results) -> str:
    case = ["experiment", "case"]
    ways = ("alone", "at_once", "each_alone_visible")
    alone, at_once, visible = (results.rows(f"two_gpus_{way}.csv") for way in ways)

    def seconds(rows: pl.DataFrame) -> float:
        times = pl.col("recorded_at").str.to_datetime("%Y-%m-%dT%H:%M:%SZ")
        spans = rows.group_by("gpu_uuid").agg((times.max() - times.min()).dt.total_seconds().alias("span"))
        return spans["span"].mean()

    repeats = (results.rows(name).join(alone.select(case).unique(), on=case) for name in ("full.csv", "repeat.csv"))
    on = alone.row(0, named=True)
    return (
        f"Two H200s of one host ran the smoke suite one after another, then at once (driver {on['driver']}, {revision(on)}). The "
        f"{len(alone)} cases differ by {differences(alone, at_once, [*case, 'gpu_uuid'])}. Two runs of one other H200 differ in these "
        f"cases by {differences(*repeats, case)}. From the first case to the last it takes {seconds(alone):.0f} s alone and "
        f"{seconds(at_once):.0f} s at once; {seconds(visible):.0f} s where each process sees one of the GPUs."
    )


def recorded_run(results: Results) -> str:
    rows = results.suite.rows

    def count(column: str, value: str) -> int:
        return len(rows.filter(pl.col(column) == value))

    clocks = rows.drop_nulls("achieved_pct")["sm_clock_mhz"]
    on, others = of_most(rows, tell_gpus=True)
    return (
        f"{machine(on)}{others}.\n{len(rows)} cases: {rows['achieved_pct'].count()} measured with counters, "
        f"{count('time_status', 'skipped')} skipped because they cannot be launched, {count('time_status', 'unstable')} with an "
        f"unstable time, {count('time_status', 'failed')} failed, {count('check', 'wrong')} with a wrong result. "
        f"SM clock: {clocks.min():.0f} to {clocks.max():.0f} MHz."
    )


def hardware_limiter(results: Results) -> str:
    """The calculator's limiter against the hardware's, by how many cases of each recorded suite have both."""
    models = [model.suite.rows for model in results.models if packed(model.folder / "full.csv")]
    rows = pl.concat(
        rows.select("gpu", "commit", "recorded_at", "waves", "limiter", "hardware_limiter") for rows in models
    )
    rows = rows.filter(pl.col("waves") > 1, pl.col("hardware_limiter") != "")
    recorded = listed(
        dict.fromkeys(revision(of.row(0, named=True)) for _, of in rows.group_by("gpu", maintain_order=True))
    )
    keys = ["limiter", "hardware_limiter"]
    counts = rows.pivot("gpu", index=keys, values="waves", aggregate_function="len").sort(keys).fill_null(0)
    columns = {"calculator": "`{limiter}`", "hardware": "`{hardware_limiter}`"}
    columns |= {f"{gpu.removeprefix('NVIDIA ')}, cases:": f"{{{gpu}}}" for gpu in counts.columns[2:]}
    return f"Of {recorded}:\n\n{table_of(counts, columns)}"


BLOCKS = {
    "hardware limiter": hardware_limiter,
    "worked examples": worked_examples,
    "imbalance share": imbalance_share,
    "against ncu": against_ncu_in_short,
    "two GPUs at once": two_gpus_at_once,
    "recorded run": recorded_run,
}
