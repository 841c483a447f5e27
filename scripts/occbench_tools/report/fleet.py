"""The page of `occbench fleet`: a row for each GPU, outliers first, with a small chart for each quantity."""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from occbench_tools import WrongInput
from occbench_tools.report.files import replace_text
from occbench_tools.report.style import counted
from occbench_tools.report.template import HERE, fill_in

# More rows than this nobody reads: all that are out of line or have findings are shown, then so many others.
MOST_IN_LINE = 200
# Of the small charts, in pixels.
WIDTH, HEIGHT, MARGIN = 110, 20, 4
MIDDLE_SHARE = 0.05  # left out at each end of the peers' band
LEAST_AXIS = 0.5  # % or points: noise does not fill a chart


class Quantity(NamedTuple):
    title: str
    unit: str
    meaning: str


QUANTITIES = {
    "sm_clock": Quantity("SM clock", "%", "mean clock of the SMs while counters ran"),
    "gpc_clock": Quantity("slowest GPC", "%", "below 0: kernels on all SMs take longer than the mean clock explains"),
    "sm_cycles": Quantity("SM cycles", "%", "below 0: the same work takes more cycles, because fewer SMs do it"),
    "bandwidth": Quantity("bandwidth", "%", "of device memory"),
    "l2": Quantity("L2", "%", "speed of kernels bound by the L2 cache"),
    "counters": Quantity("counters", "points", "occupancy over elapsed cycles, by the counters"),
}


class Scale(NamedTuple):
    """Of one quantity's small charts: the same for all GPUs."""

    most: float  # both ends of the axis are as far from 0
    low: float  # of the peers' band
    high: float

    def x(self, value: float) -> float:
        return WIDTH / 2 + (WIDTH / 2 - MARGIN) * value / self.most


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FLEET.jsonl", help="what occbench fleet --format json prints")
    parser.add_argument("--output", type=Path, default=Path("fleet.html"), metavar="FILE.html")


def read_lines(file: Path) -> list[dict[str, Any]]:
    gpus = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            gpu = json.loads(line)
            gpu["gpu_uuid"], gpu["verdict"], gpu["distances"], gpu["findings"]
        except (ValueError, TypeError, KeyError) as error:
            raise WrongInput(f"{file}, line {number}: no line of occbench fleet --format json ({error})") from error
        gpus.append(gpu)
    if not gpus:
        raise WrongInput(f"{file}: there is no line; occbench fleet --format json writes one for each GPU")
    return gpus


def scale_of(gpus: list[dict[str, Any]], name: str) -> Scale | None:
    values = sorted(gpu["distances"][name] for gpu in gpus if gpu["distances"].get(name) is not None)
    if not values:
        return None
    left_out = int(len(values) * MIDDLE_SHARE)
    most = max(LEAST_AXIS, abs(values[0]), abs(values[-1]))
    return Scale(most, values[left_out], values[-1 - left_out])


def cell(gpu: dict[str, Any], name: str, scale: Scale) -> dict[str, Any] | None:
    """What the template draws: the peers' band, 0 and the GPU's mark."""
    value = gpu["distances"].get(name)
    if value is None:
        return None
    band = scale.x(scale.low)
    return {
        "text": f"{round(value, 2) + 0.0:+.2f}",
        "band": round(band, 1),
        "band_width": round(max(1.0, scale.x(scale.high) - band), 1),
        "mark": round(scale.x(value), 1),
        "named": any(finding["cause"] == name for finding in gpu["findings"]),
    }


def certainty(finding: dict[str, Any]) -> str:
    if finding["named_from"] is None:
        return "the rows say so"
    return f"named from {finding['named_from']:.2g} {finding['unit']}"


def shown(gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    in_line, rows = 0, []
    for gpu in gpus:
        if not gpu["findings"] and gpu["verdict"] == "in line":
            in_line += 1
            if in_line > MOST_IN_LINE:
                continue
        rows.append(gpu)
    return rows


def summary(gpus: list[dict[str, Any]]) -> str:
    count = {verdict: sum(gpu["verdict"] == verdict for gpu in gpus) for verdict in ("out of line", "no verdict")}
    hosts = len({gpu["host"] for gpu in gpus})
    text = f"{counted(len(gpus), 'GPU')} on {counted(hosts, 'node')}: {count['out of line']} out of line"
    return text + (f", {count['no verdict']} without a verdict." if count["no verdict"] else ".")


def write_fleet_page(gpus: list[dict[str, Any]]) -> str:
    scales = {name: scale for name in QUANTITIES if (scale := scale_of(gpus, name)) is not None}
    rows = [{"gpu": gpu, "cells": [cell(gpu, name, scale) for name, scale in scales.items()]} for gpu in shown(gpus)]
    return fill_in(
        "fleet.html",
        title=f"{'Simulated, not measured: a' if gpus[0].get('simulated') else 'A'} fleet of {gpus[0].get('gpu', 'GPUs')}",
        summary=summary(gpus),
        remarks=gpus[0].get("remarks", []),
        style="".join((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "fleet.css")),
        columns=[(QUANTITIES[name], f"{scale.most:.2f}") for name, scale in scales.items()],
        rows=rows,
        left_out=len(gpus) - len(rows),
        certainty=certainty,
        width=WIDTH,
        height=HEIGHT,
    )


def run(options: argparse.Namespace) -> int:
    replace_text(options.output, write_fleet_page(read_lines(options.file)))
    print(options.output)
    return 0
