from occbench_tools.dataset import each, first, parameter_of, pick
from occbench_tools.markdown import cell, table
from occbench_tools.verdicts import WORTH, Finding, Findings

PROBLEMS = {
    "one_warp_in_8_times_4": "one warp in 8, 4 × as long",
    "one_warp_in_8_times_16": "one warp in 8, 16 × as long",
    "lognormal": "lognormal warps",
    "blocks_that_sms_do_not_share_evenly": "1.5 blocks per SM",
}
# What the claim names for each problem: blocks of one warp cannot fill an SM that holds half as many blocks as warps, and
# blocks of 1,024 threads leave a quarter of the SMs idle.
CLAIMED = {
    "blocks_that_sms_do_not_share_evenly": ("blocks_of_768", "blocks_of_384", "blocks_of_256"),
}
CLAIMED_OF_WARPS = ("spread_evenly", "queue_of_warps", "blocks_of_64")


def gain(row, plain):
    return row["throughput"] / plain["throughput"]


def findings(of):
    found, told = [], []
    for problem, words in PROBLEMS.items():
        plain = first(of.rows, problem=problem, remedy="none")
        gains = []
        for remedy in CLAIMED.get(problem, CLAIMED_OF_WARPS) if plain else ():
            row = first(of.rows, problem=problem, remedy=remedy)
            if row:
                name = remedy.replace("_", " ")
                found.append(
                    Finding(f"{words}, {name}", gain(row, plain) >= WORTH, f"throughput × {gain(row, plain):.2f}")
                )
                gains.append(gain(row, plain))
        if gains:
            told.append(f"{words}, × {min(gains):.2f} to {max(gains):.2f}")
    return Findings(found, f"throughput at equal work, by remedy: {'; '.join(told)}")


def cases(of):
    lines = []
    for problem, words in PROBLEMS.items():
        plain = first(of.rows, problem=problem, remedy="none")
        for row in each(pick(of.rows, problem=problem)) if plain else ():
            lines.append(
                (
                    words,
                    parameter_of(row, "remedy").replace("_", " "),
                    row["grid_blocks"],
                    cell(row, "theoretical_pct", 0),
                    cell(row, "achieved_pct"),
                    cell(row, "achieved_elapsed_pct"),
                    cell(row, "time_us"),
                    f"{gain(row, plain):.2f}",
                )
            )
    head = ("problem", "remedy", "blocks:", "theory:", "achieved:", "over elapsed cycles:", "time, µs:", "gain:")
    return table(head, lines)


BLOCKS = {"cases": cases}
