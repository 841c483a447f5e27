import math

from markdown import bullets, cell, misses, table
from recorded import Row, against_ncu, numbers
from verdicts import Finding, Findings, near

SHOWN = ("one_block", "0.25", "0.75", "1.00", "1_plus_one_block", "1.25", "1.50", "1.75", "2.00", "4.25", "8.00")
NAMES = {"one_block": "one block", "1_plus_one_block": "1 plus one block"}


def findings(rows):
    found, told = [], []
    for row in (row for count in ("0.75", "1.25", "1.50") for row in rows.pick(waves=count)):
        count = row.number("waves")
        # The last wave takes as long as a whole one.
        claimed = row.number("theoretical_pct") * count / math.ceil(count)
        achieved, elapsed = row.number("achieved_pct"), row.number("achieved_elapsed_pct")
        for name, value in ("achieved", achieved), ("over elapsed cycles", elapsed):
            found.append(
                Finding(f"{name} at {count:.2f} waves", near(value, claimed), f"{value:.1f} % ({claimed:.1f} claimed)")
            )
        told.append(f"{count:.2f}: {achieved:.1f} and {elapsed:.1f} ({claimed:.1f})")
    return Findings(found, f"waves: achieved and over elapsed cycles, % (claimed): {'; '.join(told)}")


def readings(row):
    return row.samples["sm__warps_active.avg.pct_of_peak_sustained_active"]


def apart(row):
    return max(readings(row)) - min(readings(row))


def cases(rows):
    ncu = {row["case"]: row for row in against_ncu() if row["experiment"] == rows.name}
    lines = []
    for waves in SHOWN:
        row = rows.one(waves=waves)
        lines.append(
            (
                NAMES.get(waves, waves),
                cell(row, "predicted_pct"),
                cell(row, "achieved_pct"),
                f"{min(readings(row)):.1f} to {max(readings(row)):.1f}",
                cell(row, "predicted_elapsed_pct"),
                cell(row, "achieved_elapsed_pct"),
                cell(ncu[row["case"]], "ncu_achieved_pct") if row["case"] in ncu else "",
                cell(row, "time_us"),
            )
        )
    head = (
        *("waves", "predicted:", "achieved:", "lowest to highest of 16:"),
        *("over elapsed cycles, predicted:", "over elapsed cycles, achieved:", "`ncu`:", "time, µs:"),
    )
    return table(head, lines)


def figures(rows):
    alone, more = rows.one(waves="1.00"), rows.one(waves="1_plus_one_block")
    whole = [rows.one(waves=f"{count}.00") for count in (1, 2, 3, 4)]
    uneven = max(rows, key=apart)
    quarter = rows.one(waves="1.25")
    far = max(rows, key=Row.miss)
    ncu = numbers(against_ncu(), "achieved_difference_points")
    other = [points for points in ncu if abs(points) > 0.05]
    return bullets(
        f"1, 2, 3 and 4 waves take {', '.join(cell(row, 'time_us') for row in whole)} µs.",
        f"One block more than a wave takes {more.number('time_us') / alone.number('time_us'):.2f} times as long "
        f"({cell(alone, 'time_us')} → {cell(more, 'time_us')} µs); the counter reads {cell(more, 'achieved_pct')} %, of "
        f"elapsed it is {cell(more, 'achieved_elapsed_pct')} %.",
        f"The 16 readings of a case are furthest apart at {uneven['waves']} waves ({min(readings(uneven)):.1f} to "
        f"{max(readings(uneven)):.1f} %); those of 1, 2, 3 and 4 waves are within {max(map(apart, whole)):.2f} points.",
        f"At 1.25 waves SMs are active for {cell(quarter, 'sm_cycles_active_min', 0)} to "
        f"{cell(quarter, 'sm_cycles_active_max', 0)} cycles: some have none of the last wave.",
        f"Prediction: {misses(rows)}; the furthest is {far['waves']} waves. Of elapsed: {misses(rows, elapsed=True)}.",
        f"`ncu` is within 0.05 points in {len(ncu) - len(other)} of {len(ncu)} cases of this experiment and block_size; in the "
        f"others it differs by {min(other):+.1f} to {max(other):+.1f} ([against_ncu.csv](against_ncu.csv)).",
    )


BLOCKS = {"cases": cases, "figures": figures}
