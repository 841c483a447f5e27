import polars as pl

from occbench_tools.dataset import error, least, one, pick, spread_pct
from occbench_tools.markdown import bullets, cell, prediction_error, table
from occbench_tools.verdicts import Finding, near


def findings(of):
    achieved = dict(pick(of.rows, variant="plain").select("block_threads", "achieved_pct").iter_rows())
    return [
        Finding(f"{threads} threads", near(achieved[threads], claimed), f"{threads}: {achieved[threads]:.1f} %")
        for threads, claimed in {32: 50, 64: 100, 768: 75, 1024: 100}.items()
        if threads in achieved
    ]


def cases(of):
    lines = []
    for threads in (1, 32, 33, 64, 70, 256, 352, 416, 704, 768, 1024):
        row = one(of.rows, block_threads=threads, variant="plain")
        occupancies = (cell(row, f"{kind}_pct", 2) for kind in ("theoretical", "predicted", "achieved"))
        lines.append((threads, row["limiter"], *occupancies, cell(row, "time_us"), cell(row, "throughput", 2, 1e-12)))
    head = ("threads a block:", "limiter", "theory:", "predicted:", "achieved:", "time, µs:", "10¹² warp-cycles/s:")
    return table(head, lines)


def figures(of):
    plain = pick(of.rows, variant="plain").with_columns(error=error("theoretical_pct"))
    whole = plain.filter(pl.col("block_threads") % 32 == 0)
    worst = whole.row(whole["error"].arg_max(), named=True)
    rates = plain["throughput"] / plain["achieved_pct"]
    twins = one(of.rows, variant="ptx_only"), one(of.rows, variant="plain", block_threads=256)
    ncu = of.against_ncu["achieved_difference_points"].abs()
    full = whole.filter(theoretical_pct=100)["block_threads"].sort()
    lowest = least(whole.filter(pl.col("block_threads") > 32), "achieved_pct")
    return bullets(
        f"The {len(whole)} multiples of 32 are within {worst['error']:.2f} points of theory; the "
        f"worst case is {worst['block_threads']} threads.",
        f"Prediction error: {prediction_error(plain)}.",
        f"`ncu` differs by at most {ncu.max():.2f} points in {len(ncu)} cases ([against_ncu.csv](against_ncu.csv)).",
        f"PTX that the driver compiles reads {cell(twins[0], 'achieved_pct', 2)} %, machine code for this GPU "
        f"{cell(twins[1], 'achieved_pct', 2)} %.",
        f"Of the multiples of 32, {', '.join(map(str, full))} have a theory of 100 %. The lowest beyond 32 "
        f"threads is {lowest['block_threads']} ({cell(lowest, 'achieved_pct', 2)} %).",
        f"Throughput per point of achieved occupancy differs by {spread_pct(rates):.2f} % over all sizes.",
    )


BLOCKS = {"cases": cases, "figures": figures}
