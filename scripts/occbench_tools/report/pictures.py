"""Each chart as a picture for a paper: PNG, SVG and the Vega-Lite JSON that both are made from."""

import itertools
import json
from pathlib import Path

import altair as alt
import vl_convert

from occbench_tools import WrongInput
from occbench_tools.report.charts import Drawn
from occbench_tools.report.files import replace_bytes, require_not_another_kind
from occbench_tools.report.style import configuration, finite, light_colours

WIDTH = 860
FORMATS = ("svg", "png", "json")
BEGINNINGS = {"svg": b"<svg", "png": b"\x89PNG\r\n\x1a\n", "json": b'{\n "config": {\n  "font": '}


def specification(entry: Drawn) -> dict:
    """Light, on white, all panels of a chart in one picture."""
    panels = entry.drawing.panels
    columns = entry.drawing.together or (3 if len(panels) == 3 else min(len(panels), 2))
    charts = [
        panel.chart.properties(width=WIDTH // columns, height=panel.height, title=panel.title) for panel in panels
    ]
    whole = (
        charts[0]
        if len(charts) == 1
        else alt.concat(*charts, columns=columns).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        )
    )
    light = configuration() | {"background": "white"}
    light["legend"]["columns"] = 4
    text = json.dumps(finite(whole.to_dict(validate=False)) | {"config": light, "description": entry.drawing.text})
    for name, value in light_colours().items():
        text = text.replace(name, value)
    return json.loads(text)


def write_pictures(drawn: list[Drawn], folder: Path, formats: list[str]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongInput(f"--pictures {folder}: {error.strerror}; name a folder") from error

    def file_of(entry: Drawn, name: str) -> Path:
        return folder / f"{entry.chart.name}.{name}"

    for entry, name in itertools.product(drawn, formats):
        require_not_another_kind(file_of(entry, name), BEGINNINGS[name])
    written = []
    for entry in drawn:
        chart = specification(entry)
        svg = vl_convert.vegalite_to_svg(chart) if {"svg", "png"} & set(formats) else ""
        contents = {
            "svg": lambda svg=svg: svg.encode(),
            "png": lambda svg=svg: vl_convert.svg_to_png(svg, scale=2),
            "json": lambda chart=chart: (json.dumps(chart, indent=1) + "\n").encode(),
        }
        for name in formats:
            file = file_of(entry, name)
            replace_bytes(file, contents[name]())
            written.append(file)
    return written
