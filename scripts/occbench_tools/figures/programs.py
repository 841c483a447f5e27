"""What traced programs read, for examples/python/README.md, and what tracing costs and disturbs, for docs/any-program.md."""

import itertools
import re
from collections.abc import Collection
from statistics import median

import polars as pl

from occbench_tools.dataset import Results, each, gpu_of, packed, read_rows, read_table
from occbench_tools.markdown import revision, table

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
    longer = {
        way: from_to(
            [
                round(100 * median(took / alone - 1 for took, alone in zip(of[way], of["alone"], strict=True)))
                for of in seconds.values()
            ]
        )
        for way in ("activity records", "traced")
    }
    return (
        f"Steps take {longer['activity records']} % longer with activity records alone, and {longer['traced']} % with default "
        "sampling."
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
        cases = []
        for row in each(rows):
            kinds = {"theory": row["rows"], "time": row["timed"], "counter": row["counted"]}
            has = ", ".join(kind for kind, count in kinds.items() if count != "0") or "no rows"
            said = re.sub(r"occbench( trace)?: (process: )?", "", row["said"] or "")
            cases.append((row["case"], row["status"], has, said))
        lines = [
            ("; ".join(case[0] for case in alike), *outcome)
            for outcome, alike in itertools.groupby(cases, key=lambda case: case[1:])
        ]
        computed = rows.filter(pl.col("computed").is_not_null())["computed"]
        same = computed.str.starts_with("200,").all()
        texts.append(
            f"On an {stamped(rows)}. In {len(computed)} of the cases the program ran to its end and computed "
            f"{'the same' if same else 'different results'}:\n\n"
            + table(("case", "exit status:", "rows have", "standard error"), lines)
        )
    return "\n\n".join(texts)


def differing(pairs: Collection[tuple[str, str]]) -> str:
    return f"{100 * sum(one != other for one, other in pairs) / len(pairs):.0f} % of {len(pairs)} pairs"


def choices(results: Results) -> str:
    """How often two runs of a program choose differently, traced or not."""
    texts = []
    for rows in tables(results, CHOICES):
        alone = [row["alone"].split() for row in each(rows)]
        traced = [row["traced"].split() for row in each(rows)]
        both_alone = [pair for runs in alone for pair in itertools.combinations(runs, 2)]
        mixed = [pair for one, other in zip(alone, traced, strict=True) for pair in itertools.product(one, other)]
        steady = [other for one, other in zip(alone, traced, strict=True) if len(set(one)) == 1]
        changed = sum(set(other) != set(one) for one, other in zip(alone, traced, strict=True) if len(set(one)) == 1)
        texts.append(
            f"Tuners do not choose the same in each run. Of {len(rows)} choices of cuDNN and XLA on an {stamped(rows)}, "
            f"two runs without trace differ in {differing(both_alone)}, and a run without and one with trace in "
            f"{differing(mixed)}. {len(steady)} choices were the same in all {len(alone[0])} runs without trace; "
            f"with trace {changed} of these were chosen differently in some run."
        )
    return "\n\n".join(texts)


def killed(results: Results) -> str:
    texts = []
    for rows in tables(results, KILLED):
        number = {name: rows[name].cast(pl.Float64) for name in ("milliseconds", "launched", "in_the_file")}
        missing = number["milliseconds"] * (1 - number["in_the_file"] / number["launched"])
        texts.append(
            f"{len(rows)} processes were killed {number['milliseconds'].min():.0f} to {number['milliseconds'].max():,.0f} ms "
            f"after they began to launch. Each file could be read, and at most the launches of {missing.max():.0f} ms are missing."
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
