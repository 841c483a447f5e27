"""How far theory and prediction are from the counter, on each GPU model that is recorded under results/."""

from functools import partial

import polars as pl

from occbench_tools.compare_profiles import COLUMNS
from occbench_tools.dataset import Results, error, first, gpu_of, median, packed, quantile, read_table, read_text
from occbench_tools.figures.programs import within
from occbench_tools.markdown import along, grid, listed, of_most, revision, table

# The prediction used a reading of the same machine code: for how long its warps stay in lockstep.
USES_A_READING = pl.col("work_source").fill_null("") == "reading"

HEAD = (
    "launches of",
    "launches:",
    "theory, mean, median:",
    "prediction, mean:",
    "median:",
    "95th percentile:",
    "worst case:",
    "in the 90 % interval:",
)


# The prediction was reconstructed from the launch that it is compared with.
IS_RECONSTRUCTED = pl.col("work_source").fill_null("").str.starts_with("reconstructed")


def predicted(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose prediction can be compared with the counter."""
    return rows.drop_nulls(["achieved_pct", "theoretical_pct", "predicted_pct"]).filter(~IS_RECONSTRUCTED)


def is_inside() -> pl.Expr:
    """Whether the counter is in the 90 % interval."""
    return pl.col("achieved_pct").is_between("predicted_low_pct", "predicted_high_pct")


def line(name: str, rows: pl.DataFrame) -> tuple[str, ...]:
    theory, prediction = (rows.select(error(column)).to_series() for column in ("theoretical_pct", "predicted_pct"))
    inside = f"{100 * rows.select(is_inside()).to_series().mean():.0f} %"
    of_prediction = f"{prediction.mean():.2f}", f"{median(prediction):.2f}", f"{quantile(prediction, 0.95):.1f}"
    of_theory = f"{theory.mean():.1f}, {median(theory):.1f}"
    return (name, str(len(rows)), of_theory, *of_prediction, f"{prediction.max():.1f}", inside)


def accuracy(results: Results) -> str:
    lines, recorded = [], {}
    for model in results.models:
        files = {
            name: predicted(model.rows(file))
            for name, file in (("the suite", "full.csv"), ("random launches", "validation.csv"))
            if packed(model.folder / file)
        }
        rows = pl.concat(files.values(), how="diagonal_relaxed")
        (on, others), gpu = of_most(next(iter(files.values()))), gpu_of(rows)
        recorded.setdefault(f"driver {on['driver']}, CUDA {on['cuda_toolkit']}, {revision(on)}{others}", []).append(gpu)
        lines += [line(f"{gpu}, {name}", each.filter(~USES_A_READING)) for name, each in files.items()]
        lines.append(line(f"{gpu}, with a reading of the same code", rows.filter(USES_A_READING)))
    measured = "; ".join(f"{listed(gpus)} ({by})" for by, gpus in recorded.items())
    return (
        f"{table(HEAD, lines)}\n\nIn points of occupancy. Intervals' margins are fitted to the suites: "
        f"[coverage](docs/notes/accuracy.md#coverage-by-experiment). Measured: {measured}. {traced(results)}"
    )


def traced(results: Results) -> str:
    rows = read_text(results.folder / "programs" / "sampled.csv")
    told = f"[{within(rows, 'long')} within 0.5 points](docs/notes/tracing.md#programs-of-five-seconds-and-more)"
    return f"Traced kernels from 5 us on that repeat, {gpu_of(rows)}: {told}."


def headline(results: Results) -> str:
    counters = results.suite.rows.drop_nulls("achieved_pct")
    rows = counters.drop_nulls("theoretical_pct")
    counted = predicted(rows).filter(~USES_A_READING)
    prediction, theory, elapsed = (
        counted.select(each).to_series()
        for each in (error(), error("theoretical_pct"), error("predicted_elapsed_pct", "achieved_elapsed_pct"))
    )
    return (
        f"The suite counts {len(counters)} cases. Theory, which {len(rows)} have, is "
        f"{rows.select(error('theoretical_pct')).to_series().mean():.1f} points from the counter on average. "
        f"{len(counted)} cases are predicted from the launch alone: {prediction.mean():.2f} points from the counter on average, "
        f"median {median(prediction):.2f}, 95th percentile {quantile(prediction, 0.95):.1f}, worst case {prediction.max():.1f}. "
        f"There theory is within a point in {(theory <= 1).sum()} cases, and nearer than the prediction in {(theory < prediction).sum()}. "
        f"Over elapsed cycles, where tail placement does not matter, the median error is {median(elapsed):.2f} points, the mean "
        f"{elapsed.mean():.2f}."
    )


def profiles(results: Results) -> str:
    """What each quality of a profile is worth, and what a profile is worth on the other model."""
    rows = read_table(results.folder.parent / "profiles.csv", COLUMNS)
    down, across = (rows[name].unique(maintain_order=True) for name in ("profile", "gpu"))
    across = along("gpu", {gpu: f"{gpu}, mean error" for gpu in across})
    find = partial(first, rows)
    return grid("profile", along("profile", down), across, "{mean_error_points:.2f} ({profile_quality})", find)


BLOCKS = {"accuracy": accuracy, "headline": headline, "profiles": profiles}
