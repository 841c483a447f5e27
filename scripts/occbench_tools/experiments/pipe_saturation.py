from functools import partial

import polars as pl

from occbench_tools.dataset import least, most, one, parameter, pick, unit_use
from occbench_tools.markdown import cell, fill, table_of
from occbench_tools.verdicts import ENOUGH, SAME_RATIO, WORTH, Finding, Findings

# The experiment's names of pipes, and their keys in the column unit_use.
UNITS = {"fp32": "fma", "xu": "xu"}


def use(pipe):
    return unit_use(UNITS[pipe]).alias("use")


def findings(of):
    """Once a pipe is full, no step of more occupancy may get more done, or less."""
    found, told = [], []
    for pipe in UNITS:
        for chains in (1, 4):
            chosen = pick(of.rows, pipe=pipe, chains=chains).with_columns(use(pipe)).drop_nulls("use")
            if chosen.is_empty():
                continue
            full = chosen.filter(pl.col("use") >= 100 * ENOUGH)
            start = most(chosen, "theoretical_pct") if full.is_empty() else least(full, "theoretical_pct")
            theory, rate = start["theoretical_pct"], start["throughput"]
            later = chosen.filter(pl.col("theoretical_pct") > theory)
            reached = f"{cell(start, 'use')} % of the pipe at {theory:g} % occupancy"
            short = f"{pipe}, {chains}: {cell(start, 'use', 0)} at {theory:.3g}"
            ratios = []
            if len(later):
                ends = [choose(later, "throughput") for choose in (least, most)]
                ratios = [row["throughput"] / rate for row in ends]
                low, high = (
                    f"× {ratio:.2f} at {row['theoretical_pct']:g} %" for ratio, row in zip(ratios, ends, strict=True)
                )
                reached += f"; lowest later: {low}, highest: {high}"
                short += f", × {ratios[0]:.2f} at {ends[0]['theoretical_pct']:.3g}"
            holds = len(full) > 0 and all(1 - SAME_RATIO <= ratio < WORTH for ratio in ratios)
            found.append(Finding(f"{pipe} with {chains} {'chain' if chains == 1 else 'chains'}", holds, reached))
            told.append(short)
    return Findings(found, f"pipe, chains: % of it at % occupancy, lowest later: {'; '.join(told)}")


def cases(of):
    columns = {"warps a scheduler:": "{blocks_per_sm}", "theory:": "{theoretical_pct:.2f}"}
    for pipe in UNITS:
        for chains in (1, 4):
            text = "{use:.1f}, {eligible_warps:.2f}, {throughput:.2f/1e12}"
            find = partial(one, of.rows.with_columns(use(pipe)), pipe=pipe, chains=chains)
            columns[f"{pipe.upper()}, {chains} {'chain' if chains == 1 else 'chains'}:"] = partial(beside, find, text)
    counts = of.rows.select(parameter("blocks_per_sm").cast(int).unique().sort()).to_series()
    return table_of((one(of.rows, pipe="xu", chains=4, blocks_per_sm=count) for count in counts), columns)


def beside(find, text, row):
    return fill(text, find(blocks_per_sm=row["blocks_per_sm"]))


BLOCKS = {"cases": cases}
