from markdown import bullets, cell, misses, table
from recorded import against_ncu, least, spread_pct
from verdicts import Finding, near


def findings(rows):
    achieved = {row["block_threads"]: row.number("achieved_pct") for row in rows.pick(variant="plain")}
    return [
        Finding(f"{threads} threads", near(achieved[threads], claimed), f"{threads}: {achieved[threads]:.1f} %")
        for threads, claimed in {"32": 50, "64": 100, "768": 75, "1024": 100}.items()
        if threads in achieved
    ]


def cases(rows):
    lines = []
    for threads in (1, 32, 33, 64, 70, 256, 352, 416, 704, 768, 1024):
        row = rows.one(block_threads=threads, variant="plain")
        occupancies = (cell(row, f"{kind}_pct", 2) for kind in ("theoretical", "predicted", "achieved"))
        lines.append(
            (str(threads), row["limiter"], *occupancies, cell(row, "time_us"), cell(row, "throughput", 2, 1e-12))
        )
    head = ("threads a block", "limiter", "theory:", "predicted:", "achieved:", "time, µs:", "10¹² warp-cycles/s:")
    return table(head, lines)


def figures(rows):
    plain = rows.pick(variant="plain")
    whole = [row for row in plain if int(row["block_threads"]) % 32 == 0]
    worst = max(whole, key=lambda row: row.miss("theoretical_pct"))
    rates = [row.number("throughput") / row.number("achieved_pct") for row in plain]
    twins = rows.one(variant="ptx_only"), rows.one(variant="plain", block_threads=256)
    ncu = [abs(row.number("achieved_difference_points")) for row in against_ncu() if row["experiment"] == rows.name]
    full = [row["block_threads"] for row in whole if row.number("theoretical_pct") == 100]
    lowest = least((row for row in whole if int(row["block_threads"]) > 32), "achieved_pct")
    return bullets(
        f"The {len(whole)} multiples of 32 are within {worst.miss('theoretical_pct'):.2f} points of theory; the "
        f"furthest is {worst['block_threads']} threads.",
        f"Prediction: {misses(plain)}.",
        f"`ncu` differs by {max(ncu):.2f} points at most in {len(ncu)} cases ([against_ncu.csv](against_ncu.csv)).",
        f"PTX only, compiled by the driver: {cell(twins[0], 'achieved_pct', 2)} for {cell(twins[1], 'achieved_pct', 2)}.",
        f"Of the multiples of 32, {', '.join(sorted(full, key=int))} fill an SM; the worst beyond 32 threads is "
        f"{lowest['block_threads']} ({cell(lowest, 'achieved_pct', 2)}).",
        f"Throughput per point of achieved occupancy differs by {spread_pct(rates):.2f} % over all sizes.",
    )


BLOCKS = {"cases": cases, "figures": figures}
