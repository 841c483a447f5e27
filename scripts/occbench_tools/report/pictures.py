"""Each chart as a picture for a paper: PNG, SVG and the Vega-Lite JSON that both are made from."""

import itertools
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import altair as alt

from occbench_tools import WrongInput
from occbench_tools.report.charts import Drawn, LeftOut
from occbench_tools.report.files import replace_bytes, require_not_another_kind
from occbench_tools.report.rendering import MARKS, pictures_of
from occbench_tools.report.style import configuration, drawable, light_colours

WIDTH = 860
FORMATS = ("svg", "png", "json")


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
    text = json.dumps(drawable(whole.to_dict(validate=False) | {"config": light, "description": entry.drawing.text}))
    for name, value in light_colours().items():
        text = text.replace(name, value)
    return json.loads(text)


def write_pictures(drawn: list[Drawn], folder: Path, formats: list[str]) -> tuple[list[Path], list[LeftOut]]:
    """The files, and the charts that could not be rendered."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongInput(f"--pictures {folder}: {error.strerror}; name a folder") from error

    def file_of(entry: Drawn, name: str) -> Path:
        return folder / f"{entry.chart.name}.{name}"

    for entry, name in itertools.product(drawn, formats):
        require_not_another_kind(file_of(entry, name), *MARKS[name])
    written, left_out = [], []
    # The renderer may abort its process. A fork of this one would have the locks of Polars' threads without the threads.
    spawning = multiprocessing.get_context("spawn")
    renderer = ProcessPoolExecutor(1, spawning)
    try:
        for entry in drawn:
            chart = specification(entry)
            try:
                contents = renderer.submit(pictures_of, chart, formats).result()
            except Exception as error:  # of the renderer, or of the pool whose process is gone
                left_out.append(LeftOut(entry.chart, f"its renderer failed: {error}", fault=True))
                renderer.shutdown()
                renderer = ProcessPoolExecutor(1, spawning)
                continue
            for name, content in contents.items():
                replace_bytes(file_of(entry, name), content)
                written.append(file_of(entry, name))
    finally:
        renderer.shutdown()
    return written, left_out
