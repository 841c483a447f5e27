"""What the rules of ncu, `explain` and `predict` say that a launch could save, and what its remedy saved."""

import itertools
import json
import math

import polars as pl

from occbench_tools.dataset import Results, Row, gpu_of, packed, read_table
from occbench_tools.figures.timelines import rows_by_case
from occbench_tools.markdown import of_models, revision, table_by

RULES = dict.fromkeys(("commit", "recorded_at", "experiment", "case", "rule", "begins", "estimate"), pl.String) | {
    name: pl.Float64 for name in ("duration_us", "estimated_speedup_pct")
}
WAVES = ("1.25", "1.50", "2.50", "4.50", "1_plus_one_block")
SHAPES = ("equal", "uniform")
UNEVEN = ("linear_up", "uniform_1", "lognormal_1", "heaviest_last")
WARPS = "spin/plain/warps_per_block="
# Of blocks of 8 uneven warps: mean work of a warp, in that of a warp of `slow_1`, where all are equal.
UNEVEN_WARPS = {
    "slow_4": (7 + 4) / 8,
    "slow_16": (7 + 16) / 8,
    "uniform_1": 1,
    "lognormal_1": 1,
    "bimodal_1": 0.9 + 0.1 * 8,
}


def saved_pct(row: Row, instead: str, work: float, rows: dict[str, Row]) -> float:
    """Of the time, for the same work. Whole waves: the time per block of the next whole number of waves."""
    if instead:
        return 100 * (1 - work * rows[instead]["time_us"] / row["time_us"])
    whole = rows[f"spin/plain/waves={math.ceil(row['waves'] + 1e-9):.2f}"]
    return 100 * (1 - whole["time_us"] * row["grid_blocks"] / whole["grid_blocks"] / row["time_us"])


def explained_pct(row: Row, model: Results) -> float:
    """The most that a finding of `explain` says its remedy saves."""
    file = packed(model.folder / "full.csv")
    case = f"^{row['experiment']}/{row['case']}$"
    said = json.loads(model.occbench.output("explain", str(file), "--filter", case, "--format", "json"))
    losses = [found["time_saved_at_most_pct"] or 0 for found in said[0]["findings"] if found["list"] == "losses"]
    return max(losses, default=0)


def predicted_pct(row: Row, model: Results) -> float:
    """What the grid that `predict` advises saves; 0 where it advises none. The profile is that of the GPU itself."""
    options = {
        "--profile": str(next(model.folder.glob("*_recorded.profile"))),
        "--cc": row["compute_capability"],
        "--sm-count": str(row["sm_count"]),
        "--block-size": str(row["block_threads"]),
        "--registers": str(row["registers_per_thread"]),
        "--grid": str(row["grid_blocks"]),
        "--work": row["work"],
        "--format": "json",
    }
    said = json.loads(model.occbench.output("predict", *itertools.chain(*options.items())))
    return (said.get("advice") or {}).get("time_saved_pct", 0)


def up_to(rules: pl.DataFrame, rule: str) -> str:
    most = rules.filter(pl.col("rule") == rule)["estimated_speedup_pct"].max()
    return "" if most is None else f"{most:.0f} %"


# What is done instead in a case of an experiment, the case that does it, and how much of the work that case has to do.
REMEDIES = (
    *(("waves", f"spin/plain/waves={waves}", "whole waves", "", 1) for waves in WAVES),
    *(
        ("tail_remedies", case.format("plain"), "shorter blocks", case.format("shorter_blocks"), 1)
        for case in (f"spin/plain/remedy={{}}/waves=1.50/shape={shape}" for shape in SHAPES)
    ),
    *(
        ("imbalance_between_blocks", f"{case}/waves=1", "16 times as many, shorter blocks", f"{case}/waves=16", 1)
        for case in (f"spin/plain/shape={shape}" for shape in UNEVEN)
    ),
    *(
        ("imbalance_within_block", f"{WARPS}8/shape={shape}", remedy, f"{WARPS}{instead}", work)
        for shape, mean in UNEVEN_WARPS.items()
        for remedy, instead, work in (
            ("equal warps", "8/shape=slow_1", mean),
            ("blocks of 2 warps", f"2/shape={shape}", 1),
        )
        # A warp in eight that is slow is not one in two.
        if remedy == "equal warps" or not shape.startswith("slow")
    ),
)


def table_of_rules(model: Results) -> str:
    rules = read_table(model.folder / "ncu_rules.csv", RULES)
    rows = rows_by_case(model.rows("full.csv"))

    def line(experiment: str, case: str, remedy: str, instead: str, work: float) -> dict[str, str]:
        of_case = rules.filter(experiment=experiment, case=case)
        row = rows[experiment, case]
        of_experiment = {name: row for (of, name), row in rows.items() if of == experiment}
        name = case.split("/", 2)[2].removeprefix("remedy=plain/").replace("/", ", ")
        return {
            "launch": f"{experiment}, {name}",
            "ncu: launch:": up_to(of_case, "LaunchConfiguration"),
            "ncu: occupancy:": up_to(of_case, "AchievedOccupancy"),
            "ncu: imbalance:": up_to(of_case, "WorkloadImbalance"),
            "explain, at most:": f"{explained_pct(row, model):.0f} %",
            "predict, another grid:": f"{predicted_pct(row, model):.0f} %",
            "the remedy saved:": f"{saved_pct(row, instead, work, of_experiment):.0f} %",
            "remedy": remedy,
        }

    suite = model.rows("full.csv")
    of_ncu, others = (revision(of.row(0, named=True)) for of in (rules, suite))
    return f"{gpu_of(suite)}; `ncu`: {of_ncu}, the other columns' times: {others}:\n\n{table_by(line(*each) for each in REMEDIES)}"


BLOCKS = {"ncu rules": lambda results: of_models(results, "ncu_rules.csv", table_of_rules)}
