"""Figures of results/nvidia-h200/reductions.md that are not of the suite's rows: occupancy over time, and the same call of
CUB outside the suite."""

import polars as pl

from occbench_tools.dataset import Results, each, gpu_of, read_text
from occbench_tools.experiments.reductions import WAYS
from occbench_tools.figures.timelines import Timeline
from occbench_tools.markdown import bullets, fill, of_models, revision, table_by

#: Percent; one block of 256 threads is less.
HARDLY = 1


def over_time(results: Results) -> str:
    def line(gpu: str, timeline: Timeline) -> dict[str, str]:
        steps = timeline.steps.drop_nulls("measured")
        hardly, rest = steps.filter(pl.col("measured") < HARDLY), steps.filter(pl.col("measured") >= HARDLY)
        busy = (rest["length"] * rest["measured"]).sum() / rest["length"].sum()
        return {
            "put together by": WAYS[timeline.key[1].split("/")[1]],
            "GPU": gpu,
            "time, µs:": f"{steps['length'].sum():.0f}",
            f"of it below {HARDLY} % of occupancy, µs:": f"{hardly['length'].sum():.0f}",
            "mean occupancy of the rest, %:": f"{busy:.0f}",
        }

    return table_by(
        line(gpu_of(model.suite.rows), Timeline(file))
        for model in results.models
        for file in sorted((model.folder / "sums_over_time").glob("*.timeline.csv"))
    )


def outside(results: Results) -> str:
    name = "gpu_tests.csv"
    tests = pl.col("test").str.ends_with("TheDeviceWideReductionTakesAsLongAsOutsideTheSuite")

    def text(model: Results) -> str:
        rows = each(read_text(model.folder / name).filter(tests))
        form = f"{gpu_of(model.suite.rows)}: {{measured}} (driver {{driver}}, "
        return bullets(*(f"{fill(form, row)}{revision(row)})." for row in rows))

    return of_models(results, name, text).replace("\n\n", "\n")


BLOCKS = {"sums over time": over_time, "sums outside the suite": outside}
