"""What traced programs read, for examples/python/README.md, and what tracing costs, for docs/any-program.md."""

import polars as pl

from occbench_tools.dataset import Results, each, gpu_of, packed, read_rows, read_table
from occbench_tools.markdown import revision, table

SUMS = "programs/python_sums.csv"
PRINTED = "programs/python_sums.txt"
COSTS = "programs/costs.csv"
#: As the costs name them; activity records are what a trace without counters costs.
WAYS = {
    "alone": "alone",
    "trace --counters off": "activity records",
    "traced without counters": "activity records",
    "trace": "traced",
    "traced": "traced",
    "ncu": "ncu",
}
COLUMNS_OF_COSTS = dict.fromkeys(("recorded_at", "commit", "gpu_uuid", "what", "unit"), pl.String) | {
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


def costs(results: Results) -> str:
    measured: dict[tuple[str, str, str], dict[str, str]] = {}
    for model in results.models:
        if not packed(model.folder / COSTS):
            continue
        for row in each(read_table(model.file(COSTS), COLUMNS_OF_COSTS)):
            what, _, way = row["what"].rpartition(", ")
            gpu = f"{gpu_of(model.suite.rows)} {row['gpu_uuid'].removeprefix('GPU-')[:8]}"
            cells = measured.setdefault((what, gpu, revision(row)), {})
            cells[WAYS[way]] = f"{rounded(row['median'], 3):,g} {row['unit']}"
    ways = ("alone", "activity records", "traced", "ncu")
    lines = [(what, *(cells.get(way, "") for way in ways), gpu, on) for (what, gpu, on), cells in measured.items()]
    return table(("what", *(f"{way}:" for way in ways), "GPU", "recorded"), lines)


BLOCKS = {"python sums": python_sums, "python printed": python_printed, "costs of tracing": costs}
