"""What the texts are made of: tables, lists, and figures in words."""

import re
import string
from collections.abc import Callable, Iterable

import polars as pl

from occbench_tools.dataset import Results, Row, each, error, gpu_of, median, packed, parameter_of, read_text


def table(head, lines) -> str:
    """`head`: names; those of columns of numbers have a colon at their end."""
    names = [name.rstrip(":") for name in head]
    rule = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join(
        [f"| {' | '.join(names)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(map(str, line))} |" for line in lines)]
    )


class Cells(string.Formatter):
    """`{time_us:.1f}` of a row, or of its parameters; `{throughput:.2f/1e12}` divides first. A null is empty."""

    def get_value(self, key, args, row):
        name = str(key)  # a number names a column too
        return row[name] if name in row else parameter_of(row, name)

    def format_field(self, value, form):
        form, _, unit = form.partition("/")
        return "" if value is None else format(value / float(unit) if unit else value, form)


Form = str | Callable[[Row], object]


def fill(form: Form, row: Row | None, absent: str = "–") -> object:
    """A text with the cells of a row in the places of their names, as `Cells` has them; or a function's value of the row."""
    if row is None:
        return absent
    return Cells().vformat(form, (), row) if isinstance(form, str) else form(row)


def table_of(rows: pl.DataFrame | Iterable[Row], columns: dict[str, Form]) -> str:
    """A line for each row. `columns`: what `fill` puts below each name."""
    rows = each(rows) if isinstance(rows, pl.DataFrame) else rows
    return table(columns, ([fill(form, row) for form in columns.values()] for row in rows))


def grid(corner: str, down: dict, across: dict, form: Form, find: Callable[..., Row | None]) -> str:
    """A table of rows by two of their values. `down`, `across`: what `find` looks for in each line and column, by its name."""
    lines = ([name, *(fill(form, find(**of, **to)) for to in across.values())] for name, of in down.items())
    return table((corner, *(f"{name}:" for name in across)), lines)


def along(name: str, labels: dict | Iterable) -> dict[str, dict]:
    """For `grid`: values of one parameter, or texts by such values."""
    labels = labels if isinstance(labels, dict) else {value: str(value) for value in labels}
    return {text: {name: value} for value, text in labels.items()}


def of_models(results: Results, name: str, text: Callable[[Results], str]) -> str:
    """The text of each GPU model that has this file."""
    return "\n\n".join(text(model) for model in results.models if packed(model.folder / name))


def listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *words, last = words
    return f"{', '.join(words)} and {last}" if words else last


def bullets(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines)


def cell(row: Row, column: str, decimals: int = 1, scale: float = 1.0) -> str:
    return "" if row[column] is None else f"{row[column] * scale:.{decimals}f}"


def prediction_error(rows: pl.DataFrame, elapsed: bool = False) -> str:
    """How far predictions are from the counter, in words."""
    columns = (f"{kind}_{'elapsed_' if elapsed else ''}pct" for kind in ("predicted", "achieved"))
    points = rows.select(error(*columns)).to_series().drop_nulls()
    return (
        f"{median(points):.2f} points at the median, {points.mean():.2f} on average, {points.max():.1f} at most, "
        f"in {len(points)} cases"
        if len(points)
        else "none"
    )


def short(commit: str) -> str:
    """What follows the hash, as -dirty does, is kept."""
    return re.sub(r"^([0-9a-f]{12})[0-9a-f]*", r"\1", commit)


def revision(row: Row) -> str:
    """Commit and day."""
    return f"commit `{short(row['commit'])}`, {row['recorded_at'][:10]}"


def stamped(rows: pl.DataFrame) -> str:
    """GPU, driver, commit and day of the first row."""
    row = rows.row(0, named=True)
    return f"{gpu_of(rows)}, driver {row['driver']}, {revision(row)}"


def of_most(rows: pl.DataFrame, tell_gpus: bool = False, what: str = "experiment") -> tuple[Row, str]:
    """A row of the build that recorded most of the rows, and in words which experiments (the column `what`) another build
    recorded; with `tell_gpus`, also where it was on another GPU."""
    builds = [each for _, each in rows.group_by("commit", maintain_order=True)]
    builds.sort(key=len, reverse=True)
    on, *later = (build.row(0, named=True) for build in builds)
    others = []
    for row, build in zip(later, builds[1:], strict=True):
        names = ", ".join(f"`{name}`" for name in build[what].unique().sort())
        elsewhere = ", another GPU of this model" if tell_gpus and row["gpu_uuid"] != on["gpu_uuid"] else ""
        others.append(f" ({names}: `{short(row['commit'])}`{elsewhere})")
    return on, "".join(others)


def machine(row: Row) -> str:
    return (
        f"{row['gpu']} ({row['sm_count']} SMs, compute capability {row['compute_capability']}), driver {row['driver']}, "
        f"CUDA {row['cuda_toolkit']}, {revision(row)}"
    )


def of_tables(results: Results, name: str, text: Callable[[pl.DataFrame], str]) -> str:
    """The text of this file of each GPU model that has it, all cells as text."""
    return of_models(results, name, lambda model: text(read_text(model.folder / name)))


def table_by(lines: Iterable[dict[str, object]]) -> str:
    """A table of lines that have their cells by the names of the columns."""
    lines = list(lines)
    return table(lines[0], (line.values() for line in lines))
