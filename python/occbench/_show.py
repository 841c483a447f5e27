"""How answers draw themselves in a notebook, as HTML: a table, and curves where Altair is installed."""

from html import escape
from importlib import import_module
from typing import Any

from occbench import _command

_AXES = {
    "block_threads": "threads per block",
    "registers_per_thread": "registers per thread",
    "shared_bytes_per_block": "shared memory per block, B",
}


def theory(answer: dict[str, Any]) -> str:
    launch = {
        "cc": answer["compute_capability"],
        "block_size": answer["block_threads"],
        "registers": answer["registers_per_thread"],
        "static_smem": answer["static_shared_bytes"],
        "dynamic_smem": answer["dynamic_shared_bytes"],
        "carveout": answer["carveout_pct"],
        "barriers": answer["barriers"],
        "cluster": answer["cluster_blocks"],
    }
    return (
        f"<p><b>{answer['theoretical_pct']:g} %</b>: {answer['blocks_per_sm']} blocks, {answer['warps_per_sm']} warps per SM,"
        f" limited by {escape(answer['limiter'].replace('+', ' and '))}</p>"
        + _table(
            ["resource", "blocks", "because"],
            [[_words(r["resource"]), r["blocks"], r["rule"]] for r in answer["rules"]],
        )
        + _list(answer["what_to_do"])
        + curves(by_axis(_command.answer("calc", "--curves", *_command.options(launch))["curves"]))
    )


def by_axis(points: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    axes: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        axes.setdefault(point.pop("axis"), []).append(point)
    return axes


def curves(points: dict[str, list[dict[str, Any]]]) -> str:
    try:
        alt: Any = import_module("altair")
    except ImportError:
        return "<p>Curves are drawn where Altair is installed.</p>"
    charts = []
    for axis, values in points.items():
        base = alt.Chart(alt.Data(values=values)).encode(
            alt.X("value:Q", title=_AXES.get(axis, axis)),
            alt.Y("theoretical_pct:Q", title="theoretical occupancy, %", scale=alt.Scale(domain=[0, 100])),
            tooltip=["value:Q", "theoretical_pct:Q", "blocks_per_sm:Q"],
        )
        step = "step-before" if axis != "block_threads" else "linear"
        charts.append(
            (
                base.mark_line(interpolate=step)
                + base.mark_point(filled=True, size=80).transform_filter("datum.current == 1")
            ).properties(width=240, height=160)
        )
    with alt.renderers.enable("html"):
        drawn: str = alt.hconcat(*charts)._repr_mimebundle_()["text/html"]
    return drawn


def prediction(answer: dict[str, Any]) -> str:
    losses = [
        [_words(name.removeprefix("loss_").removesuffix("_points")), f"{points:.1f}"]
        for name, points in answer.items()
        if name.startswith("loss_")
    ]
    return (
        f"<p><b>{answer['predicted_pct']:.1f} %</b> predicted ({answer['predicted_low_pct']:.1f} to "
        f"{answer['predicted_high_pct']:.1f} %), {answer['theoretical_pct']:g} % theoretical</p>"
        + _table(["lost to", "points"], losses)
        + _list([answer["explanation"], *([answer["advice"]["sentence"]] if "advice" in answer else [])])
    )


def explanation(answer: dict[str, Any]) -> str:
    return _table(
        ["points", "cause", "remedy"],
        [[f"{each['points']:.0f}", each["sentence"], each.get("remedy", "")] for each in answer["findings"]],
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _table(head: list[str], rows: list[list[Any]]) -> str:
    def line(tag: str, cells: list[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
