"""What the recorded traces of programs say, for docs/any-program.md and docs/notes/tracing.md: beside ncu, predicted
from times, and beside PyTorch's own trace."""

import math
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from occbench_tools.dataset import Results, error, gpu_of, median, parameter, quantile, read_rows, read_table
from occbench_tools.figures.accuracy import is_inside, predicted
from occbench_tools.markdown import bullets, listed, of_models, of_most, stamped, table

FOLDER = "programs"
AGAINST_NCU = f"{FOLDER}/against_ncu.csv"
SAMPLED_AGAINST_NCU = f"{FOLDER}/sampled_against_ncu.csv"
#: By scripts/programs/beside_ncu.py, of loops.py's kinds.
BESIDE = ("products", "attention", "reductions")
USES = {"tensor_use_pct": "tensor cores", "dram_busy_pct": "device memory"}
COLUMNS = dict.fromkeys(("recorded_at", "commit", "gpu", "driver", "program", "case"), pl.String) | (
    dict.fromkeys(("ncu_range_points", "difference_points"), pl.Float64)
)
UNCHANGED = {"program": pl.String, "same": pl.String}
#: Programs that nothing was chosen by.
HELD_OUT = ("training", "jax_gradient", "gemm")
#: Readings that count as equal.
CLOSE_POINTS = 0.3
CLOSE_SAMPLED_POINTS = 0.5
#: PyTorch's profiler saw one step of this program.
TORCH = "training"


def rows_of(model: Results, programs: Iterable[str]) -> pl.DataFrame:
    """Rows of programs, which a column `program` names."""
    rows = [model.rows(f"{FOLDER}/{name}.csv").with_columns(program=pl.lit(name)) for name in programs]
    return pl.concat(rows, how="diagonal")


def counted(model: Results, programs: Iterable[str]) -> pl.DataFrame:
    return rows_of(model, programs).drop_nulls(["achieved_pct", "time_us"])


def is_close() -> pl.Expr:
    return pl.col("difference_points").abs() <= CLOSE_POINTS


def beside_ncu(results: Results) -> str:
    def text(model: Results) -> str:
        both = read_table(model.file(AGAINST_NCU), COLUMNS)
        rows = rows_of(model, both["program"].unique(maintain_order=True))
        keys = ["program", "case"]
        steady = both.filter(pl.col("ncu_range_points") <= CLOSE_POINTS)
        steady = steady.join(rows.select(*keys, "total_time_us"), on=keys, validate="1:1")
        close, far = steady.filter(is_close()), steady.filter(~is_close())
        unsteady = both.join(steady, on=keys, how="anti")
        others = [
            f"{math.ceil(10 * of['difference_points'].abs().max()) / 10:.1f} points of the {those.format(len(of))}"
            for those, of in (("other {}", far), ("{} that it does not repeat", unsteady))
            if len(of)
        ]
        share_of_time = close["total_time_us"].sum() / steady["total_time_us"].sum()
        same = read_table(model.file(f"{FOLDER}/unchanged.csv"), UNCHANGED)["same"] == "true"
        lines = bullets(
            f"{rows['achieved_pct'].count()} of {len(rows)} kernel configurations were counted. `ncu` also counted {len(both)} "
            f"of them. The median difference is {median(both['difference_points'].abs()):.2f} points.",
            f"`ncu` repeats {len(steady)} of them within {CLOSE_POINTS} points. {len(close)} of these "
            f"({100 * len(close) / len(steady):.0f} %, with {100 * share_of_time:.0f} % of the time) are within {CLOSE_POINTS} points of `ncu`.",
            *([f"The difference is at most {listed(others)}."] if others else []),
            f"{same.sum()} of {len(same)} programs computed the same to all printed digits with and without trace.",
        )
        _, others = of_most(both, what="program")
        return f"On an {stamped(both)}{others}:\n\n{lines}"

    return of_models(results, AGAINST_NCU, text)


def samples_beside_ncu(results: Results) -> str:
    def text(model: Results) -> str:
        both = read_table(model.file(SAMPLED_AGAINST_NCU), COLUMNS)
        steady = both.filter(pl.col("ncu_range_points") <= CLOSE_POINTS)
        points = steady["difference_points"].abs()
        close = (points <= CLOSE_SAMPLED_POINTS).sum()
        programs = ", ".join(f"`{name}`" for name in both["program"].unique(maintain_order=True))
        return (
            f"On an {stamped(both)}, {programs}: `ncu` counted {len(both)} of the kernels and configurations that were sampled, "
            f"and repeats {len(steady)} within {CLOSE_POINTS} points. {close} of these ({100 * close / len(steady):.0f} %) are within "
            f"{CLOSE_SAMPLED_POINTS} points of `ncu`, the others within {points.max():.2f}."
        )

    return of_models(results, SAMPLED_AGAINST_NCU, text)


def uses_beside_ncu(results: Results) -> str:
    """How much of their peaks tensor cores and device memory are used, in a trace and by ncu."""
    columns = dict.fromkeys(("recorded_at", "commit", "gpu", "driver", "case"), pl.String)
    numbers = ("time_us", "total_time_us", "achieved_pct", "ncu_achieved_pct", *USES, *(f"ncu_{use}" for use in USES))

    def file(program: str) -> str:
        return f"{FOLDER}/beside_ncu_{program}.csv"

    def text(model: Results) -> str:
        of_each = [read_table(model.file(file(name)), columns | dict.fromkeys(numbers, pl.Float64)) for name in BESIDE]
        both = pl.concat(each.with_columns(program=pl.lit(name)) for name, each in zip(BESIDE, of_each, strict=True))
        both = both.filter(pl.col("total_time_us") >= 0.01 * pl.col("total_time_us").sum().over("program"))
        lines = [
            (row["program"], f"`{row['case'].split('<')[0]}`", f"{row['time_us']:,.0f}")
            + tuple(f"{row[name]:.1f}, {row[f'ncu_{name}']:.1f}" for name in ("achieved_pct", *USES))
            for row in both.iter_rows(named=True)
        ]
        head = ("program", "kernel", "us:", "achieved, %:", *(f"{use}, %:" for use in USES.values()))
        return f"On an {stamped(both)}, in the trace and by `ncu`, of kernels with 1 % of the program's time:\n\n{table(head, lines)}"

    return of_models(results, file(BESIDE[0]), text)


def line(name: str, rows: pl.DataFrame, column: str) -> tuple[object, ...]:
    points = rows.select(error(column)).to_series()
    return (name, len(rows), *(f"{of:.1f}" for of in (points.mean(), median(points), quantile(points, 0.95))))


def reconstructed(rows: pl.DataFrame, compared: pl.DataFrame) -> str:
    return (
        f"{len(rows) - len(compared)} counted configurations have no launch that was not counted. They are reconstructed, and not in "
        "the table."
    )


def predictions(results: Results) -> str:
    """From times of launches that were not counted, against the counter of those that were."""
    head = ("points from the counter", "launches:", "mean:", "median:", "95th percentile:")
    held_out = pl.col("program").is_in(HELD_OUT)

    def text(model: Results) -> str:
        programs = read_table(model.file(AGAINST_NCU), COLUMNS)["program"].unique(maintain_order=True)
        rows = rows_of(model, programs).drop_nulls("achieved_pct")
        compared = predicted(rows)
        lines = []
        for kind, some in (("held out", compared.filter(held_out)), ("others", compared.filter(~held_out))):
            width = (some["predicted_high_pct"] - some["predicted_low_pct"]).mean()
            inside = 100 * some.select(is_inside()).to_series().mean()
            lines.append((*line(f"{kind}: theory", some, "theoretical_pct"), "", ""))
            lines.append((*line(f"{kind}: prediction", some, "predicted_pct"), f"{inside:.0f} %", f"{width:.1f}"))
        return (
            f"On an {gpu_of(rows)}. Held out are {', '.join(f'`{name}`' for name in HELD_OUT)}. The margins of intervals and the "
            f"overhead of records were chosen by the others.\n\n"
            + table((*head, "in the 90 % interval:", "its width, mean:"), lines)
            + (f"\n\n{reconstructed(rows, compared)}" if len(compared) < len(rows) else "")
        )

    return of_models(results, AGAINST_NCU, text)


def imported(results: Results) -> str:
    """How far a trace of PyTorch's profiler gets, over the kernels that occbench counted in another run of the program."""
    # The profiler gives shared memory as one sum.
    shared = pl.col("static_shared_bytes") + pl.col("dynamic_shared_bytes")
    grid, block = (parameter(name).alias(name) for name in ("grid", "block"))
    launch = ("kernel", grid, block, "registers_per_thread", shared)

    def text(model: Results) -> str:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "imported.csv"
            model.occbench.output("trace", "--import", model.folder / FOLDER / f"{TORCH}.json.gz", "--out", out)
            rows = read_rows(out, model.occbench)
        both = rows.select(*launch, "theoretical_pct", "predicted_pct").join(
            counted(model, [TORCH]).select(*launch, "achieved_pct"),
            on=["kernel", "grid", "block", "registers_per_thread", "static_shared_bytes"],
            validate="1:1",
        )
        theory, prediction = (both.select(error(name)).to_series() for name in ("theoretical_pct", "predicted_pct"))
        return (
            f"Over the {len(both)} kernels of this trace that `{TORCH}.csv` counted, the prediction is "
            f"{prediction.mean():.1f} points from the counter on average (median {median(prediction):.1f}), and theory "
            f"{theory.mean():.0f}."
        )

    return of_models(results, AGAINST_NCU, text)


BLOCKS = {
    "traces beside ncu": beside_ncu,
    "samples beside ncu": samples_beside_ncu,
    "uses beside ncu": uses_beside_ncu,
    "predictions of traces": predictions,
    "imported trace": imported,
}
