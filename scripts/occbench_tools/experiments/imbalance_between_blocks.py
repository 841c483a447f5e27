from occbench_tools.dataset import error, first, most, one, parameter, parameter_of
from occbench_tools.markdown import bullets, cell, prediction_error, table
from occbench_tools.verdicts import SAME_POINTS, WORTH, Finding, Findings


def findings(of):
    found, gains = [], []
    for shape in of.rows.select(parameter("shape").unique(maintain_order=True)).to_series():
        few, many = (first(of.rows, shape=shape, waves=count) for count in (1, 16))
        if shape == "equal" or not few or not many:
            continue
        elapsed = [row["achieved_elapsed_pct"] for row in (few, many)]
        faster = few["time_us"] / many["time_us"]
        found.append(
            Finding(
                shape,
                elapsed[0] < 100 - 5 * SAME_POINTS and elapsed[1] > elapsed[0] + SAME_POINTS and faster >= WORTH,
                f"over elapsed cycles {elapsed[0]:.0f} → {elapsed[1]:.0f} %, {faster:.2f} times as fast",
            )
        )
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
    lines = []
    for shape in ("equal", "linear_up", "linear_down", "uniform_1", "lognormal_1", "bimodal_1", "heaviest_last"):
        cells = (
            f"{cell(row, 'achieved_pct', 0)} / {cell(row, 'achieved_elapsed_pct', 0)}, {cell(row, 'time_us', 0)} µs"
            for row in (one(of.rows, shape=shape, waves=waves) for waves in (1, 2, 4, 16))
        )
        lines.append((shape, *cells))
    return table(("work of a block", "1 wave:", "2 waves:", "4 waves:", "16 waves:"), lines)


def figures(of):
    def time(shape, waves):
        return one(of.rows, shape=shape, waves=waves)["time_us"]

    far = most(of.rows.with_columns(error=error()), "error")
    uneven = most(of.rows, "achieved_spread_points")
    return bullets(
        f"Longest blocks first (linear_down) and last (linear_up): {time('linear_down', 1):.0f} and {time('linear_up', 1):.0f} µs at one "
        f"wave, {time('linear_down', 2):.0f} and {time('linear_up', 2):.0f} at two, {time('linear_down', 16):.0f} and "
        f"{time('linear_up', 16):.0f} at 16.",
        f"Two draws of the lognormal distribution, 16 waves: {time('lognormal_1', 16):.0f} and {time('lognormal_2', 16):.0f} µs.",
        f"Cutting equal blocks into 16 takes {100 * (time('equal', 16) / time('equal', 1) - 1):.1f} % more time.",
        f"The readings spread most for {parameter_of(uneven, 'shape')} at {parameter_of(uneven, 'waves')} waves: "
        f"{cell(uneven, 'achieved_pct')} % with an interquartile range of {cell(uneven, 'achieved_spread_points')} points.",
        f"Prediction error: {prediction_error(of.rows)}; the worst case is {parameter_of(far, 'shape')} at {parameter_of(far, 'waves')} waves "
        f"(predicted {cell(far, 'predicted_pct')}, achieved {cell(far, 'achieved_pct')}). Over elapsed cycles: {prediction_error(of.rows, elapsed=True)}.",
    )


BLOCKS = {"cases": cases, "figures": figures}
