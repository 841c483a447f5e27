"""What traced programs read, for examples/python/README.md, and what tracing costs, for docs/any-program.md."""

from collections.abc import Collection

import polars as pl

from occbench_tools.dataset import Results, each, gpu_of, packed, read_rows, read_table
from occbench_tools.markdown import bullets, revision, table

SUMS = "programs/python_sums.csv"
PRINTED = "programs/python_sums.txt"
COSTS = "programs/costs.csv"
STEPS = "1,000 training steps of "
#: As the costs name them; activity records are what a trace without counters costs.
WAYS = {
    "alone": "alone",
    "trace --counters off": "activity records",
    "traced without counters": "activity records",
    "trace": "traced",
    "traced": "traced",
    "ncu": "ncu",
}
COLUMNS_OF_COSTS = dict.fromkeys(("recorded_at", "commit", "gpu_uuid", "what", "unit", "values"), pl.String) | {
    "median": pl.Float64
}


def python_sums(results: Results) -> str:
    texts = []
    for model in results.models:
        if not packed(model.folder / SUMS):
            continue
        rows = read_rows(model.file(SUMS), model.occbench).sort("time_us", descending=True)
        lines = [
            (
                f"`{row['case'].removeprefix('trace/')}`",
                f"{row['time_us']:,.0f}",
                f"{row['theoretical_pct']:.1f} %",
                f"{row['predicted_pct']:.1f} %",
                f"{row['achieved_pct']:.1f} %",
                row["explanation"],
            )
            for row in each(rows)
        ]
        head = ("kernel", "time, µs:", "theory:", "predicted:", "achieved:", "finding")
        on = rows.row(0, named=True)
        texts.append(f"On an {gpu_of(rows)}, driver {on['driver']}, {revision(on)}:\n\n{table(head, lines)}")
    return "\n\n".join(texts)


def python_printed(results: Results) -> str:
    files = [model.folder / PRINTED for model in results.models if (model.folder / PRINTED).exists()]
    return "\n".join(f"```\n{file.read_text(encoding='utf-8')}```" for file in files)


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def from_to(values: Collection[float]) -> str:
    """ "5", or "5 to 7" """
    least, most = (f"{rounded(each, 3):,g}" for each in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def costs_of_steps(rows: pl.DataFrame) -> str:
    """By how much training steps take longer, and how far their time spreads without a tracer."""
    medians = {
        what: dict(zip(of["way"], of["median"], strict=True))
        for (what,), of in rows.group_by("what", maintain_order=True)
    }
    longer = {
        way: from_to([round(100 * (of[way] / of["alone"] - 1)) for of in medians.values()])
        for way in ("activity records", "traced")
    }
    alone = (
        f"{row['what'].removeprefix(STEPS)} {from_to(list(map(float, row['values'].split())))} {row['unit']}"
        for row in each(rows.filter(way="alone"))
    )
    return bullets(
        f"Steps take {longer['activity records']} % longer with activity records alone, and {longer['traced']} % with default "
        "sampling.",
        f"Runs without a tracer take: {', '.join(alone)}.",
    )


def costs(results: Results) -> str:
    measured: dict[tuple[str, str, str], dict[str, str]] = {}
    texts = []
    for model in results.models:
        if not packed(model.folder / COSTS):
            continue
        what_and_way = pl.col("what").str.extract_groups(r"^(?<what>.*), (?<way>.*)$").struct.unnest()
        rows = read_table(model.file(COSTS), COLUMNS_OF_COSTS).with_columns(what_and_way)
        rows = rows.with_columns(pl.col("way").replace_strict(WAYS))
        steps = rows.filter(pl.col("what").str.starts_with(STEPS))
        texts += [costs_of_steps(steps)] if len(steps) else []
        for row in each(rows):
            gpu = f"{gpu_of(model.suite.rows)} {row['gpu_uuid'].removeprefix('GPU-')[:8]}"
            cells = measured.setdefault((row["what"], gpu, revision(row)), {})
            cells[row["way"]] = f"{rounded(row['median'], 3):,g} {row['unit']}"
    ways = ("alone", "activity records", "traced", "ncu")
    lines = [(what, *(cells.get(way, "") for way in ways), gpu, on) for (what, gpu, on), cells in measured.items()]
    return "\n\n".join([table(("what", *(f"{way}:" for way in ways), "GPU", "recorded"), lines), *texts])


BLOCKS = {"python sums": python_sums, "python printed": python_printed, "costs of tracing": costs}
