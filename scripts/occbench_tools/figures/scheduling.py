"""How far predictions are from the counters by kind of work, for docs/accuracy.md, docs/prediction.md and docs/notes/block-scheduler.md:
the recorded suite, and random launches."""

import polars as pl

from occbench_tools import WrongInput
from occbench_tools.dataset import Results, error, gpu_of, median, packed, pick, quantile, read_table
from occbench_tools.markdown import revision, table, table_by
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
    return f"{table(head, lines)}\n\nIn each cell: {'; '.join(recorded)}."


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


BLOCKS = {
    "random": random_launches,
    "scheduling: rules": rules,
    "scheduling: without contention": without_contention,
    "scheduling: under contention": with_contention,
}
