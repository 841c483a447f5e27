"""How far theory and prediction are from the counter, on each GPU model that is recorded under results/."""

from pathlib import Path
from tempfile import NamedTemporaryFile

import polars as pl

from occbench_tools.dataset import Results, error, gpu_of, packed
from occbench_tools.markdown import revision, table
from occbench_tools.statistics import median, quantile

# The prediction used a reading of the same machine code: for how long its warps stay in lockstep.
USES_A_READING = pl.col("work_source").fill_null("") == "reading"

HEAD = (
    "launches of",
    "launches:",
    "theory, mean error:",
    "prediction, mean:",
    "median:",
    "95th percentile:",
    "worst case:",
)


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
    for model in results.models:
        suite, random = (
            predicted(model.rows(name)) if packed(model.folder / name) else None
            for name in ("full.csv", "validation.csv")
        )
        rows = random if suite is None else suite
        on, gpu = rows.row(0, named=True), gpu_of(rows)
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
        f"{len(reading)} more predictions used a reading of the same machine code (`reading` in `work_source`): "
        f"{reading.mean():.2f} points on average, worst case {reading.max():.1f}."
    )


def long_launches(model: Results, profile: str | Path) -> str:
    """Mean error on a model's random launches from 20,000 cycles on, predicted with a profile."""
    printed = model.occbench.output("validate", "--rows", model.file("validation.csv"), "--profile", profile)
    of_kinds = [line.split() for line in printed.splitlines() if "_from_20000_cycles" in line]
    launches = sum(int(cells[1]) for cells in of_kinds)
    return f"{sum(int(cells[1]) * float(cells[3]) for cells in of_kinds) / launches:.2f}"


def profiles(results: Results) -> str:
    """What each quality of a profile is worth, and what a profile is worth on the other model."""
    head = ["`profile_quality`", "the profile was made", "with"]
    models = {gpu_of(model.rows("validation.csv")): model for model in results.models}
    with NamedTemporaryFile("w", suffix=".profile") as generic:
        generic.write("name = generic_hopper\ncompute_capability = 9.0\nsm_count = 132\n")
        generic.flush()
        known = [
            ("`calibrated_device`", "on this GPU", "a profile beside the rows", None),
            ("`calibrated_model`, else `generic`", "on other H200s", "`h200`", "h200"),
            ("`calibrated_model`, else `generic`", "on H100s", "`h100`", "h100"),
            ("`generic`", "on no such GPU", "a file of `name`, `compute_capability` and `sm_count`", generic.name),
        ]
        lines = []
        for quality, made, name, profile in known:
            errors = (
                long_launches(model, profile or model.folder / f"{named_profile(model)}.profile")
                for model in models.values()
            )
            lines.append((quality, made, name, *errors))
    return table([*head, *(f"{gpu}:" for gpu in models)], lines)


def named_profile(model: Results) -> str:
    return str(model.rows("validation.csv")["device_profile"].first())


BLOCKS = {"accuracy": accuracy, "headline": headline, "profiles": profiles}
