"""What traced programs read, for examples/python/README.md, and what tracing costs and disturbs, for docs/any-program.md."""

import itertools
from collections.abc import Collection
from statistics import median

import polars as pl

from occbench_tools.dataset import Results, each, gpu_of, packed, read_rows, read_table
from occbench_tools.markdown import bullets, revision, table

SUMS = "programs/python_sums.csv"
PRINTED = "programs/python_sums.txt"
COSTS = "programs/costs.csv"
STEPS = "1,000 training steps of "
IN_THE_WAY = "programs/in_the_way.csv"
CHOICES = "programs/choices.csv"
KILLED = "programs/killed.csv"
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
    """By how much training steps take longer than those that were taken in turns with them."""
    seconds: dict[str, dict[str, list[float]]] = {}
    for row in each(rows):
        seconds.setdefault(row["what"], {})[row["way"]] = list(map(float, row["values"].split()))
    lines = []
    for way, name in (("activity records", "activity records alone"), ("traced", "default sampling")):
        rounds = [list(zip(of[way], of["alone"], strict=True)) for of in seconds.values()]
        ratios = [[100 * (took / alone - 1) for took, alone in of] for of in rounds]
        added = from_to([round(median(1000 * (took - alone) for took, alone in of)) for of in rounds])
        middle = from_to([round(median(of)) for of in ratios])
        all_of_them = from_to([round(ratio) for of in ratios for ratio in of])
        lines.append(
            f"1,000 steps take {added} ms longer with {name}: {middle} % at the median of rounds, {all_of_them} % over all."
        )
    return bullets(*lines)


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


def stamped(rows: pl.DataFrame) -> str:
    on = rows.row(0, named=True)
    return f"{gpu_of(rows)}, driver {on['driver']}, {revision(on)}"


def tables(results: Results, name: str) -> list[pl.DataFrame]:
    """The file of that name of each model that has one, all as text."""
    files = [model.folder / name for model in results.models if (model.folder / name).exists()]
    return [pl.read_csv(file, infer_schema=False) for file in files]


def in_the_way(results: Results) -> str:
    texts = []
    for rows in tables(results, IN_THE_WAY):
        lines = []
        for row in each(rows):
            kinds = {"theory": row["rows"], "time": row["timed"], "counter": row["counted"]}
            has = ", ".join(kind for kind, count in kinds.items() if count != "0") or "no rows"
            lines.append((row["case"], row["status"], has))
        computed = rows["computed"].drop_nulls().str.extract(r"^(\d+),")
        same = (computed == computed.first()).sum()  # the first case has nothing in the way
        texts.append(
            f"On an {stamped(rows)}. In {len(computed)} of {len(rows)} cases the program that is tried ran to its end; in {same} of "
            f"them it computed what it computes without a trace.\n\n{table(('case', 'exit status:', 'rows have'), lines)}"
        )
    return "\n\n".join(texts)


def differing(pairs: Collection[tuple[str, str]]) -> str:
    return f"{100 * sum(one != other for one, other in pairs) / len(pairs):.0f} % of {len(pairs)} pairs"


def choices(results: Results) -> str:
    """How often two runs of a program choose differently, traced or not."""
    texts = []
    for rows in tables(results, CHOICES):
        lines = []
        for (tuner,), of in rows.group_by("tuner", maintain_order=True):
            runs = [(row["alone"].split(), row["traced"].split()) for row in each(of)]
            both_alone = [pair for alone, _ in runs for pair in itertools.combinations(alone, 2)]
            mixed = [pair for alone, traced in runs for pair in itertools.product(alone, traced)]
            steady = [(alone, traced) for alone, traced in runs if len(set(alone)) == 1]
            changed = sum(set(traced) != set(alone) for alone, traced in steady)
            lines.append((tuner, len(runs), differing(both_alone), differing(mixed), len(steady), changed))
        head = (
            "tuner",
            "choices:",
            "two runs without trace differ in:",
            "one without and one with trace:",
            "the same in all runs without:",
            "of these different in a run with:",
        )
        texts.append(f"On an {stamped(rows)}, {len(runs[0][0])} runs each way:\n\n{table(head, lines)}")
    return "\n\n".join(texts)


def killed(results: Results) -> str:
    texts = []
    for rows in tables(results, KILLED):
        number = {name: rows[name].cast(pl.Float64) for name in ("milliseconds", "launched", "in_the_file")}
        missing = number["milliseconds"] * (1 - number["in_the_file"] / number["launched"])
        read = (number["in_the_file"] > 0).sum()
        texts.append(
            f"{len(rows)} processes were killed {number['milliseconds'].min():.0f} to {number['milliseconds'].max():,.0f} ms "
            f"after they began to launch. {read} of their files had rows, and lacked the launches of the last "
            f"{missing.max():.0f} ms at most."
        )
    return "\n\n".join(texts)


BLOCKS = {
    "in the way": in_the_way,
    "choices of tuners": choices,
    "killed programs": killed,
    "python sums": python_sums,
    "python printed": python_printed,
    "costs of tracing": costs,
}
