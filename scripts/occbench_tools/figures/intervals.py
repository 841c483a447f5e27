"""The 90 % intervals of predictions: their margins by kind of work, and how often counters are inside."""

import polars as pl

from occbench_tools.dataset import Results, each, read_table
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


def coverage_of(results: Results, profiles: tuple[str, ...]) -> str:
    rows = read_table(results.folder.parent / "interval_coverage.csv", COVERAGE).filter(
        pl.col("profile").is_in(profiles)
    )
    sets = rows.select("profile", "launches_of").unique(maintain_order=True).rows()
    kinds = [kind for kind in rows["kind"].unique(maintain_order=True) if kind != "all"]
    cells = {(row["profile"], row["launches_of"], row["kind"]): row for row in each(rows)}

    def inside(kind: str, of: tuple[str, str]) -> str:
        row = cells.get((*of, kind))
        return f"{row['inside_pct']:.0f} % ({row['launches']})" if row else ""

    def of_all(column: str, form: str) -> list[str]:
        values = [cells[(*of, "all")][column] for of in sets]
        return ["" if value is None else form.format(value) for value in values]

    lines = [(kind, *(inside(kind, of) for of in sets)) for kind in kinds]
    lines += [
        ("all", *(inside("all", of) for of in sets)),
        ("all, mean width, points", *of_all("width_points", "{:.1f}")),
        ("all, interval score", *of_all("score", "{:.1f}")),
        ("the same with a constant width", *of_all("constant_width_score", "{:.1f}")),
        ("all, over elapsed cycles", *of_all("elapsed_inside_pct", "{:.0f} %")),
    ]
    return table(("kind of work", *(f"{profile}, {of}:" for profile, of in sets)), lines)


def coverage(results: Results) -> str:
    return coverage_of(results, ("own", "built-in"))


def generic(results: Results) -> str:
    return coverage_of(results, ("generic",))


BLOCKS = {"interval margins": margins, "interval coverage": coverage, "interval coverage, generic": generic}
