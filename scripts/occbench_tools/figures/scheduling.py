"""How far predictions are from the counters by kind of work, for docs/accuracy.md, docs/prediction.md and docs/notes/block-scheduler.md:
the recorded suite, and random launches; and what other launches recorded on an H200 read."""

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import (
    Results,
    Row,
    each,
    error,
    gpu_of,
    median,
    packed,
    pick,
    quantile,
    read_samples,
    read_table,
)
from occbench_tools.markdown import revision, table, table_by, table_of
from occbench_tools.program import SOURCES

LONG = 20_000  # cycles
RANDOM_KINDS = {
    "blocks_from_20000_cycles": "20,000 cycles and more, equal or uneven blocks",
    "warps_from_20000_cycles": "20,000 cycles and more, uneven warps within a block",
    "blocks_of_8000_cycles": "8,000 cycles, equal or uneven blocks",
    "blocks_of_1000_to_8000_cycles": "1,000 to 8,000 cycles, equal or uneven blocks",
    "issue_bound": "issue-bound or pipe-bound: one or two chains, exponentials",
    "always_issuing": "could issue in every cycle: four or eight chains",
    "memory_bound": "memory-bound: reads",
}
CONTENDS = pl.col("work").str.contains_any(["issue=", "pipe=", "bytes="])
BY_WARP = pl.col("work").str.starts_with("warp/")
IS_LONG = pl.col("work").str.extract(r"^(?:warp/)?\w+:([\d.]+)").cast(pl.Float64) >= LONG
IS_EQUAL = pl.col("work").str.starts_with("equal:")
IS_PARTIAL = (pl.col("waves") > 1) & ((pl.col("waves") - pl.col("waves").round()).abs() > 1e-6)
ACTIVE_PCT = 100 * (pl.col("predicted_cycles_active") / pl.col("sm_cycles_active_avg") - 1).abs()


def predicted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop_nulls(["predicted_pct", "achieved_pct"]).with_columns(error=error())


def errors(rows: pl.DataFrame) -> tuple[str, ...]:
    """Mean, median and 95th percentile of the points that predictions are off, and active cycles."""
    points = rows["error"]
    off = (points.mean(), median(points), quantile(points, 0.95))
    return (*(f"{figure:.2f}" for figure in off), f"{median(rows.select(ACTIVE_PCT).to_series()):.2f} %")


def random_launches(results: Results) -> str:
    """A line for each kind of work; each cell has the figures of the GPU models, in one order."""
    files = [model.rows("validation.csv") for model in results.models if packed(model.folder / "validation.csv")]
    models = {gpu_of(rows): predicted(rows) for rows in files}
    lines = []
    for kind, name in RANDOM_KINDS.items():
        figures = []
        for rows in (pick(rows, kind=kind) for rows in models.values()):
            theory = rows.select(error("theoretical_pct")).to_series().mean()
            figures.append((str(len(rows)), f"{theory:.1f}", *errors(rows)))
        lines.append((name, *(", ".join(of_all) for of_all in zip(*figures, strict=True))))
    for gpu, rows in models.items():
        if len(rows) != sum(len(pick(rows, kind=kind)) for kind in RANDOM_KINDS):
            raise WrongInput(f"{gpu}: validation.csv has launches of a kind that is not described")
    head = ("work", "launches:", "theory, mean:", "prediction, mean:", "median:", "95th percentile:", "active cycles:")
    recorded = (f"{gpu}, {len(rows)} launches, {revision(rows.row(0, named=True))}" for gpu, rows in models.items())
    return f"{table(head, lines)}\n\nIn each cell, measured: {'; '.join(recorded)}."


def without_contention(results: Results) -> str:
    def held(rows: pl.DataFrame) -> pl.DataFrame:
        return predicted(rows).filter(~CONTENDS, IS_LONG)

    suite = held(results.suite.rows)
    by_block = suite.filter(~BY_WARP)
    kinds = {
        "equal or uneven blocks": by_block,
        "of these equal, in partial waves beyond the first": by_block.filter(IS_EQUAL, IS_PARTIAL),
        "of these uneven": by_block.filter(~IS_EQUAL),
        "equal or uneven blocks, second run (`repeat.csv`)": held(results.rows("repeat.csv")).filter(~BY_WARP),
        "uneven warps within a block": suite.filter(BY_WARP),
    }
    head = ("rows of `full.csv`", "rows:", "mean error, points:", "median:", "95th percentile:")
    lines = ((kind, len(chosen), *errors(chosen)) for kind, chosen in kinds.items())
    return table((*head, "active cycles, median:"), lines)


def with_contention(results: Results) -> str:
    rows = predicted(results.suite.rows).filter(CONTENDS)
    kinds = {
        "multiply-adds in one or two chains": pl.col("variant").is_in(["multiply_add_1", "multiply_add_2"]),
        "multiply-adds in four chains": pl.col("variant") == "multiply_add_4",
        "multiply-adds in eight chains": pl.col("variant") == "multiply_add_8",
        "exponentials": pl.col("variant").str.starts_with("exponential"),
        "streaming reads": pl.col("kernel") == "reads",
    }
    points = {kind: rows.filter(of_kind)["error"] for kind, of_kind in kinds.items()}
    return table_by(
        {
            "rows of `full.csv`": kind,
            "rows:": len(off),
            "mean error, points:": f"{off.mean():.2f}",
            "worst case:": f"{off.max():.1f}",
            "within 2 points:": f"{100 * (off <= 2).mean():.0f} %",
            "within 4:": f"{100 * (off <= 4).mean():.0f} %",
        }
        for kind, off in points.items()
    )


def recorded_launches(name: str, **types: type[pl.DataType]) -> pl.DataFrame:
    """A file of tests/data/h200_launches; columns without a type are text."""
    return read_table(SOURCES / "tests/data/h200_launches" / name, types)


def rules(_: Results) -> str:
    """What each optional rule of the model is worth: mean errors with it switched off alone, and the group that loses most."""
    runs = read_table(
        SOURCES / "results/nvidia-h200/ablation_each.csv",
        {"launches": pl.Int64, "mean_error_points": pl.Float64, "worse_by_points": pl.Float64},
    )
    of_all = runs.filter(group="all")
    sets = {"selecting": "selecting half", "reporting": "reporting half", "h100": "H100, the suite"}
    groups = runs.filter(pl.col("set") == "selecting", pl.col("group") != "all", pl.col("launches") >= 30)
    lines = []
    for rule in of_all["rule"].unique(maintain_order=True):
        errors_of = dict(of_all.filter(rule=rule).select("set", "mean_error_points").iter_rows())
        worst = groups.filter(rule=rule).sort("worse_by_points").row(-1, named=True)
        loses = (f"+{worst['worse_by_points']:.2f}", worst["group"].replace("_", " "))
        shown = ("none", "", "") if rule == "none" else (f"`{rule}`", *loses)
        lines.append((shown[0], *(f"{errors_of[name]:.2f}" for name in sets), *shown[1:]))
    launches = {name: of_all.filter(set=name)["launches"][0] for name in sets}
    heads = (f"{title} ({launches[name]:,}):" for name, title in sets.items())
    return table(("without", *heads, "worst group:", "of the selecting half"), lines)


def tails(_: Results) -> str:
    """SMs that take a tail after one whole wave of equal blocks."""
    whole = ["block_threads", "blocks_per_sm", "grid_blocks"]
    launches = recorded_launches("tails.csv", **dict.fromkeys(whole, pl.Int64), sms_with_tail=pl.Float64)
    launches = launches.filter(work="equal:20000").sort(whole)
    names = {20: "SMs with a tail of 20:", 60: "of 60:", 132: "of 132:"}
    launches = launches.with_columns(tail=pl.col("grid_blocks") - 132 * pl.col("blocks_per_sm"))
    found = launches.pivot("tail", on_columns=list(names), index=whole[:2], values="sms_with_tail")
    columns = {"threads": "{block_threads:,}", "blocks per SM:": "{blocks_per_sm}"}
    return table_of(found, columns | {name: f"{{{tail}:.0f}}" for tail, name in names.items()})


def reads(_: Results) -> str:
    """Occupancy of reads where little of an SM's memory is L1, and where much is."""
    key = ["bytes_per_load", "loads_in_flight", "carveout_pct", "blocks_per_sm"]
    launches = recorded_launches(
        "reads.csv", **dict.fromkeys([*key, "block_threads"], pl.Int64), achieved_pct=pl.Float64
    )
    share = 2048 * pl.col("achieved_pct") / (pl.col("block_threads") * pl.col("blocks_per_sm"))
    blocks = (4, 6, 8, 10, 12, 14, 16)
    launches = launches.filter(pl.col("carveout_pct").is_in([0, 100])).with_columns(share=share)
    found = launches.pivot("blocks_per_sm", on_columns=blocks, index=key[:3], values="share")
    columns = {"loads in flight": "{loads_in_flight} of {bytes_per_load} B", "carveout:": "{carveout_pct} %"}
    columns |= {f"{count}:": f"{{{count}:.0f}}" for count in blocks}
    columns = {name.replace("4:", "4 blocks per SM:") if name == "4:" else name: form for name, form in columns.items()}
    return table_of(found.sort(key[:3], descending=[False, False, True]), columns)


def after_the_loop(_: Results) -> str:
    """What one loop reads with and without a store after it."""
    read = {"achieved_pct": pl.Float64, "achieved_with_store_pct": pl.Float64}
    launches = recorded_launches("after_the_loop.csv", blocks_per_sm=pl.Int64, instructions=pl.Int64, **read)
    total = pl.col("instructions") * pl.col("blocks_per_sm")
    chosen = launches.filter(
        pl.col("block_threads") == "128", total.is_between(350_000, 450_000, "none"), pl.col("grid_blocks") != "6336"
    )
    columns = {"chains": "{chains}", "warps a sub-partition:": "{blocks_per_sm}", "counter:": "{achieved_pct:.1f} %"}
    return table_of(chosen, columns | {"with a store after the loop:": "{achieved_with_store_pct:.1f} %"})


def streams(_: Results) -> str:
    """What streams of warps that always issue read, by block size."""
    shapes = [(64, 50), (256, 50), (512, 50), (64, 100), (256, 100), (512, 100), (1024, 100)]
    whole = ("block_threads", "grid_blocks", "blocks_per_sm")
    launches = recorded_launches("streams.csv", **dict.fromkeys(whole, pl.Int64))
    full = pl.col("block_threads") * pl.col("blocks_per_sm") / 2048
    long = launches.filter(instructions="20480").filter(pl.col("grid_blocks") == 8 * 132 * pl.col("blocks_per_sm"))
    long = long.with_columns(shape=pl.format("{} threads, {} %", "block_threads", (100 * full).round().cast(int)))
    names = [f"{threads} threads, {pct} %" for threads, pct in shapes]
    found = long.pivot("shape", on_columns=names, index=["chains", "loop_instructions"], values="achieved_pct")
    columns = {"chains": "{chains}", "loop:": "{loop_instructions}"}
    return table_of(found, columns | {f"{name}:": f"{{{name}}}" for name in names})


def sms_of_gpcs() -> list[int]:
    """How many SMs each GPC of the built-in profile has, in dispatch order, first those outside of the order."""
    (file,) = SOURCES.glob("src/*/profiles/h200.profile")
    text = file.read_text(encoding="utf-8")
    profile = dict(line.split(" = ") for line in text.splitlines())
    return [int(sms) for sms in (profile["singleton_sms"], *profile["gpc_sms"].split())]


def first_blocks(_: Results) -> str:
    """When SMs begin, of the recorded starts; SMs are numbered in dispatch order, GPC by GPC, pairs side by side."""
    gpcs = pl.Series([gpc for gpc, sms in enumerate(sms_of_gpcs()) for _ in range(sms)])

    def line(row: Row) -> dict[str, str]:
        starts = pl.DataFrame({"gpc": gpcs, "start": map(float, row["start_cycles"].split())}).with_row_index("sm")
        second = pl.col("sm") % 2 == 1
        later = starts.select(pl.col("start").filter(second).mean() - pl.col("start").filter(~second).mean()).item()
        rest = starts.select(pl.col("start") + pl.when(second).then(-later / 2).otherwise(later / 2)).to_series()
        of_gpcs = starts.group_by("gpc").agg(pl.col("start").mean())["start"]
        return {
            "threads": f"{row['block_threads']:,}",
            "launches:": row["launches"],
            "second SM of a TPC after the first:": f"{later:.0f}",
            "GPCs, standard deviation:": f"{of_gpcs.std(ddof=0):.0f}",
            "SMs without both:": f"{rest.std(ddof=0):.0f}",
            "from launch to launch:": f"{row['launch_to_launch']:.0f}",
        }

    launches = recorded_launches("first_blocks.csv", block_threads=pl.Int64, launch_to_launch=pl.Float64)
    return table_by(map(line, each(launches)))


def sm_clocks(results: Results) -> str:
    """Clocks of SMs in recorded launches of three waves: cycles over nanoseconds of all blocks of an SM. Of others too few
    ticks of the clock of 32 ns are known."""
    lines: list[Row] = []
    for model in results.models:
        for name, when in (("calibration.csv", "calibration"), ("full.csv", "suite")):
            rows = model.rows(name).filter(pl.col("case").str.contains("3.00"))
            samples = read_samples(model.file(name)).join(rows.select("case"), on="case", how="semi")
            traced = samples.filter(
                pl.col("quantity").is_in(["trace_sm", "trace_start_ns", "trace_end_ns", "trace_sm_cycles"])
            )
            blocks = traced.pivot("quantity", index=["case", "index"], values="value")
            ns = (pl.col("trace_end_ns") - pl.col("trace_start_ns")).sum()
            sms = blocks.group_by("case", "trace_sm").agg(mhz=1000 * pl.col("trace_sm_cycles").sum() / ns)
            cases = sms.group_by("case").agg(
                mean=pl.col("mhz").mean(), ppm=1e6 * pl.col("mhz").std(ddof=0) / pl.col("mhz").mean()
            )
            lines.extend({"gpu": gpu_of(rows), "when": when} | case for case in each(cases.sort("case")))
    columns = {"GPU": "{gpu}", "recorded in": "{when}", "launch": "`{case}`", "mean, MHz:": "{mean:.0f}"}
    return table_of(pl.DataFrame(lines), columns | {"standard deviation, ppm:": "{ppm:.0f}"})


BLOCKS = {
    "random": random_launches,
    "scheduling: after the loop": after_the_loop,
    "scheduling: streams": streams,
    "scheduling: first blocks": first_blocks,
    "scheduling: reads": reads,
    "scheduling: rules": rules,
    "scheduling: SM clocks": sm_clocks,
    "scheduling: tails": tails,
    "scheduling: without contention": without_contention,
    "scheduling: under contention": with_contention,
}
