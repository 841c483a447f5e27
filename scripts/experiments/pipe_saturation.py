from judging import ENOUGH, WORTH, Finding, Findings
from recorded import least, most
from wording import cell, table


def findings(rows):
    found, told = [], []
    for pipe in "fp32", "xu":
        column = f"{pipe}_pipe_pct"
        for chains in (1, 4):
            chosen = [row for row in rows.pick(pipe=pipe, chains=chains) if row[column]]
            if not chosen:
                continue
            fullest = most(chosen, "theoretical_pct")
            full = [row for row in chosen if row.number(column) >= 100 * ENOUGH]
            first = least(full or [fullest], "theoretical_pct")
            gain = fullest.number("throughput") / first.number("throughput")
            reached, theory = first.number(column), first.number("theoretical_pct")
            found.append(
                Finding(
                    f"{pipe}, {chains} {'chain' if chains == 1 else 'chains'} a thread",
                    bool(full) and gain < WORTH,
                    f"{reached:.1f} % of the pipe at {theory:g} % occupancy, {cell(fullest, column)} % and × {gain:.2f} at "
                    f"{fullest.number('theoretical_pct'):g} %",
                )
            )
            told.append(f"{pipe}, {chains}: {reached:.0f} at {theory:.0f}, then × {gain:.2f}")
    return Findings(found, f"pipe, chains: % of it at % occupancy, and what full occupancy adds: {'; '.join(told)}")


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
