import math
import re
from functools import partial

from occbench_tools.dataset import each, first, parameter, parameter_of, pick
from occbench_tools.markdown import along, grid, table_of
from occbench_tools.verdicts import Finding, Findings

ADDERS = {"thread": "every thread", "block": "thread 0 of a block"}
FORMS = {"plain": "load, add, store", "relaxed": "relaxed load and store", "atomic": "atomic add"}
CYCLES = ("sm_cycles_active_min", "sm_cycles_active_avg", "sm_cycles_active_max")


def updates(row):
    return row["grid_blocks"] * (row["block_threads"] if parameter_of(row, "adders") == "thread" else 1)


def remaining(of, row):
    """Updates that the sum has, after each launch; that of the median launch alone if no samples were kept."""
    lost = of.samples(row, "lost_updates_pct")
    shares = [float(re.search(r"(\S+) % of updates lost", row["note"])[1])] if lost.is_empty() else lost
    return [round(updates(row) * (1 - share / 100)) for share in shares]


def lowest_to_highest(counts):
    low, high = f"{min(counts):,}", f"{max(counts):,}"
    return low if low == high else f"{low} to {high}"


def repeated(of, form, adders):
    """Of each grid that was launched again: whether its launches leave different sums."""
    counts = (remaining(of, row) for row in each(pick(of.rows, form=form, adders=adders)))
    return [len(set(left)) > 1 for left in counts if len(left) > 1]


def findings(of):
    found, told, differ = [], {}, []
    sms = max((int(parameter_of(row, "sms")) for row in each(of.rows)), default=0)
    for adders, words in ADDERS.items():
        for form in ("plain", "relaxed"):
            row = first(of.rows, form=form, adders=adders, sms=sms, blocks=sms)
            if row:
                left = remaining(of, row)
                told.setdefault(f"of {updates(row):,} by {words}", []).extend(left)
                lost = row["check"] == "lost_updates"
                measured = f"{lowest_to_highest(left)} of {updates(row):,} updates remain, {sms} blocks"
                found.append(Finding(f"{FORMS[form]} by {words}", lost, measured))
            if again := repeated(of, form, adders):
                differ += again
                measured = f"launches differ in {sum(again)} of {len(again)} grids"
                found.append(Finding(f"{FORMS[form]} by {words}, repeated", all(again), measured))
    left = (f"{lowest_to_highest(counts)} {of_all}" for of_all, counts in told.items())
    summary = [f"updates that remain, {sms} blocks: {', '.join(left)}"]
    summary.append(f"launches differ in {sum(differ)} of {len(differ)} cases")
    atomics = pick(of.rows, form="atomic")
    if not atomics.is_empty():
        right = len(atomics.filter(check="ok"))
        found.append(Finding("atomics", right == len(atomics), f"sums right in {right} of {len(atomics)} cases"))
        summary.append(f"atomics: {found[-1].measured}")
    return Findings(found, "; ".join(summary))


def fewest_sms(rows):
    """The fewest SMs that any of these launches of one grid can have used, by the cycles that SMs were active.

    No SM is active longer than the longest one. Average and longest are medians over readings: a twentieth of an SM is
    no SM. Where the shortest one was active, all were.
    """
    fewest = 0
    for row in each(rows):
        count, least, mean, longest = (row[name] for name in ("sm_count", *CYCLES))
        if least:
            fewest = count
        elif mean and longest:
            fewest = max(fewest, math.ceil(mean * count / longest - 0.05))
    return fewest


def cases(of):
    def left(form, adders, known):
        row = first(of.rows, form=form, adders=adders, blocks=known["grid_blocks"])
        return lowest_to_highest(remaining(of, row)) if row else ""

    columns = {
        "blocks:": "{grid_blocks:,}",
        "SMs, assumed:": "{sms}",
        "SMs, at least:": lambda row: fewest_sms(pick(of.rows, blocks=row["grid_blocks"])),
        "updates of every thread:": lambda row: f"{row['grid_blocks'] * row['block_threads']:,}",
    }
    for adders, words in ADDERS.items():
        columns |= {f"{FORMS[form]}; {words}:": partial(left, form, adders) for form in ("plain", "relaxed")}
    return table_of((first(of.rows, blocks=blocks) for blocks in grids(of)), columns)


def costs(of):
    """Time of the racing add and of the atomic, one line a grid."""
    across = {f"{FORMS[form]}; {ADDERS[who]}": {"form": form, "adders": who} for who in ADDERS for form in FORMS}
    down = along("blocks", {blocks: f"{blocks:,}" for blocks in grids(of)})
    return grid("blocks:", down, across, lambda row: f"{row['time_us']:.1f}" if row else "", partial(first, of.rows))


def grids(of):
    return of.rows.select(parameter("blocks").cast(int).unique().sort()).to_series()


BLOCKS = {"cases": cases, "costs": costs}
