from markdown import cell, table
from recorded import least, most
from verdicts import ENOUGH, SAME_RATIO, WORTH, Finding, Findings


def findings(rows):
    """Once a pipe is full, no step of more occupancy may get more done, or less."""
    found, told = [], []
    for pipe in "fp32", "xu":
        column = f"{pipe}_pipe_pct"
        for chains in (1, 4):
            chosen = [row for row in rows.pick(pipe=pipe, chains=chains) if row[column]]
            if not chosen:
                continue
            full = [row for row in chosen if row.number(column) >= 100 * ENOUGH]
            first = least(full, "theoretical_pct") if full else most(chosen, "theoretical_pct")
            theory, rate = (first.number(name) for name in ("theoretical_pct", "throughput"))
            later = [row for row in chosen if row.number("theoretical_pct") > theory]
            reached = f"{cell(first, column)} % of the pipe at {theory:g} % occupancy"
            short = f"{pipe}, {chains}: {cell(first, column, 0)} at {theory:.3g}"
            ratios = []
            if later:
                ends = [choose(later, "throughput") for choose in (least, most)]
                ratios = [row.number("throughput") / rate for row in ends]
                low, high = (
                    f"× {ratio:.2f} at {row.number('theoretical_pct'):g} %"
                    for ratio, row in zip(ratios, ends, strict=True)
                )
                reached += f"; lowest later: {low}, highest: {high}"
                short += f", × {ratios[0]:.2f} at {ends[0].number('theoretical_pct'):.3g}"
            found.append(
                Finding(
                    f"{pipe} with {chains} {'chain' if chains == 1 else 'chains'}",
                    bool(full) and all(1 - SAME_RATIO <= ratio < WORTH for ratio in ratios),
                    reached,
                )
            )
            told.append(short)
    return Findings(found, f"pipe, chains: % of it at % occupancy, lowest later: {'; '.join(told)}")


def cases(rows):
    lines = []
    for blocks in sorted({int(row.parameter("blocks_per_sm")) for row in rows}):
        chosen = [
            (pipe, rows.one(pipe=pipe, chains=chains, blocks_per_sm=blocks))
            for pipe in ("fp32", "xu")
            for chains in (1, 4)
        ]
        cells = (f"{cell(row, f'{pipe}_pipe_pct')}, {cell(row, 'throughput', 2, 1e-12)}" for pipe, row in chosen)
        lines.append((str(blocks), cell(chosen[-1][1], "theoretical_pct", 2), *cells))
    head = ("warps a scheduler:", "theory:", "FP32, 1 chain:", "FP32, 4 chains:", "XU, 1 chain:", "XU, 4 chains:")
    return table(head, lines)


BLOCKS = {"cases": cases}
