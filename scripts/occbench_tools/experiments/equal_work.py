from occbench_tools.dataset import each, first, parameter_of, pick
from occbench_tools.markdown import table_of
from occbench_tools.verdicts import WORTH, Finding, Findings

PROBLEMS = {
    "one_warp_in_8_times_4": "one warp in 8, 4 × as long",
    "one_warp_in_8_times_16": "one warp in 8, 16 × as long",
    "lognormal": "lognormal warps",
    "blocks_that_sms_do_not_share_evenly": "1.5 blocks per SM",
}
# What the claim names for each problem: blocks of 1,024 threads leave a quarter of the SMs idle.
CLAIMED = {
    "blocks_that_sms_do_not_share_evenly": ("blocks_of_768", "blocks_of_384", "blocks_of_256"),
}
CLAIMED_OF_WARPS = ("spread_evenly", "queue_of_warps", "blocks_of_64", "blocks_of_32")


def findings(of):
    found, told = [], []
    for problem, words in PROBLEMS.items():
        plain = first(of.rows, problem=problem, remedy="none")
        gains = {}
        for remedy in CLAIMED.get(problem, CLAIMED_OF_WARPS) if plain else ():
            if row := first(of.rows, problem=problem, remedy=remedy):
                gains[remedy.replace("_", " ")] = row["throughput"] / plain["throughput"]
        for name, gain in gains.items():
            found.append(Finding(f"{words}, {name}", gain >= WORTH, f"throughput × {gain:.2f}"))
        if gains:
            told.append(f"{words}, × {min(gains.values()):.2f} to {max(gains.values()):.2f}")
    return Findings(found, f"throughput at equal work, by remedy: {'; '.join(told)}")


def cases(of):
    plain = {name: first(of.rows, problem=name, remedy="none") for name in PROBLEMS}

    def gain(row):
        return f"{row['throughput'] / plain[parameter_of(row, 'problem')]['throughput']:.2f}"

    columns = {
        "problem": lambda row: PROBLEMS[parameter_of(row, "problem")],
        "remedy": lambda row: parameter_of(row, "remedy").replace("_", " "),
        "blocks:": "{grid_blocks}",
        "theory:": "{theoretical_pct:.0f}",
        "achieved:": "{achieved_pct:.1f}",
        "over elapsed cycles:": "{achieved_elapsed_pct:.1f}",
        "time, µs:": "{time_us:.1f}",
        "gain:": gain,
    }
    return table_of((row for name in PROBLEMS if plain[name] for row in each(pick(of.rows, problem=name))), columns)


BLOCKS = {"cases": cases}
