"""The 90 % intervals of predictions: their margins by kind of work, and how often counters are inside."""

import polars as pl

from occbench_tools.dataset import Results, Row, first, least, read_table
from occbench_tools.markdown import along, fill, grid, table_of
from occbench_tools.program import SOURCES

MARGINS = SOURCES / "src/predict/interval_margins.csv"
MARGIN = {"kind": pl.String, "launches": pl.Int64} | dict.fromkeys(
    ("below_pct", "above_pct", "elapsed_below_pct", "elapsed_above_pct"), pl.Float64
)
READ = ("inside_pct", "width_points", "score", "constant_width_score", "elapsed_inside_pct", "elapsed_width_points")
COVERAGE = {"profile": pl.String, "launches_of": pl.String, "kind": pl.String, "launches": pl.Int64}
COVERAGE |= dict.fromkeys(READ, pl.Float64)


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


BLOCKS = {
    "interval margins": margins,
    "interval coverage": coverage,
    "interval coverage by kind": coverage_by_kind,
}
