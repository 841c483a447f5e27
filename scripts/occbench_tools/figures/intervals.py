"""The 90 % intervals of predictions: their margins by kind of work, and how often counters are inside."""

import polars as pl

from occbench_tools.dataset import Results, Row, each, error, first, gpu_of, least, read_table
from occbench_tools.figures.accuracy import USES_A_READING, is_inside, predicted
from occbench_tools.markdown import along, bullets, fill, grid, table_of
from occbench_tools.program import SOURCES

MARGINS = SOURCES / "src/predict/interval_margins.csv"
MARGIN = {"kind": pl.String, "launches": pl.Int64} | dict.fromkeys(
    ("below_pct", "above_pct", "elapsed_below_pct", "elapsed_above_pct"), pl.Float64
)
READ = ("inside_pct", "width_points", "score", "constant_width_score", "elapsed_inside_pct", "elapsed_width_points")
COVERAGE = {"profile": pl.String, "launches_of": pl.String, "kind": pl.String, "launches": pl.Int64}
COVERAGE |= dict.fromkeys(READ, pl.Float64)
LOW_ELAPSED_PCT = 85
LOW_PCT = 90


def margins(_: Results) -> str:
    columns = {
        "kind of work": lambda row: row["kind"].replace("_", " "),
        "launches:": "{launches}",
        "below, above, % of the prediction:": "{below_pct:.2f}, {above_pct:.2f}",
        "over elapsed cycles:": "{elapsed_below_pct:.2f}, {elapsed_above_pct:.2f}",
    }
    return table_of(read_table(MARGINS, MARGIN), columns)


def cells_of(results: Results) -> pl.DataFrame:
    """A row for each kind of work of a profile and launches, which `of` names."""
    cells = read_table(results.folder.parent / "interval_coverage.csv", COVERAGE)
    return cells.with_columns(of=pl.format("{}, {}", "profile", "launches_of"))


def coverage(results: Results) -> str:
    cells = cells_of(results)

    def lowest(row: Row) -> str:
        kinds = cells.filter(pl.col("of") == row["of"], pl.col("kind") != "all")
        return fill("{inside_pct:.0f} % of {launches}: {kind}", least(kinds, "inside_pct"))

    columns = {
        "profile, launches": "{of}",
        "launches:": "{launches}",
        "inside:": "{inside_pct:.0f} %",
        "lowest kind": lowest,
        "width, points:": "{width_points:.1f}",
        "score:": "{score:.1f}",
        "constant width's:": "{constant_width_score:.1f}",
        "inside over elapsed cycles:": lambda row: (
            row["elapsed_inside_pct"] and fill("{elapsed_inside_pct:.0f} %", row) or ""
        ),
    }
    return table_of(cells.filter(kind="all"), columns)


def coverage_by_kind(results: Results) -> str:
    cells = cells_of(results)
    kinds, of = (cells[name].unique(maintain_order=True) for name in ("kind", "of"))
    down = along("kind", [kind for kind in kinds if kind != "all"])

    def find(**wanted: str) -> Row:
        return {"text": fill("{inside_pct:.0f} % ({launches})", first(cells, **wanted), "")}

    return grid("kind of work", down, along("of", of), "{text}", find)


def low_over_elapsed_cycles(results: Results) -> str:
    low = cells_of(results).filter(pl.col("elapsed_inside_pct") < LOW_ELAPSED_PCT).sort("elapsed_inside_pct")
    named = (fill("{kind} ({elapsed_inside_pct:.1f} % of {launches}; {of})", row) for row in each(low))
    return f"Over elapsed cycles fewer than {LOW_ELAPSED_PCT} % are inside of {', '.join(map(str, named))}."


def constant_width(results: Results) -> str:
    better = cells_of(results).filter(pl.col("constant_width_score") < pl.col("score"))
    kinds = (f"{kind} ({'; '.join(of['of'])})" for (kind,), of in better.group_by("kind", maintain_order=True))
    return f"A constant width has the better score for:\n\n{bullets(*kinds)}"


def coverage_by_experiment(results: Results) -> str:
    """Of both runs of each GPU model's suite: the experiments that have less than LOW_PCT in one of them, and all."""
    found = []
    for model in results.models:
        for name in ("full.csv", "repeat.csv"):
            counted = predicted(model.rows(name)).filter(~USES_A_READING)
            rows = pl.concat([counted, counted.with_columns(experiment=pl.lit("all"))])
            of_each = rows.group_by("experiment").agg(
                pl.len().alias("cases"), inside_pct=100 * is_inside().mean(), mean_error=error().mean()
            )
            found.append(of_each.with_columns(run=pl.lit(f"{gpu_of(counted)}, {name}")))
    cells = pl.concat(found)
    down = cells.group_by("experiment").agg(pl.max("cases"), pl.min("inside_pct")).sort("inside_pct", "experiment")
    down = down.filter((pl.col("inside_pct") < LOW_PCT) | (pl.col("experiment") == "all"))
    labels = {row["experiment"]: fill("{experiment} ({cases})", row) for row in each(down)}
    runs = cells["run"].unique(maintain_order=True)
    cell = "{inside_pct:.1f} % ({mean_error:.2f})"
    return grid("experiment", along("experiment", labels), along("run", runs), cell, lambda **of: first(cells, **of))


BLOCKS = {
    "interval margins": margins,
    "interval coverage": coverage,
    "interval coverage by kind": coverage_by_kind,
    "interval coverage: low over elapsed cycles": low_over_elapsed_cycles,
    "interval coverage: constant width": constant_width,
    "interval coverage by experiment": coverage_by_experiment,
}
