#!/usr/bin/env python3
"""Draws charts from recorded rows.

    scripts/python scripts/plot.py results/nvidia-h200/full.csv results/nvidia-h200

Writes each chart whose data the file has as NAME.svg into the folder.
"""

import argparse
import csv
from pathlib import Path

import altair as alt

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLOURS = {"theoretical": "#999999", "predicted": "#0072b2", "achieved": "#d55e00"}
Rows = list[dict[str, str]]


def points(rows: Rows, x: str) -> list[dict[str, object]]:
    """One point for each of a row's three occupancies that was measured; `x` is the column on the x axis."""
    return [
        {"x": float(row[x]), "occupancy": float(row[f"{kind}_pct"]), "kind": kind}
        for row in rows
        for kind in COLOURS
        if row[f"{kind}_pct"]
    ]


def waves(rows: Rows) -> alt.TopLevelMixin | None:
    chosen = sorted((row for row in rows if row["experiment"] == "waves"), key=lambda row: float(row["waves"]))
    if not chosen:
        return None
    base = (
        alt.Chart(alt.Data(values=points(chosen, "waves")))
        .encode(
            x=alt.X("x:Q", title="waves of equal blocks (grid over what the device holds at once)"),
            y=alt.Y("occupancy:Q", title="occupancy, %", scale=alt.Scale(domain=[0, 105])),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                legend=alt.Legend(orient="bottom-right"),
            ),
        )
        .properties(width=640, height=300)
    )
    kind = alt.datum["kind"]
    lines = base.transform_filter(kind != "achieved").mark_line(strokeWidth=2)
    marks = base.transform_filter(kind == "achieved").mark_point(filled=True, size=45, opacity=1)
    gpu = chosen[0]["gpu"]
    return (lines + marks).properties(
        title=f"A partial last wave leaves SMs idle: kernel hold, 256 threads a block, {gpu}"
    )


CHARTS = {"waves": waves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    with arguments.rows.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, draw in CHARTS.items():
        chart = draw(rows)
        if chart is not None:
            chart.configure(background="white").save(arguments.folder / f"{name}.svg")


if __name__ == "__main__":
    main()
