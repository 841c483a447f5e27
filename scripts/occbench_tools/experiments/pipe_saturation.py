import polars as pl

from occbench_tools.dataset import least, most, one, parameter, pick
from occbench_tools.markdown import cell, table
from occbench_tools.verdicts import ENOUGH, SAME_RATIO, WORTH, Finding, Findings


def findings(of):
    """Once a pipe is full, no step of more occupancy may get more done, or less."""
    found, told = [], []
    for pipe in "fp32", "xu":
        column = f"{pipe}_pipe_pct"
        for chains in (1, 4):
            chosen = pick(of.rows, pipe=pipe, chains=chains).drop_nulls(column)
            if chosen.is_empty():
                continue
            full = chosen.filter(pl.col(column) >= 100 * ENOUGH)
            start = most(chosen, "theoretical_pct") if full.is_empty() else least(full, "theoretical_pct")
            theory, rate = start["theoretical_pct"], start["throughput"]
            later = chosen.filter(pl.col("theoretical_pct") > theory)
            reached = f"{cell(start, column)} % of the pipe at {theory:g} % occupancy"
            short = f"{pipe}, {chains}: {cell(start, column, 0)} at {theory:.3g}"
            ratios = []
            if len(later):
                ends = [choose(later, "throughput") for choose in (least, most)]
                ratios = [row["throughput"] / rate for row in ends]
                low, high = (
                    f"× {ratio:.2f} at {row['theoretical_pct']:g} %" for ratio, row in zip(ratios, ends, strict=True)
                )
                reached += f"; lowest later: {low}, highest: {high}"
                short += f", × {ratios[0]:.2f} at {ends[0]['theoretical_pct']:.3g}"
            found.append(
                Finding(
                    f"{pipe} with {chains} {'chain' if chains == 1 else 'chains'}",
                    len(full) > 0 and all(1 - SAME_RATIO <= ratio < WORTH for ratio in ratios),
                    reached,
                )
            )
            told.append(short)
    return Findings(found, f"pipe, chains: % of it at % occupancy, lowest later: {'; '.join(told)}")


def cases(of):
    lines = []
    for blocks in of.rows.select(parameter("blocks_per_sm").cast(int).unique().sort()).to_series():
        chosen = [
            (pipe, one(of.rows, pipe=pipe, chains=chains, blocks_per_sm=blocks))
            for pipe in ("fp32", "xu")
            for chains in (1, 4)
        ]
        cells = (
            f"{cell(row, f'{pipe}_pipe_pct')}, {cell(row, 'eligible_warps', 2)}, {cell(row, 'throughput', 2, 1e-12)}"
            for pipe, row in chosen
        )
        lines.append((blocks, cell(chosen[-1][1], "theoretical_pct", 2), *cells))
    head = ("warps a scheduler:", "theory:", "FP32, 1 chain:", "FP32, 4 chains:", "XU, 1 chain:", "XU, 4 chains:")
    return table(head, lines)


BLOCKS = {"cases": cases}
