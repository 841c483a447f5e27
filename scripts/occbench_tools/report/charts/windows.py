"""Occupancy of a traced program over time: its sampling windows, with the kernels below."""

import bisect

import altair as alt
import polars as pl

from occbench_tools.report.style import Drawing, Panel, colour, counted, tooltip
from occbench_tools.report.windows import Span, Window

# Altair draws at most 5,000 rows.
MOST_WINDOWS = 6
MOST_STEPS = 800
MOST_SPANS = 800  # of a window, the longest
HEIGHT = 340
COLOURS = 5  # of kernels: the first is that of the counter
# Places on the axis of percent: kernels lie below 0.
TOP, BOTTOM = -5, -21
LEAST_LABEL = 34  # pixels


def at_most(steps: list[tuple[float, float]], length: float) -> list[tuple[float, float, float]]:
    """Beginning, end and occupancy: each step, or means over as many equal parts as can be drawn."""
    ends = [time for time, _ in steps[1:]] + [length]
    exact = [(time, end, value) for (time, value), end in zip(steps, ends, strict=True) if end > time]
    if len(exact) <= MOST_STEPS:
        return exact
    parts = [0.0] * MOST_STEPS
    width = length / MOST_STEPS
    for begin, end, value in exact:
        for part in range(int(begin / width), min(int(end / width) + 1, MOST_STEPS)):
            inside = min(end, (part + 1) * width) - max(begin, part * width)
            parts[part] += value * max(inside, 0) / width
    return [(part * width, (part + 1) * width, value) for part, value in enumerate(parts)]


def short(name: str) -> str:
    """Without template arguments and launch."""
    return name.split("<")[0] or name


def frames(windows: list[tuple[str, Window]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Steps and kernels of all windows."""
    names = list(dict.fromkeys(short(span.name) for _, window in windows for span in window.spans))
    steps, kernels = [], []
    for chosen, window in windows:
        starts = [span.start for span in window.spans]
        for begin, end, value in at_most(window.steps, window.length):
            at = bisect.bisect_right(starts, (begin + end) / 2) - 1
            is_known = at >= 0 and (begin + end) / 2 < window.spans[at].end
            kernel = window.spans[at].name if is_known else "not told apart, or none"
            steps.append((chosen, kernel, begin, end, value))
        steps.append((chosen, "", window.length, window.length, 0))  # an area ends where its last step begins
        for span in sorted(window.spans, key=lambda span: span.start - span.end)[:MOST_SPANS]:
            name = short(span.name)
            colour_of = str(names.index(name) % COLOURS)
            values = (
                span.start,
                span.end,
                span.end - span.start,
                span.achieved_pct,
                span.theoretical_pct,
                span.lost_us,
            )
            kernels.append((chosen, span.name, *values[:2], name, colour_of, *values[2:]))
    both = {"window": pl.String, "kernel": pl.String, "start": pl.Float64, "end": pl.Float64}
    of_kernels = both | dict.fromkeys(("short", "colour"), pl.String)
    of_kernels |= dict.fromkeys(("us", "achieved", "theory", "lost"), pl.Float64)
    return (
        pl.DataFrame(steps, schema=both | {"occupancy": pl.Float64}, orient="row"),
        pl.DataFrame(kernels, schema=of_kernels, orient="row"),
    )


def layers(steps: pl.DataFrame, kernels: pl.DataFrame) -> list[alt.Chart]:
    """Occupancy, theory, what a place in the area says, the kernels and their names."""
    scale = alt.Scale(domain=[BOTTOM - 2, 105], nice=False)
    ticks = alt.Axis(values=[0, 20, 40, 60, 80, 100], title="occupancy, %")
    x = alt.X("start:Q", title="time since the window began, us", scale=alt.Scale(nice=False))

    def band(top: float, bottom: float) -> dict:
        return {"x": x, "x2": "end", "y": alt.YDatum(top, scale=scale), "y2": alt.Y2Datum(bottom)}

    counter = colour("achieved")
    occupancy = alt.Chart(steps).mark_area(
        interpolate="step-after", color=counter, opacity=0.35, line={"strokeWidth": 1.2, "opacity": 1, "color": counter}, clip=True
    )  # fmt: skip
    occupancy = occupancy.encode(x=x, y=alt.Y("occupancy:Q", scale=scale, axis=ticks))
    of_step = (tooltip("start", "from, us"), tooltip("end", "to, us"), tooltip("occupancy", "occupancy, %"))
    hover = alt.Chart(steps).mark_rect(opacity=0, clip=True)
    hover = hover.encode(**band(105, 0), tooltip=[*of_step, alt.Tooltip("kernel:N")])
    theory = alt.Chart(kernels).mark_rule(color=colour("theoretical"), strokeWidth=2, clip=True)
    theory = theory.encode(x=x, x2="end", y=alt.Y("theory:Q", scale=scale))
    titles = {"us": "us", "achieved": "achieved, %", "theory": "theory, %", "lost": "us x occupancy below theory"}
    of_kernel = [alt.Tooltip("kernel:N"), *(tooltip(field, title) for field, title in titles.items())]
    colours = alt.Scale(
        domain=[str(place) for place in range(COLOURS)],
        range=[colour(f"series-{place + 2}") for place in range(COLOURS)],
    )
    spans = alt.Chart(kernels).mark_rect(stroke=colour("paper"), strokeWidth=0.5, clip=True)
    spans = spans.encode(
        **band(TOP, BOTTOM), color=alt.Color("colour:N", scale=colours, legend=None), tooltip=of_kernel
    )
    room = "(scale('x', datum.end) - scale('x', datum.start))"  # pixels, at each zoom
    names = alt.Chart(kernels).mark_text(
        align="left", dx=4, fontSize=11, color=colour("paper"), clip=True, limit=alt.expr(f"max(1, {room} - 8)")
    )  # fmt: skip
    names = names.encode(
        x=x,
        y=alt.YDatum((TOP + BOTTOM) / 2, scale=scale),
        text="short:N",
        tooltip=of_kernel,
        opacity=alt.condition(f"{room} < {LEAST_LABEL}", alt.value(0), alt.value(1)),
    )
    return [occupancy, theory, hover, spans, names]


def sentence_of(window: Window, count: int) -> str:
    """What to see in the window."""
    area = sum((end - begin) * value for begin, end, value in at_most(window.steps, window.length))
    told = (
        f"Of {counted(count, 'sampling window')} the one with most launches that were told apart ({window.length / 1000:.1f} ms): "
        f"occupancy is {area / window.length:.0f} % on average, idle times included."
    )
    if len(window.spans) > MOST_SPANS:
        told += f" Its {MOST_SPANS} longest launches are drawn."
    lost = sum(span.lost_us for span in window.spans)
    if not lost:
        return told
    of_kernels: dict[str, list[Span]] = {}
    for span in window.spans:
        of_kernels.setdefault(span.name, []).append(span)
    name, spans = max(of_kernels.items(), key=lambda one: sum(span.lost_us for span in one[1]))
    worst = max(spans, key=lambda span: span.lost_us)
    share = 100 * sum(span.lost_us for span in spans) / lost
    return (
        f"{told} Of what its kernels miss of theory {share:.0f} % is {name}: {worst.achieved_pct:.0f} % instead of "
        f"{worst.theoretical_pct:.0f} %."
    )


def drawing(windows: list[Window]) -> Drawing:
    """The window with most launches, and others to choose."""
    several = len({window.of for window in windows}) > 1

    def label(number: int, window: Window) -> str:
        count = len(window.spans)
        launches = f"{count} launch{'' if count == 1 else 'es'}"
        return f"{number}: at {window.start / 1e6:.3f} s, {launches}{f', {window.of}' if several else ''}"

    named = [(label(number, window), window) for number, window in enumerate(windows, 1)]
    most = sorted(named, key=lambda one: (-len(one[1].spans), -one[1].length))[:MOST_WINDOWS]
    options = [name for name, _ in most]
    chosen = alt.param(name="chosen", value=options[0], bind=alt.binding_select(options=options, name="Window "))
    moved = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.ctrlKey]")
    # A layer with data of its own has no transforms of the whole.
    chart = alt.layer(*(layer.transform_filter("datum.window == chosen") for layer in layers(*frames(most))))
    key = (
        "Area: occupancy of all SMs. Grey lines: theory of the kernels, which are named below. Dragging moves, Ctrl and the "
        "mouse wheel zoom, a double click shows all again."
    )
    return Drawing(sentence_of(most[0][1], len(windows)), [Panel("", chart.add_params(chosen, moved), HEIGHT)], key)
