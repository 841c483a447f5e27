import math
from functools import partial

from occbench_tools.dataset import each, error, most, one, parameter_of, pick
from occbench_tools.markdown import bullets, cell, fill, prediction_error, table_of
from occbench_tools.verdicts import Finding, Findings, near

SHOWN = ("one_block", "0.25", "0.75", "1.00", "1_plus_one_block", "1.25", "1.50", "1.75", "2.00", "4.25", "8.00")
NAMES = {"one_block": "one block", "1_plus_one_block": "1 plus one block"}


def findings(of):
    found, told = [], []
    for row in (row for count in ("0.75", "1.25", "1.50") for row in each(pick(of.rows, waves=count))):
        count = row["waves"]
        # The last wave takes as long as a whole one.
        claimed = row["theoretical_pct"] * count / math.ceil(count)
        achieved, elapsed = row["achieved_pct"], row["achieved_elapsed_pct"]
        for name, value in ("achieved", achieved), ("over elapsed cycles", elapsed):
            found.append(
                Finding(f"{name} at {count:.2f} waves", near(value, claimed), f"{value:.1f} % ({claimed:.1f} claimed)")
            )
        told.append(f"{count:.2f}: {achieved:.1f} and {elapsed:.1f} ({claimed:.1f})")
    return Findings(found, f"waves: achieved and over elapsed cycles, % (claimed): {'; '.join(told)}")


def readings(of, row):
    return of.samples(row, "sm__warps_active.avg.pct_of_peak_sustained_active")


def lowest_to_highest(of, row):
    return f"{readings(of, row).min():.1f} to {readings(of, row).max():.1f}"


def spread(of, row):
    return readings(of, row).max() - readings(of, row).min()


def cases(of):
    ncu = {row["case"]: row for row in each(of.against_ncu)}
    columns = {
        "waves": lambda row: NAMES.get(parameter_of(row, "waves"), parameter_of(row, "waves")),
        "predicted:": "{predicted_pct:.1f}",
        "achieved:": "{achieved_pct:.1f}",
        "lowest to highest reading:": partial(lowest_to_highest, of),
        "over elapsed cycles, predicted:": "{predicted_elapsed_pct:.1f}",
        "over elapsed cycles, achieved:": "{achieved_elapsed_pct:.1f}",
        "`ncu`:": lambda row: fill("{ncu_achieved_pct:.1f}", ncu.get(row["case"]), ""),
        "time, µs:": "{time_us:.1f}",
    }
    return table_of((one(of.rows, waves=waves) for waves in SHOWN), columns)


def figures(of):
    alone, more = one(of.rows, waves="1.00"), one(of.rows, waves="1_plus_one_block")
    whole = [one(of.rows, waves=f"{count}.00") for count in (1, 2, 3, 4)]
    uneven = max(each(of.rows), key=lambda row: spread(of, row))
    quarter = one(of.rows, waves="1.25")
    far = most(of.rows.with_columns(error=error()), "error")
    ncu = of.against_ncu["achieved_difference_points"]
    other = ncu.filter(ncu.abs() > 0.05)
    return bullets(
        f"1, 2, 3 and 4 waves take {', '.join(cell(row, 'time_us') for row in whole)} µs.",
        f"One block more than a wave takes {more['time_us'] / alone['time_us']:.2f} times as long "
        f"({cell(alone, 'time_us')} → {cell(more, 'time_us')} µs). The counter reads {cell(more, 'achieved_pct')} %; over "
        f"elapsed cycles it is {cell(more, 'achieved_elapsed_pct')} %.",
        f"Readings of a case differ most at {uneven['waves']:g} waves ({lowest_to_highest(of, uneven)} "
        f"%). At 1, 2, 3 and 4 waves they differ by at most {max(spread(of, row) for row in whole):.2f} points.",
        f"At 1.25 waves SMs are active for {cell(quarter, 'sm_cycles_active_min', 0)} to "
        f"{cell(quarter, 'sm_cycles_active_max', 0)} cycles: some get no block of the last wave.",
        f"Prediction error: {prediction_error(of.rows)}; the worst case is {far['waves']:g} waves. Over elapsed cycles: {prediction_error(of.rows, elapsed=True)}.",
        f"`ncu` is within 0.05 points in {len(ncu) - len(other)} of {len(ncu)} cases of this experiment; in the "
        f"others it differs by {other.min():+.1f} to {other.max():+.1f} ([against_ncu.csv](against_ncu.csv)).",
    )


BLOCKS = {"cases": cases, "figures": figures}
