"""What traced programs read, for examples/python/README.md, and what tracing costs and disturbs, for
docs/any-program.md and docs/notes/tracing.md."""

import itertools
import random
from collections.abc import Collection
from statistics import mean, median

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
OWN_CLOCKS = "programs/own_clocks.csv"
SAMPLED = "programs/sampled.csv"
PERMUTATIONS = 2000
#: Kernels from 5 us on, and shorter ones.
NEAR = (("long_within_pct", "long_kernels"), ("short_within_pct", "short_kernels"))
#: As the costs name them; activity records are what a trace without counters costs.
WAYS = {
    "alone": "alone",
    "trace --counters off": "activity records",
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


def costs_of_steps(rows: pl.DataFrame) -> str:
    """By how much traced training steps take longer than those that another process takes between them."""
    seconds: dict[str, dict[str, list[float]]] = {}
    for row in each(rows):
        seconds.setdefault(row["what"], {})[row["way"]] = list(map(float, row["values"].split()))
    lines = []
    for what, of in seconds.items():
        rounds = list(zip(of["traced"], of["alone"], strict=True))
        percent = [100 * (traced / alone - 1) for traced, alone in rounds]
        added = median(1000 * (traced - alone) for traced, alone in rounds)
        lines.append(
            f"{what} take {added:.0f} ms longer when traced: {median(percent):.1f} % at the median of {len(rounds)} rounds, "
            f"{min(percent):.0f} to {max(percent):.0f} % in single ones."
        )
    return bullets(*lines)


def spread(values: list[float], unit: str) -> str:
    """The lowest and the highest of the GPUs' medians."""
    ends = dict.fromkeys(f"{rounded(value, 3):,g}" for value in (min(values), max(values)))
    return f"{' to '.join(ends)} {unit}"


def costs(results: Results) -> str:
    """Of each GPU model, what each way takes: the range over its GPUs."""
    texts = []
    for model in results.models:
        if not packed(model.folder / COSTS):
            continue
        what_and_way = pl.col("what").str.extract_groups(r"^(?<what>.*), (?<way>.*)$").struct.unnest()
        rows = read_table(model.file(COSTS), COLUMNS_OF_COSTS).with_columns(what_and_way)
        rows = rows.with_columns(pl.col("way").replace_strict(WAYS))
        lines = []
        for (what,), of in rows.group_by("what", maintain_order=True):
            ways = (of.filter(way=way) for way in dict.fromkeys(WAYS.values()))
            cells = (spread(one["median"].to_list(), one["unit"][0]) if len(one) else "" for one in ways)
            lines.append((what, *cells, of["gpu_uuid"].n_unique()))
        head = ("what", *(f"{way}:" for way in dict.fromkeys(WAYS.values())), "GPUs:")
        days = sorted(rows["recorded_at"].str.slice(0, 10).unique())
        recorded = " to ".join(dict.fromkeys((days[0], days[-1])))
        steps = rows.filter(pl.col("what").str.starts_with(STEPS))
        texts.append(f"Medians on {gpu_of(model.suite.rows)}, {recorded}:\n\n{table(head, lines)}")
        texts += [costs_of_steps(steps)] if len(steps) else []
    return "\n\n".join(texts)


def stamped(rows: pl.DataFrame) -> str:
    on = rows.row(0, named=True)
    return f"{gpu_of(rows)}, driver {on['driver']}, {revision(on)}"


def tables(results: Results, name: str) -> list[pl.DataFrame]:
    """The file of that name of each model that has one, all as text."""
    files = [model.folder / name for model in results.models if (model.folder / name).exists()]
    return [pl.read_csv(file, infer_schema=False) for file in files]


def sampled(results: Results) -> str:
    """Shares, overheads and differences of programs that were sampled."""
    texts = []
    for rows in tables(results, SAMPLED):
        lines = []
        for row in each(rows):
            overhead = (
                row["overhead_pct"]
                and f"{row['overhead_pct']} ({row['overhead_least_pct']} to {row['overhead_most_pct']})"
            )
            near = [row[name] and f"{row[name]} % of {row[count]}" for name, count in NEAR]
            shares = (row["with_counter_pct"], row["attributed_pct"])
            lines.append((row["program"], *shares, overhead, *near, f"`{row['commit']}`, {row['recorded_at']}"))
        head = (
            "program",
            "GPU time with a counter, %:",
            "told apart in windows, %:",
            "longer, %:",
            "within 0.5 points:",
            "short, within 1:",
            "recorded",
        )
        texts.append(
            f"On an {gpu_of(rows)}, driver {rows['driver'].first()}:\n\n{table(head, [[cell or '' for cell in line] for line in lines])}"
        )
    return "\n\n".join(texts) or "Not recorded."


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
            f"On an {stamped(rows)}. Of {len(rows)} cases, {len(computed)} have a program that prints what it computed; in {same} "
            f"of them that was the same as without a trace.\n\n{table(('case', 'exit status:', 'rows have'), lines)}"
        )
    return "\n\n".join(texts)


def differing(pairs: Collection[tuple[str, str]]) -> str:
    return f"{100 * sum(one != other for one, other in pairs) / len(pairs):.0f} % of {len(pairs)} pairs"


def excess(runs: Collection[tuple[list[str], list[str]]]) -> float:
    """By how much more runs of different ways differ than runs of one way. @param runs what each way chose, for each choice"""
    total = 0.0
    for ways in runs:
        within = [mean(one != other for one, other in itertools.combinations(way, 2)) for way in ways]
        total += mean(one != other for one, other in itertools.product(*ways)) - mean(within)
    return total


def p_value(runs: Collection[tuple[list[str], list[str]]]) -> float:
    """The share of random ways to divide the runs into two groups that differ at least as much as these two do."""
    measured = excess(runs)
    order = list(range(sum(map(len, next(iter(runs))))))
    chance = random.Random(1)
    half = len(order) // 2
    as_much = 0
    for _ in range(PERMUTATIONS):
        chance.shuffle(order)
        mixed = [[(alone + traced)[run] for run in order] for alone, traced in runs]
        as_much += excess([(of[:half], of[half:]) for of in mixed]) >= measured - 1e-9
    return (as_much + 1) / (PERMUTATIONS + 1)


def choices(results: Results) -> str:
    """How often two runs of a program choose differently, traced or not."""
    texts = []
    for rows in tables(results, CHOICES):
        lines = []
        for (tuner,), of in rows.group_by("tuner", maintain_order=True):
            runs = [(row["alone"].split(), row["traced"].split()) for row in each(of)]
            both_alone = [pair for alone, _ in runs for pair in itertools.combinations(alone, 2)]
            both_traced = [pair for _, traced in runs for pair in itertools.combinations(traced, 2)]
            mixed = [pair for alone, traced in runs for pair in itertools.product(alone, traced)]
            shares = [differing(pairs) for pairs in (both_alone, both_traced, mixed)]
            on = revision(of.row(0, named=True))
            lines.append((tuner, len(runs[0][0]), len(runs), *shares, f"{p_value(runs):.3f}", on))
        head = (
            "tuner",
            "runs each way:",
            "choices:",
            "two runs without trace differ in:",
            "two with trace:",
            "one of each:",
            "p:",
            "recorded",
        )
        texts.append(f"On an {gpu_of(rows)}:\n\n{table(head, lines)}")
    return "\n\n".join(texts)


def killed(results: Results) -> str:
    texts = []
    for rows in tables(results, KILLED):
        number = {name: rows[name].cast(pl.Float64) for name in ("milliseconds", "launched", "in_the_file")}
        missing = number["milliseconds"] * (1 - number["in_the_file"] / number["launched"])
        read = (number["in_the_file"] > 0).sum()
        first, last = number["milliseconds"].min(), number["milliseconds"].max()
        texts.append(
            f"On an {stamped(rows)}: {len(rows)} processes were killed {first:.0f} to {last:,.0f} ms after they began to "
            f"launch. {read} of their files had rows, and lacked the launches of the last {missing.max():.0f} ms at most."
        )
    return "\n\n".join(texts)


def own_clocks(results: Results) -> str:
    """Whether kernels run as without a tool, as they say themselves."""
    texts = []
    for rows in tables(results, OWN_CLOCKS):
        lines = [
            (
                row["kernel"],
                row["way"],
                row["achieved_pct"],
                f"{float(row['cycles_active']):,.0f}",
                row["counter_pct"] or "",
            )
            for row in each(rows)
        ]
        head = ("kernel", "run", "occupancy by its own clocks, %:", "its active cycles:", "tool's counter, %:")
        texts.append(f"On an {stamped(rows)}, medians:\n\n{table(head, lines)}")
    return "\n\n".join(texts)


BLOCKS = {
    "own clocks": own_clocks,
    "in the way": in_the_way,
    "choices of tuners": choices,
    "killed programs": killed,
    "python sums": python_sums,
    "python printed": python_printed,
    "costs of tracing": costs,
    "sampled programs": sampled,
}
