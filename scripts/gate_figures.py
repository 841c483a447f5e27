"""Figures of results/nvidia-h200/gate.md: how far runs of unchanged code, and runs on two units of a GPU model, lie apart."""

import statistics

from markdown import revision, table
from recorded import RESULTS, SUITE, read_csv, read_rows, spread_pct

MOST_NAMED = 4


def rows_by_case(file):
    return {f"{row['experiment']}, {row['case']}": row for row in read_rows(file) if row["achieved_pct"]}


def range_of(runs, case, column):
    values = [run[case].number(column) for run in runs]
    return max(values) - min(values), spread_pct(values)


def machine(line):
    return f"{line['gpu']}, driver {line['driver']}, {revision(line)}"


def unchanged():
    runs = [rows_by_case(file) for file in sorted((RESULTS / "unchanged").glob("[0-9][0-9].csv"))]
    apart = {
        case: (
            range_of(runs, case, "achieved_pct")[0],
            range_of(runs, case, "achieved_elapsed_pct")[0],
            range_of(runs, case, "time_us")[1],
        )
        for case in runs[0]
    }
    worst = sorted(apart, key=apart.get, reverse=True)
    lines = [(case, *(f"{value:.2f}" for value in apart[case])) for case in worst[:MOST_NAMED]]
    rest = [max(apart[case][column] for case in worst[MOST_NAMED:]) for column in range(3)]
    lines.append((f"the other {len(worst) - MOST_NAMED}, at most", *(f"{value:.2f}" for value in rest)))
    head = ("case", "`achieved_pct`, points:", "`achieved_elapsed_pct`, points:", "time, %:")
    return f"{machine(next(iter(runs[0].values())))}: {len(runs)} runs of {len(apart)} cases.\n\n" + table(head, lines)


def injected():
    lines = read_csv(RESULTS / "injected" / "injected.csv")
    wrong = [line["what"] for line in lines if line["as_it_must"] != "yes"]
    right = f"{len(lines) - len(wrong)} of {len(lines)} came out as expected"
    right += f"; not so: {', '.join(wrong)}" if wrong else ""
    head = ("injected", "exit status:", "regressions:", "the gate names first")
    said = [(line["what"], line["exit_status"], line["regressions"], line["finding"] or "nothing") for line in lines]
    on = "; ".join(dict.fromkeys(machine(line) for line in lines))
    what = f"{on}: {lines[0]['pairs']} pairs of runs each, of {lines[0]['cases']} cases. {right}."
    return f"{what}\n\n{table(head, said)}"


def units():
    """The furthest that the recorded suite and rows of another unit lie apart."""
    suite, other = rows_by_case(SUITE), rows_by_case(RESULTS / "another_gpu.csv")
    assert {row["gpu_uuid"] for row in suite.values()}.isdisjoint(row["gpu_uuid"] for row in other.values())
    common = sorted(suite.keys() & other.keys())
    most = {column: max((range_of([suite, other], case, column)[0], case) for case in common) for column in COLUMNS}
    return common, most


COLUMNS = ("achieved_pct", "achieved_elapsed_pct")


def units_block():
    common, most = units()
    (achieved, case), (elapsed, _) = (most[column] for column in COLUMNS)
    return (
        f"Of {len(common)} cases on two H200s ([full.csv](full.csv), [another_gpu.csv](another_gpu.csv)) `achieved_pct` "
        f"differs by up to {achieved:.1f} points ({case}), `achieved_elapsed_pct` by up to {elapsed:.2f}."
    )


def units_in_short():
    common, most = units()
    (achieved, _), (elapsed, _) = (most[column] for column in COLUMNS)
    predicted = [row for row in rows_by_case(RESULTS / "another_gpu.csv").values() if row["predicted_pct"]]
    theory, prediction = (
        statistics.mean(row.miss(said) for row in predicted) for said in ("theoretical_pct", "predicted_pct")
    )
    return (
        f"Which SMs get the last blocks of a partial wave of equal work follows the clocks of each unit's GPCs and chance: of "
        f"{len(common)} cases on two H200s the counter differs by up to {achieved:.1f} points, and with it the last row of that table; what "
        f"all SMs did together by up to {elapsed:.2f} ([why](results/nvidia-h200/block-scheduling.md), [gate.md](results/nvidia-h200/gate.md)). "
        f"With a profile of its own, which `occbench calibrate` makes in seconds, {len(predicted)} cases of waves, tails and "
        f"imbalance on the second unit are predicted within {prediction:.1f} points on average, where theory is {theory:.1f} off; "
        "a built-in profile does not know the unit's clocks."
    )


BLOCKS = {"gate: unchanged": unchanged, "gate: injected": injected, "gate: units": units_block, "units": units_in_short}
