"""What the rules of ncu, `explain` and `predict` say that a launch could save, and what its remedy saved."""

import json
import math

import polars as pl

from occbench_tools.dataset import Results, Row, each, gpu_of, packed, read_table
from occbench_tools.markdown import table

RULES = {name: pl.String for name in ("experiment", "case", "rule", "begins", "estimate")} | {
    name: pl.Float64 for name in ("duration_us", "estimated_speedup_pct")
}
WAVES = ("1.25", "1.50", "2.50", "4.50", "1_plus_one_block")
SHAPES = ("equal", "uniform")
UNEVEN = ("linear_up", "uniform_1", "lognormal_1", "heaviest_last")
# Of blocks of 8 uneven warps: mean work of a warp, in that of a warp of `slow_1`, where all are equal.
UNEVEN_WARPS = {
    "slow_4": (7 + 4) / 8,
    "slow_16": (7 + 16) / 8,
    "uniform_1": 1,
    "lognormal_1": 1,
    "bimodal_1": 0.9 + 0.1 * 8,
}
HEAD = (
    "launch",
    "ncu: launch:",
    "ncu: occupancy:",
    "ncu: imbalance:",
    "explain, at most:",
    "predict, another grid:",
    "the remedy saved:",
    "remedy",
)


def remedies() -> list[tuple[str, str, str, str, float]]:
    """Experiment, case, what is done instead, the case that does it, and how much of the work that case has to do."""
    waves = [("waves", f"spin/plain/waves={each}", "whole waves", "", 1) for each in WAVES]
    tails = [
        (
            "tail_remedies",
            f"spin/plain/remedy=plain/waves=1.50/shape={shape}",
            "shorter blocks",
            f"spin/plain/remedy=shorter_blocks/waves=1.50/shape={shape}",
            1,
        )
        for shape in SHAPES
    ]
    uneven = [
        (
            "imbalance_between_blocks",
            f"spin/plain/shape={shape}/waves=1",
            "16 times as many, shorter blocks",
            f"spin/plain/shape={shape}/waves=16",
            1,
        )
        for shape in UNEVEN
    ]
    within = [
        (
            "imbalance_within_block",
            f"spin/plain/warps_per_block=8/shape={shape}",
            remedy,
            f"spin/plain/warps_per_block={instead}",
            work,
        )
        for shape, mean in UNEVEN_WARPS.items()
        for remedy, instead, work in (
            ("equal warps", "8/shape=slow_1", mean),
            ("blocks of 2 warps", f"2/shape={shape}", 1),
        )
        # A warp in eight that is slow is not one in two.
        if remedy == "equal warps" or not shape.startswith("slow")
    ]
    return waves + tails + uneven + within


def saved_pct(row: Row, instead: str, work: float, rows: dict[str, Row]) -> float:
    """Of the time, for the same work. Whole waves: the time per block of the next whole number of waves."""
    if instead:
        return 100 * (1 - work * rows[instead]["time_us"] / row["time_us"])
    whole = rows[f"spin/plain/waves={math.ceil(row['waves'] + 1e-9):.2f}"]
    return 100 * (1 - whole["time_us"] * row["grid_blocks"] / whole["grid_blocks"] / row["time_us"])


def explained_pct(row: Row, results: Results, model: Results) -> float:
    """The most that a finding of `explain` says its remedy saves."""
    file = packed(model.folder / "full.csv")
    case = f"^{row['experiment']}/{row['case']}$"
    said = json.loads(results.occbench.output("explain", str(file), "--filter", case, "--format", "json"))
    losses = [found["time_saved_at_most_pct"] or 0 for found in said[0]["findings"] if found["list"] == "losses"]
    return max(losses, default=0)


def predicted_pct(row: Row, results: Results, model: Results) -> float:
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
    said = json.loads(results.occbench.output("predict", *(word for option in options.items() for word in option)))
    return (said.get("advice") or {}).get("time_saved_pct", 0)


def up_to(rules: pl.DataFrame, rule: str) -> str:
    most = rules.filter(pl.col("rule") == rule)["estimated_speedup_pct"].max()
    return "" if most is None else f"{most:.0f} %"


def table_of(model: Results, results: Results) -> str:
    rules = read_table(model.folder / "ncu_rules.csv", RULES)
    rows = {(row["experiment"], row["case"]): row for row in each(model.rows("full.csv"))}
    lines = []
    for experiment, case, remedy, instead, work in remedies():
        of_case = rules.filter((pl.col("experiment") == experiment) & (pl.col("case") == case))
        row = rows[experiment, case]

        of_experiment = {name: row for (of, name), row in rows.items() if of == experiment}
        lines.append(
            (
                f"{experiment}, {case.split('/', 2)[2].removeprefix('remedy=plain/').replace('/', ', ')}",
                up_to(of_case, "LaunchConfiguration"),
                up_to(of_case, "AchievedOccupancy"),
                up_to(of_case, "WorkloadImbalance"),
                f"{explained_pct(row, results, model):.0f} %",
                f"{predicted_pct(row, results, model):.0f} %",
                f"{saved_pct(row, instead, work, of_experiment):.0f} %",
                remedy,
            )
        )
    return f"{gpu_of(model.rows('full.csv'))}:\n\n{table(HEAD, lines)}"


def ncu_rules(results: Results) -> str:
    return "\n\n".join(table_of(model, results) for model in results.models if packed(model.folder / "ncu_rules.csv"))


BLOCKS = {"ncu rules": ncu_rules}
