from functools import partial

from occbench_tools.dataset import error, first, most, one, parameter, parameter_of
from occbench_tools.markdown import along, bullets, fill, grid, prediction_error
from occbench_tools.verdicts import SAME_POINTS, WORTH, Finding, Findings


def findings(of):
    found, gains = [], []
    for shape in of.rows.select(parameter("shape").unique(maintain_order=True)).to_series():
        few, many = (first(of.rows, shape=shape, waves=count) for count in (1, 16))
        if shape == "equal" or not few or not many:
            continue
        elapsed = [row["achieved_elapsed_pct"] for row in (few, many)]
        faster = few["time_us"] / many["time_us"]
        holds = elapsed[0] < 100 - 5 * SAME_POINTS and elapsed[1] > elapsed[0] + SAME_POINTS and faster >= WORTH
        measured = f"over elapsed cycles {elapsed[0]:.0f} → {elapsed[1]:.0f} %, {faster:.2f} times as fast"
        found.append(Finding(shape, holds, measured))
        gains.append((faster, shape, *elapsed))
    if not gains:
        return []
    (least_gain, least_shape, *_), (most_gain, most_shape, *_) = min(gains), max(gains)
    before, after = ([gain[which] for gain in gains] for which in (2, 3))
    return Findings(
        found,
        f"{len(gains)} shapes, 16 times the blocks: over elapsed cycles {min(before):.0f} to {max(before):.0f} → {min(after):.0f} to "
        f"{max(after):.0f} %, {least_gain:.2f} ({least_shape}) to {most_gain:.2f} times ({most_shape}) as fast",
    )


def cases(of):
    shapes = ("equal", "linear_up", "linear_down", "uniform_1", "lognormal_1", "bimodal_1", "heaviest_last")
    across = along("waves", {1: "1 wave"} | {waves: f"{waves} waves" for waves in (2, 4, 16)})
    form = "{achieved_pct:.0f} / {achieved_elapsed_pct:.0f}, {time_us:.0f} µs"
    return grid("work of a block", along("shape", shapes), across, form, partial(one, of.rows))


def figures(of):
    def time(shape, waves):
        return one(of.rows, shape=shape, waves=waves)["time_us"]

    def ends(waves):
        return f"{time('linear_down', waves):.0f} and {time('linear_up', waves):.0f}"

    far = most(of.rows.with_columns(error=error()), "error")
    uneven = most(of.rows, "achieved_spread_points")
    return bullets(
        f"Longest blocks first (linear_down) and last (linear_up): {ends(1)} µs at one wave, {ends(2)} at two, {ends(16)} at 16.",
        f"Two draws of the lognormal distribution, 16 waves: {time('lognormal_1', 16):.0f} and {time('lognormal_2', 16):.0f} µs.",
        f"Cutting equal blocks into 16 takes {100 * (time('equal', 16) / time('equal', 1) - 1):.1f} % more time.",
        f"The readings spread most for {parameter_of(uneven, 'shape')} at {parameter_of(uneven, 'waves')} waves: "
        + fill("{achieved_pct:.1f} % with an interquartile range of {achieved_spread_points:.1f} points.", uneven),
        f"Prediction error: {prediction_error(of.rows)}; the worst case is {parameter_of(far, 'shape')} at {parameter_of(far, 'waves')} waves "
        + fill("(predicted {predicted_pct:.1f}, achieved {achieved_pct:.1f}). ", far)
        + f"Over elapsed cycles: {prediction_error(of.rows, elapsed=True)}.",
    )


BLOCKS = {"cases": cases, "figures": figures}
