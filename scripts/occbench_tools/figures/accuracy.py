"""How far theory and prediction are from the counter, on each GPU model that is recorded under results/."""

import polars as pl

from occbench_tools.dataset import Results, error, packed
from occbench_tools.markdown import revision, table
from occbench_tools.statistics import median, quantile

# Work whose prediction used a reading of the same machine code: for how long its warps stay in lockstep.
USES_A_READING = pl.col("work").fill_null("").str.contains(":lockstep=")

HEAD = (
    "launches of",
    "launches:",
    "theory, mean error:",
    "prediction, mean:",
    "median:",
    "95th percentile:",
    "worst case:",
)


def models(results: Results) -> list[Results]:
    """The recorded runs of every GPU model, that of `results` first."""
    recorded = ("full.csv", "validation.csv")
    others = sorted(
        folder for folder in results.folder.parent.iterdir() if any(packed(folder / name) for name in recorded)
    )
    return [results, *(Results(folder, results.occbench) for folder in others if folder != results.folder)]


def predicted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop_nulls(["achieved_pct", "theoretical_pct", "predicted_pct"])


def line(name: str, rows: pl.DataFrame) -> tuple[str, ...]:
    theory, prediction = (rows.select(error(column)).to_series() for column in ("theoretical_pct", "predicted_pct"))
    return (
        name,
        str(len(rows)),
        f"{theory.mean():.1f}",
        f"{prediction.mean():.2f}",
        f"{median(prediction):.2f}",
        f"{quantile(prediction, 0.95):.1f}",
        f"{prediction.max():.1f}",
    )


def accuracy(results: Results) -> str:
    lines, recorded = [], []
    for model in models(results):
        suite, random = (
            predicted(model.rows(name)) if packed(model.folder / name) else None
            for name in ("full.csv", "validation.csv")
        )
        on = (random if suite is None else suite).row(0, named=True)
        gpu = on["gpu"].removeprefix("NVIDIA ")
        recorded.append(f"{gpu}: driver {on['driver']}, CUDA {on['cuda_toolkit']}, {revision(on)}")
        if suite is not None:
            lines.append(line(f"{gpu}, the suite", suite.filter(~USES_A_READING)))
            lines.append(line(f"{gpu}, the suite, with a reading of the same code", suite.filter(USES_A_READING)))
        if random is not None:
            lines.append(line(f"{gpu}, random launches", random))
    return f"{table(HEAD, lines)}\n\nErrors are points of occupancy. {'; '.join(recorded)}."


def headline(results: Results) -> str:
    rows = results.suite.rows.drop_nulls(["achieved_pct", "theoretical_pct"])
    by_simulation = predicted(rows)
    counted = by_simulation.filter(~USES_A_READING)
    prediction, elapsed = (
        counted.select(each).to_series() for each in (error(), error("predicted_elapsed_pct", "achieved_elapsed_pct"))
    )
    reading = by_simulation.filter(USES_A_READING).select(error()).to_series()
    return (
        f"The suite counts {len(rows)} cases. There theory is "
        f"{rows.select(error('theoretical_pct')).to_series().mean():.1f} points from the counter on average. "
        f"{len(counted)} cases are predicted from the launch alone: {prediction.mean():.2f} points from the counter on average, "
        f"median {median(prediction):.2f}, 95th percentile {quantile(prediction, 0.95):.1f}, worst case {prediction.max():.1f}. "
        f"Over elapsed cycles, where tail placement does not matter, the median error is {median(elapsed):.2f} points. "
        f"{len(reading)} more predictions used a reading of the same machine code (`:lockstep=` in `work`): "
        f"{reading.mean():.2f} points on average, worst case {reading.max():.1f}."
    )


BLOCKS = {"accuracy": accuracy, "headline": headline}
