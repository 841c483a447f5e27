"""The 90 % intervals of predictions: their margins by kind of work, and how often counters are inside."""

import polars as pl

from occbench_tools.dataset import Results, Row, each, read_table
from occbench_tools.markdown import table
from occbench_tools.program import SOURCES

MARGINS = SOURCES / "src/predict/interval_margins.csv"
MARGIN = {"kind": pl.String, "launches": pl.Int64} | dict.fromkeys(
    ("below_pct", "above_pct", "elapsed_below_pct", "elapsed_above_pct"), pl.Float64
)
COVERAGE = {"profile": pl.String, "launches_of": pl.String, "kind": pl.String, "launches": pl.Int64} | dict.fromkeys(
    (
        "inside_pct",
        "width_points",
        "score",
        "constant_width_score",
        "elapsed_inside_pct",
        "elapsed_width_points",
    ),
    pl.Float64,
)


def margins(_: Results) -> str:
    lines = [
        (
            row["kind"].replace("_", " "),
            row["launches"],
            *(f"{row[f'{quantity}below_pct']:.2f}, {row[f'{quantity}above_pct']:.2f}" for quantity in ("", "elapsed_")),
        )
        for row in each(read_table(MARGINS, MARGIN))
    ]
    head = ("kind of work", "launches:", "below, above, % of the prediction:", "over elapsed cycles:")
    return table(head, lines)


def cells_of(results: Results) -> dict[tuple[str, str], dict[str, Row]]:
    """By profile and launches, a row for each kind of work."""
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in each(read_table(results.folder.parent / "interval_coverage.csv", COVERAGE)):
        cells.setdefault((row["profile"], row["launches_of"]), {})[row["kind"]] = row
    return cells


def coverage(results: Results) -> str:
    def cell(row: Row, column: str, form: str) -> str:
        return "" if row[column] is None else form.format(row[column])

    lines = []
    for (profile, launches), kinds in cells_of(results).items():
        of_all = kinds["all"]
        lowest = min((row for kind, row in kinds.items() if kind != "all"), key=lambda row: row["inside_pct"])
        lines.append(
            (
                f"{profile}, {launches}",
                of_all["launches"],
                cell(of_all, "inside_pct", "{:.0f} %"),
                f"{lowest['inside_pct']:.0f} % of {lowest['launches']}: {lowest['kind']}",
                *(cell(of_all, name, "{:.1f}") for name in ("width_points", "score", "constant_width_score")),
                cell(of_all, "elapsed_inside_pct", "{:.0f} %"),
            )
        )
    head = (
        "profile, launches",
        "launches:",
        "inside:",
        "lowest kind",
        "width, points:",
        "score:",
        "constant width's:",
        "inside over elapsed cycles:",
    )
    return table(head, lines)


def coverage_by_kind(results: Results) -> str:
    cells = cells_of(results)
    kinds = [kind for kind in dict.fromkeys(kind for of in cells.values() for kind in of) if kind != "all"]

    def inside(row: Row | None) -> str:
        return f"{row['inside_pct']:.0f} % ({row['launches']})" if row else ""

    lines = [(kind, *(inside(of.get(kind)) for of in cells.values())) for kind in kinds]
    return table(("kind of work", *(f"{profile}, {launches}:" for profile, launches in cells)), lines)


BLOCKS = {
    "interval margins": margins,
    "interval coverage": coverage,
    "interval coverage by kind": coverage_by_kind,
}
