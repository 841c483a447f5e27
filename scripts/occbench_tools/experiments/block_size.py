import polars as pl

from occbench_tools.dataset import error, least, most, one, pick, spread_pct
from occbench_tools.markdown import bullets, fill, prediction_error, table_of
from occbench_tools.verdicts import Finding, near


def findings(of):
    achieved = dict(pick(of.rows, variant="plain").select("block_threads", "achieved_pct").iter_rows())
    return [
        Finding(f"{threads} threads", near(achieved[threads], claimed), f"{threads}: {achieved[threads]:.1f} %")
        for threads, claimed in {32: 50, 64: 100, 768: 75, 1024: 100}.items()
        if threads in achieved
    ]


def cases(of):
    sizes = (1, 32, 33, 64, 70, 256, 352, 416, 704, 768, 1024)
    columns = {
        "threads a block:": "{block_threads}",
        "limiter": "{limiter}",
        "theory:": "{theoretical_pct:.2f}",
        "predicted:": "{predicted_pct:.2f}",
        "achieved:": "{achieved_pct:.2f}",
        "time, µs:": "{time_us:.1f}",
        "10¹² warp-cycles/s:": "{throughput:.2f/1e12}",
    }
    return table_of((one(of.rows, block_threads=threads, variant="plain") for threads in sizes), columns)


def figures(of):
    plain = pick(of.rows, variant="plain").with_columns(error=error("theoretical_pct"))
    whole = plain.filter(pl.col("block_threads") % 32 == 0)
    worst = fill("within {error:.2f} points of theory; the worst case is {block_threads} threads", most(whole, "error"))
    rates = plain["throughput"] / plain["achieved_pct"]
    twins = one(of.rows, variant="ptx_only"), one(of.rows, variant="plain", block_threads=256)
    ptx, machine_code = (fill("{achieved_pct:.2f} %", row) for row in twins)
    ncu = of.against_ncu["achieved_difference_points"].abs()
    full = whole.filter(theoretical_pct=100)["block_threads"].sort()
    lowest = least(whole.filter(pl.col("block_threads") > 32), "achieved_pct")
    return bullets(
        f"The {len(whole)} multiples of 32 are {worst}.",
        f"Prediction error: {prediction_error(plain)}.",
        f"`ncu` differs by at most {ncu.max():.2f} points in {len(ncu)} cases ([against_ncu.csv](against_ncu.csv)).",
        f"PTX that the driver compiles reads {ptx}, machine code for this GPU {machine_code}.",
        f"Of the multiples of 32, {', '.join(map(str, full))} have a theory of 100 %. The lowest beyond 32 "
        + fill("threads is {block_threads} ({achieved_pct:.2f} %).", lowest),
        f"Throughput per point of achieved occupancy differs by {spread_pct(rates):.2f} % over all sizes.",
    )


BLOCKS = {"cases": cases, "figures": figures}
