import polars as pl

from occbench_tools.dataset import each, error, most, one, parameter_of, pick
from occbench_tools.markdown import along, bullets, cell, grid, prediction_error
from occbench_tools.verdicts import SAME_POINTS, Finding, Findings, near


def longest_of(shape, warps):
    """Of a block's warps, drawn as `shape` says: how much longer than the mean its longest is expected to be."""
    kind, parameter = shape.split("_")
    if kind == "slow":
        factor = int(parameter)
        return factor * warps / (warps - 1 + factor)
    if kind == "uniform":  # from 0.5 to 1.5
        return 0.5 + warps / (warps + 1)
    if kind == "bimodal":  # one in ten takes 8 times as long
        return (1 + 7 * (1 - 0.9**warps)) / 1.7
    raise ValueError(f"no rule for the shape {shape}")


def shape_of(row):
    return parameter_of(row, "shape")


def warps_of(row):
    return int(parameter_of(row, "warps_per_block"))


def with_empty_places_pct(row):
    """Expected value if a place stays empty until its block's slowest warp has ended."""
    return row["theoretical_pct"] / longest_of(shape_of(row), warps_of(row))


def findings(of):
    found, told = [], []
    for warps, shape, words in (
        (8, "slow_4", "1 of 8 warps × 4"),
        (8, "slow_16", "1 of 8 × 16"),
        (32, "slow_16", "1 of 32 × 16"),
        (8, "uniform_1", "uniform"),
        (8, "bimodal_1", "bimodal"),
    ):
        for row in each(pick(of.rows, warps_per_block=warps, shape=shape)):
            claimed = with_empty_places_pct(row)
            measured = f"{cell(row, 'achieved_pct')} % ({claimed:.1f})"
            found.append(Finding(words, near(row["achieved_pct"], claimed, 2 * SAME_POINTS), measured))
            told.append(f"{words}: {measured}")
    return Findings(found, f"achieved (claimed): {'; '.join(told)}")


def cases(of):
    shapes = {
        "slow_2": "one slow, ×2",
        "slow_16": "one slow, ×16",
        "uniform_1": "uniform, 0.5 to 1.5",
        "bimodal_1": "bimodal, 10 % × 8",
    }

    def find(**wanted):
        row = one(of.rows, **wanted)
        return row | {"claimed": with_empty_places_pct(row)}

    down = along("warps_per_block", (2, 4, 8, 16, 32))
    form = "{claimed:.1f} / {predicted_pct:.1f} / {achieved_pct:.1f}"
    return grid("warps a block:", down, along("shape", shapes), form, find)


def figures(of):
    one_slow = [row for row in each(of.rows) if shape_of(row).startswith("slow_") and shape_of(row) != "slow_1"]
    large = [abs(row["achieved_pct"] - with_empty_places_pct(row)) for row in one_slow if warps_of(row) >= 8]
    alike = one(of.rows, warps_per_block=2, shape="slow_1")
    beside = of.rows.with_columns(error=error(), beyond=pl.col("achieved_pct") - pl.col("achieved_elapsed_pct"))
    flattered, far = most(beside, "beyond"), most(beside, "error")
    return bullets(
        f"One slow warp in 8, 16 or 32: within {max(large):.1f} points of the expected value, in {len(large)} cases.",
        f"Blocks of two equal warps achieve {cell(alike, 'achieved_pct')} %.",
        f"Prediction error: {prediction_error(of.rows)}; the worst case is {shape_of(far)} with {warps_of(far)} warps.",
        f"Achieved occupancy exceeds that over elapsed cycles most for {shape_of(flattered)} with "
        f"{warps_of(flattered)} warps: {cell(flattered, 'achieved_pct')} and "
        f"{cell(flattered, 'achieved_elapsed_pct')} %.",
    )


BLOCKS = {"cases": cases, "figures": figures}
