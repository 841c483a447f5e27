"""What traced programs read, for examples/python/README.md, and what tracing costs and disturbs, for
docs/any-program.md and docs/notes/tracing.md."""

import itertools
import random
from collections.abc import Callable, Collection, Iterable
from statistics import fmean

import polars as pl

from occbench_tools.dataset import Results, Row, each, gpu_of, packed, read_rows, read_table
from occbench_tools.markdown import listed, of_models, of_most, of_tables, revision, stamped, table, table_by, table_of

SUMS = "programs/python_sums.csv"
COSTS = "programs/costs.csv"
PERMUTATIONS = 2000
#: As the costs name them; activity records are what a trace without counters costs.
WAYS = {
    "alone": "alone",
    "trace --counters off": "activity records",
    "trace": "traced",
    "traced": "traced",
    "ncu": "ncu",
}
COLUMNS_OF_COSTS = dict.fromkeys(("recorded_at", "commit", "gpu", "driver", "what", "unit", "values"), pl.String) | {
    "median": pl.Float64
}


def python_sums(results: Results) -> str:
    def text(model: Results) -> str:
        rows = read_rows(model.file(SUMS), model.occbench).sort("time_us", descending=True)
        columns = {
            "kernel": lambda row: f"`{row['case'].removeprefix('trace/')}`",
            "time, µs:": "{time_us:,.0f}",
            "theory:": "{theoretical_pct:.1f} %",
            "predicted:": "{predicted_pct:.1f} %",
            "achieved:": "{achieved_pct:.1f} %",
            "finding": "{explanation}",
        }
        return f"On an {stamped(rows)}:\n\n{table_of(rows, columns)}"

    return of_models(results, SUMS, text)


def python_printed(results: Results) -> str:
    return "\n".join(
        f"```\n{file.read_text(encoding='utf-8')}```"
        for model in results.models
        if (file := model.folder / "programs/python_sums.txt").exists()
    )


def spread(values: pl.Series, unit: str) -> str:
    """The lowest and the highest of the GPUs' medians."""
    ends = dict.fromkeys(f"{float(f'{value:.3g}'):,g}" for value in (values.min(), values.max()))
    return f"{' to '.join(ends)} {unit}"


def cost_table(model: Results, *, of_launches: bool) -> str:
    """What each way takes: the range over the model's GPUs, and of how many values each median is."""
    ways = dict.fromkeys(WAYS.values())
    what_and_way = pl.col("what").str.extract_groups(r"^(?<what>.*), (?<way>.*)$").struct.unnest()
    rows = read_table(model.file(COSTS), COLUMNS_OF_COSTS).with_columns(what_and_way)
    rows = rows.filter(pl.col("what").str.starts_with("a ") == of_launches)
    if rows.is_empty():
        return ""
    rows = rows.with_columns(pl.col("way").replace_strict(WAYS))
    lines = []
    for (what,), of in rows.group_by("what", maintain_order=True):
        of_ways = [of.filter(way=way) for way in ways if way in rows["way"]]
        of_each = (spread(one["median"], one["unit"][0]) if len(one) else "" for one in of_ways)
        lines.append((what, " to ".join(map(str, of["values"].str.split(" ").list.len().unique().sort())), *of_each))
    found = table(("what", "values:", *(f"{way}:" for way in ways if way in rows["way"])), lines)
    return f"Medians on {stamped(rows)}:\n\n{found}"


def costs(results: Results) -> str:
    """Of launches, on the first GPU model."""
    return next(cost_table(model, of_launches=True) for model in results.models if packed(model.folder / COSTS))


def waits(results: Results) -> str:
    """Of set-up."""
    return of_models(results, COSTS, lambda model: cost_table(model, of_launches=False)).strip()


def within(rows: pl.DataFrame, kind: str) -> str:
    """Kernels of all programs whose counters are near. @param kind as in the columns' names"""
    count = rows[f"{kind}_kernels"].cast(pl.Int64)
    near = (count * rows[f"{kind}_within_pct"].cast(pl.Float64) / 100).round().sum()  # the share may be rounded
    return f"{100 * near / count.sum():.1f} % of {count.sum()}"


def sampled(results: Results) -> str:
    """Shares and differences of programs that were sampled."""

    def share(kind: str) -> Callable[[Row], str]:
        within, kernels = f"{kind}_within_pct", f"{kind}_kernels"
        return lambda row: f"{row[within]} % of {row[kernels]}" if row[kernels] != "0" else "none"

    # Kernels from 5 us on, and shorter ones.
    columns = {
        "program": "{program}",
        "launches:": "{launches}",
        "GPU time with a counter, %:": "{with_counter_pct}",
        "told apart in windows, %:": "{attributed_pct}",
        "same values": "{same_values}",
        "compared kernels, % of the time:": "{stable_pct}",
        "within 0.5 points:": share("long"),
        "short, within 1:": share("short"),
    }

    def text(rows: pl.DataFrame) -> str:
        told = f"{within(rows, 'long')} kernels from 5 us on are within 0.5 points, {within(rows, 'short')} shorter ones within 1"
        told += f", {rows['countings'][0]} countings of each"
        if "sampled_kernels" in rows.columns:
            told += f"; of those that were sampled {within(rows, 'sampled_long')} and {within(rows, 'sampled_short')}"
        return f"On an {stamped(rows)}: {told}.\n\n{table_of(rows, columns)}"

    return of_tables(results, "programs/sampled.csv", text) or "Not recorded."


def in_the_way(results: Results) -> str:
    def has(row: Row) -> str:
        kinds = {"rows": "theory", "timed": "time", "counted": "counter"}
        return ", ".join(kind for column, kind in kinds.items() if row[column] != "0") or "no rows"

    def text(rows: pl.DataFrame) -> str:
        computed = rows["computed"].drop_nulls().str.extract(r"^(\d+),")
        same = (computed == computed.first()).sum()  # the first case has nothing in the way
        found = table_of(rows, {"case": "{case}", "exit status:": "{status}", "rows have": has})
        return (
            f"On an {stamped(rows)}{of_most(rows, what='case')[1]}. Of {len(rows)} cases, {len(computed)} have a program that prints what it computed; in {same} "
            f"of them that was the same as without a trace.\n\n{found}"
        )

    return of_tables(results, "programs/in_the_way.csv", text)


def differing(pairs: Collection[tuple[str, str]]) -> str:
    return f"{100 * sum(one != other for one, other in pairs) / len(pairs):.0f} % of {len(pairs)} pairs"


def two_of(ways: Iterable[list[str]]) -> list[tuple[str, str]]:
    return [pair for way in ways for pair in itertools.combinations(way, 2)]


def excess(runs: Collection[tuple[list[str], list[str]]]) -> float:
    """By how much more runs of different ways differ than runs of one way. @param runs what each way chose, for each choice"""
    total = 0.0
    for ways in runs:
        within = [fmean(one != other for one, other in itertools.combinations(way, 2)) for way in ways]
        total += fmean(one != other for one, other in itertools.product(*ways)) - fmean(within)
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

    def line(of: pl.DataFrame) -> dict[str, object]:
        runs = [(row["alone"].split(), row["traced"].split()) for row in each(of)]
        return {
            "tuner": of["tuner"][0],
            "runs each way:": len(runs[0][0]),
            "choices:": len(runs),
            "two runs without trace differ in:": differing(two_of(alone for alone, _ in runs)),
            "two with trace:": differing(two_of(traced for _, traced in runs)),
            "one of each:": differing([pair for run in runs for pair in itertools.product(*run)]),
            "p:": f"{p_value(runs):.3f}",
            "recorded": revision(of.row(0, named=True)),
        }

    def text(rows: pl.DataFrame) -> str:
        lines = [line(of) for _, of in rows.group_by("tuner", maintain_order=True)]
        return f"On an {gpu_of(rows)}:\n\n{table_by(lines)}"

    return of_tables(results, "programs/choices.csv", text)


def killed(results: Results) -> str:
    def text(rows: pl.DataFrame) -> str:
        number = rows.select(pl.col("milliseconds", "launched", "in_the_file").cast(float))
        missing = number.select(pl.col("milliseconds") * (1 - pl.col("in_the_file") / pl.col("launched"))).to_series()
        first, last = number["milliseconds"].min(), number["milliseconds"].max()
        return (
            f"On an {stamped(rows)}: {len(rows)} processes were killed {first:.0f} to {last:,.0f} ms after they began to "
            f"launch. {(number['in_the_file'] > 0).sum()} of their files had rows, and lacked the launches of the last "
            f"{missing.max():.0f} ms at most."
        )

    return of_tables(results, "programs/killed.csv", text)


def own_clocks(results: Results) -> str:
    """Whether kernels run as without a tool, as they say themselves."""
    columns = {
        "kernel": "{kernel}",
        "run": "{way}",
        "occupancy by its own clocks, %:": "{achieved_pct}",
        "its active cycles:": lambda row: f"{float(row['cycles_active']):,.0f}",
        "tool's counter, %:": "{counter_pct}",
    }
    return of_tables(
        results, "programs/own_clocks.csv", lambda rows: f"On an {stamped(rows)}, medians:\n\n{table_of(rows, columns)}"
    )


def overhead(results: Results) -> str:
    columns = {
        "loop": "{program}",
        "way": "`{way}`",
        "commit": "`{commit}`",
        "at the median, %:": "{median_pct}",
        "fastest tenth, %:": "{fastest_tenth_pct}",
        "a second process alone, %:": "{again_median_pct}",
        "its fastest tenth, %:": "{again_fastest_tenth_pct}",
    }

    def text(rows: pl.DataFrame) -> str:
        (gpu,) = rows["gpu"].unique()
        lines = table_of(rows.sort("program", "way", maintain_order=True), columns)
        days = listed(rows["recorded_at"].unique().sort())
        return f"{gpu}, driver {rows['driver'][0]}, {days}, {rows['gpu_uuid'].n_unique()} GPUs:\n\n{lines}"

    return of_tables(results, "programs/overhead.csv", text)


def counted_alone(results: Results) -> str:
    """Beside --counters 3: the programs, kernels that repeat within 0.3 points, how many of them are as close."""

    def text(rows: pl.DataFrame) -> str:
        programs = ", ".join(f"`{name}`" for name in rows["program"])
        stable, close, most = rows["stable"].sum(), rows["stable_within_03"].sum(), rows["most_points"].max()
        return (
            f"On an {stamped(rows)}, {programs}: `--counters 3` repeats {stable} kernels and configurations within 0.3 points. "
            f"{close} of these ({100 * close / stable:.0f} %) are within 0.3 points of it, the others within {most:.1f}."
        )

    types = dict.fromkeys(("stable", "stable_within_03"), pl.Int64) | {"most_points": pl.Float64}
    return of_tables(results, "programs/counted_alone.csv", lambda rows: text(rows.cast(types)))


def overhead_by_part(results: Results) -> str:
    columns = {
        "run:": "{run}",
        "commit": "`{commit}`",
        "what it did": "{way}",
        "longer, %:": "{median_pct}",
        "fastest tenth, %:": "{fastest_tenth_pct}",
    }

    def text(rows: pl.DataFrame) -> str:
        days = listed(rows["recorded_at"].unique().sort())
        return f"On {gpu_of(rows)}, driver {rows['driver'][0]}, {days}:\n\n{table_of(rows, columns)}"

    return of_tables(results, "programs/overhead_parts.csv", text)


BLOCKS = {
    "own clocks": own_clocks,
    "in the way": in_the_way,
    "choices of tuners": choices,
    "killed programs": killed,
    "python sums": python_sums,
    "python printed": python_printed,
    "costs of tracing": costs,
    "waits for sampling": waits,
    "sampled programs": sampled,
    "counted alone": counted_alone,
    "overhead": overhead,
    "overhead by part": overhead_by_part,
}
