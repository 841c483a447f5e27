"""One HTML page with all that it needs in it: charts, table, scripts."""

import base64
import contextlib
import gzip
import hashlib
import itertools
import json
import sys
from pathlib import Path

import polars as pl
import vl_convert

from occbench_tools import WrongInput
from occbench_tools.report.charts import Drawn, LeftOut
from occbench_tools.report.files import replace_text
from occbench_tools.report.rows import FILE, RUN, Rows
from occbench_tools.report.style import Panel, configuration, counted, drawable, milliseconds
from occbench_tools.report.template import HERE, fill_in

# First in the table, and shown until the reader chooses others.
SHOWN = (
    *("experiment", "case", "theoretical_pct", "predicted_pct", "achieved_pct", "time_us", "limiter", "waves"),
    *("block_threads", "registers_per_thread", "blocks_per_sm", "throughput", "throughput_unit", "explanation", "note"),
)
MOST_VALUES = 3


def specification(panel: Panel) -> dict:
    sized = panel.chart.properties(width="container", height=panel.height)
    return drawable(sized.to_dict(validate=False)) | {
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {},
    }


def in_html(value: object) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def vega() -> str:
    """Vega-Lite and all that it needs. To bundle it takes seconds: it is kept in the Python environment where that can be
    written."""
    kept = Path(sys.prefix) / f"vega-bundle-{vl_convert.__version__}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    code = vl_convert.javascript_bundle()
    with contextlib.suppress(WrongInput):
        replace_text(kept, code)
    return code


def in_script(code: str) -> str:
    """JavaScript whose strings cannot end the script element."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def packed_column(values: pl.Series) -> dict:
    if values.dtype.is_numeric():
        return {"values": values.to_list()}
    names = values.drop_nulls().unique(maintain_order=True)
    places = pl.DataFrame({"name": names, "place": range(len(names))}, schema={"name": pl.String, "place": pl.Int32})
    index = values.to_frame("name").join(places, on="name", how="left", maintain_order="left")["place"]
    return {"names": names.to_list(), "index": index.to_list()}


def packed_rows(rows: Rows) -> str:
    known = rows.occbench.columns
    columns = []
    if len(rows.runs) > 1:
        run = {"name": "run", "unit": "", "meaning": "which run", "shown": True}
        columns.append(run | packed_column(rows.frame[RUN]))
    # Of a program's rows the kernel's mangled name is a key, and nothing to read.
    hidden = {"variant"} if rows.are_of_programs else set()
    for name in dict.fromkeys([*SHOWN, *known, *rows.unknown_columns]):
        if name in hidden:
            continue
        values = rows.frame[name]
        if values.is_null().all():
            continue
        unit, meaning = (known[name].unit, known[name].meaning) if name in known else ("", "not a column of occbench")
        described = {"name": name, "unit": unit, "meaning": meaning, "shown": name in SHOWN}
        columns.append(described | packed_column(values))
    text = json.dumps({"rows": len(rows.frame), "columns": columns}, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def figures(frame: pl.DataFrame) -> list[dict[str, str]]:
    """The headline of a run; how far the prediction of a program is comes last on the page, in a chart."""
    read = frame.drop_nulls("achieved_pct")

    def error(kind: str) -> tuple[str, str]:
        difference = (read[f"{kind}_pct"] - read["achieved_pct"]).abs().drop_nulls()
        return (
            (f"{difference.mean():.1f}", f"points over {len(difference):,} cases")
            if len(difference)
            else ("–", "not known")
        )

    if len(frame) and (frame["experiment"] == "trace").all():
        us = frame["total_time_us"].sum()
        counted_us = read["total_time_us"].sum()
        of_time = (read["total_time_us"] * read["achieved_pct"]).sum() / max(read["total_time_us"].sum(), 1e-9)
        share = f"{100 * counted_us / max(us, 1e-9):.1f}"
        value, unit = milliseconds(us).split()
        told = [
            ("GPU time", value, f"{unit} in {frame['launches'].sum():,} launches"),
            ("Of it with a counter", share, "%"),
            ("Achieved occupancy, by time", *((f"{of_time:.1f}", "%") if len(read) else ("–", "not counted"))),
        ]
    else:
        told = [
            ("Cases", f"{len(frame):,}", "in " + counted(frame["experiment"].n_unique(), "experiment")),
            ("Read by the counter", f"{len(read):,}", f"of {len(frame):,}"),
            ("Theory's mean distance from the counter", *error("theoretical")),
            ("Prediction's mean distance from the counter", *error("predicted")),
        ]
    return [dict(zip(("what", "value", "unit"), figure, strict=True)) for figure in told]


def summary(frame: pl.DataFrame) -> str:
    """What went wrong, if anything, and what the three occupancies are."""
    text = (
        "Theory: the warps that the launch's resources allow. Prediction: a simulation of how blocks are placed, run and "
        "replaced. Counter: what the hardware read. "
    )
    checks = {"time_status": ["ok"], "counters_status": ["ok", "off"], "check": ["ok", "none", "lost_updates"]}
    troubles = []
    for column, good in checks.items():
        bad = frame.filter(pl.col(column).is_not_null(), ~pl.col(column).is_in(good))[column].value_counts(sort=True)
        troubles += [f"{column} {value} in {count:,}" for value, count in bad.head(MOST_VALUES).iter_rows()]
    if troubles:
        return f"{text}Rows to look at: {', '.join(troubles)}."
    return text + ("Every row's checks are ok." if (frame["check"] == "ok").any() else "")


def title(frame: pl.DataFrame) -> str:
    simulated = (frame["time_status"] == "simulated").any()
    return f"{'Simulated, not measured: occupancy' if simulated else 'Occupancy'} on {some(frame['gpu']) or 'an unknown GPU'}"


def some(values: pl.Series) -> str:
    values = values.drop_nulls().unique().sort()
    if len(values) <= MOST_VALUES:
        return ", ".join(map(str, values))
    return f"{values[0]} to {values[-1]}, {len(values):,} values"


def machine(rows: Rows, part: pl.DataFrame) -> list[dict[str, str]]:
    """Every column that stands before the experiment: the machine and the build."""
    columns = itertools.takewhile(lambda column: column.name != "experiment", rows.occbench.columns.values())
    title = rows.occbench.title
    facts = [{"title": title(c.name), "meaning": c.meaning, "value": some(part[c.name])} for c in columns]
    facts.append({"title": "file", "meaning": "what the rows were read from", "value": some(part[FILE])})
    return [fact for fact in facts if fact["value"]]


def script_hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def write_page(rows: Rows, drawn: list[Drawn], left_out: list[LeftOut]) -> str:
    parts = [rows.frame.filter(pl.col(RUN) == run) for run in rows.runs]
    scripts = [
        in_script(vega()),
        in_script((HERE / "page.js").read_text(encoding="utf-8")),
    ]
    views = {
        "configuration": configuration(),
        "specifications": [specification(panel) for entry in drawn for panel in entry.drawing.panels],
    }
    return fill_in(
        "page.html",
        title=title(rows.frame),
        summary=summary(rows.frame),
        runs=[
            {"name": run, "figures": figures(part), "machine": machine(rows, part)}
            for run, part in zip(rows.runs, parts, strict=True)
        ],
        drawn=drawn,
        left_out=left_out,
        files=some(rows.frame[FILE]),
        version=rows.occbench.version(),
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        views=in_html(views),
        packed_rows=packed_rows(rows),
        scripts=scripts,
        script_hashes=" ".join(map(script_hash, scripts)),
    )
