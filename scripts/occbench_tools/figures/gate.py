"""Figures of results/nvidia-h200/gate.md: how far runs of unchanged code, and runs on two GPUs of a model, differ."""

import polars as pl

from occbench_tools.dataset import Results, error, gpu_of, most, packed, read_table, read_text
from occbench_tools.markdown import bullets, listed, revision, short, stamped, table_of

MOST_NAMED = 4
#: Two readings of a case that are as far apart count as the same.
STEADY_POINTS = 0.5
CASE = ["experiment", "case"]
RANGES = dict.fromkeys(("achieved_range_points", "achieved_elapsed_range_points", "time_range_pct"), pl.Float64)


def unchanged(results: Results) -> str:
    ranges = read_table(results.file("gate_unchanged.csv"), RANGES).sort(*RANGES, descending=True)
    rest = ranges.tail(-MOST_NAMED).select(pl.max(*RANGES), of=pl.format("the other {}, at most", pl.len()))
    named = ranges.head(MOST_NAMED).select(*RANGES, of=pl.format("{}, {}", *CASE))
    columns = {
        "case": "{of}",
        "`achieved_pct`, points:": "{achieved_range_points:.2f}",
        "`achieved_elapsed_pct`, points:": "{achieved_elapsed_range_points:.2f}",
        "time, %:": "{time_range_pct:.2f}",
    }
    return f"{stamped(ranges)}: {ranges['runs'][0]} runs of {len(ranges)} cases.\n\n{table_of(pl.concat([named, rest]), columns)}"


def injected(results: Results) -> str:
    lines = read_text(results.file("gate_injected.csv"))
    wrong = lines.filter(pl.col("as_expected") != "yes")["what"]
    right = f"{len(lines) - len(wrong)} of {len(lines)} came out as expected"
    right += f"; not so: {', '.join(wrong)}" if len(wrong) else ""
    columns = {
        "injected": "{what}",
        "exit status:": "{exit_status}",
        "regressions:": "{regressions}",
        "the gate names first": lambda row: row["finding"] or "nothing",
    }
    on = "; ".join(dict.fromkeys(stamped(row) for row in lines.iter_slices(1)))
    what = f"{on}: {lines['pairs'][0]} pairs of runs each, of {lines['cases'][0]} cases. {right}."
    return f"{what}\n\n{table_of(lines, columns)}"


class TwoGpus:
    """The cases of the recorded suite that were recorded on another GPU of the model too: by how many points they differ there, and in
    a second run, `of_one`, on the suite's GPU. `runs`: the same of two runs on a GPU of each other model, by its name."""

    def __init__(self, results: Results):
        self.suite, self.other, self.second = (
            results.rows(name).drop_nulls("achieved_pct") for name in ("full.csv", "another_gpu.csv", "repeat.csv")
        )
        assert set(self.suite["gpu_uuid"]).isdisjoint(self.other["gpu_uuid"])
        assert set(self.suite["gpu_uuid"]) == set(self.second["gpu_uuid"])
        self.between, self.of_one = self.differences(self.suite, self.other), self.differences(self.suite, self.second)
        self.runs = {
            gpu_of(model.suite.rows): self.differences(model.suite.rows, model.rows("repeat.csv"))
            for model in results.models[1:]
            if packed(model.folder / "full.csv")
        }
        both = self.between.join(self.of_one, on="case", suffix="_of_one")
        self.apart = both.filter(pl.col("achieved") > 1)
        """Between the GPUs."""
        self.steady = self.apart.filter(pl.col("achieved_of_one") <= STEADY_POINTS)
        """Of these, those that repeat on one."""
        self.odd = most(self.between, "achieved")["case"]
        """The case that differs most, if of three readings the suite's alone is apart."""
        if most(self.of_one, "achieved")["case"] != self.odd:
            self.odd = ""

    def differences(self, run: pl.DataFrame, another: pl.DataFrame) -> pl.DataFrame:
        pairs = (
            run.join(another, on=CASE, suffix="_other").join(self.other, on=CASE, how="semi").drop_nulls("achieved_pct")
        )
        return pairs.select(
            case=pl.format("{}, {}", *CASE),
            achieved=error("achieved_pct_other"),
            elapsed=error("achieved_elapsed_pct_other", "achieved_elapsed_pct"),
        )

    def readings(self, case: str) -> list[float]:
        """Of the suite, the second run and the other GPU."""
        runs = (self.suite, self.second, self.other)
        return [run.filter(pl.format("{}, {}", *CASE) == case)["achieved_pct"][0] for run in runs]

    def without_odd(self, points: pl.DataFrame) -> float:
        """The largest difference of the other cases."""
        return points.filter(pl.col("case") != self.odd)["achieved"].max() or 0


def two_gpus_block(results: Results) -> str:
    of = TwoGpus(results)

    def most_of(points: pl.DataFrame) -> str:
        far = most(points, "achieved")
        return (
            f"`achieved_pct` differs by over a point in {(points['achieved'] > 1).sum()}, by up to {far['achieved']:.1f} points "
            f"({far['case']}), `achieved_elapsed_pct` by up to {points['elapsed'].max():.2f}."
        )

    suite, other = (revision(rows.row(0, named=True)) for rows in (of.suite, of.other))
    lines = [
        f"Of {len(of.between)} cases on two H200s ([full.csv](full.csv), {suite}; [another_gpu.csv](another_gpu.csv), {other}) "
        f"{most_of(of.between)}",
        f"In two runs on one of them ([repeat.csv](repeat.csv)) {most_of(of.of_one)}",
        *(f"In two runs on an {gpu} {most_of(points)}" for gpu, points in of.runs.items()),
        f"In {len(of.steady)} of the {len(of.apart)} cases that are over a point apart between the H200s, the two runs on one are within "
        f"{STEADY_POINTS} points.",
    ]
    if of.odd:
        first, second, other = of.readings(of.odd)
        lines.append(
            f"The H200s' largest difference is one reading: {first:.1f} % in full.csv, {second:.1f} and {other:.1f} % in the two others. Without it "
            f"they differ by up to {of.without_odd(of.between):.1f} points, and two runs on one by up to {of.without_odd(of.of_one):.1f}."
        )
    return bullets(*lines)


def two_gpus_in_short(results: Results) -> str:
    of = TwoGpus(results)
    predicted = of.other.drop_nulls(["achieved_pct", "predicted_pct"])
    theory, prediction = (
        predicted.select(error(said)).to_series().mean() for said in ("theoretical_pct", "predicted_pct")
    )
    sets = [of.between, of.of_one, *of.runs.values()]
    names = [
        "differ by over a point between two H200s",
        "between two runs of one",
        *(f"between two of an {gpu}" for gpu in of.runs),
    ]
    counts = [f"{(points['achieved'] > 1).sum()} {name}" for name, points in zip(names, sets, strict=True)]
    largest = listed(f"{of.without_odd(points):.1f}" for points in sets)
    elapsed = listed(f"{points['elapsed'].max():.2f}" for points in sets)
    odd = f" (one reading of {most(of.between, 'achieved')['achieved']:.1f} aside)" if of.odd else ""
    commit = short(predicted["commit"][0])
    return (
        f"Of {len(of.between)} counters, {listed(counts)}; at most they differ by {largest} points{odd}, over elapsed "
        f"cycles by {elapsed}. {len(of.steady)} of the {len(of.apart)} are within {STEADY_POINTS} points in two runs of one. So the GPU "
        f"and chance decide which SMs get the last blocks ([why](prediction.md), [gate.md](../results/nvidia-h200/gate.md)). With a "
        f"profile that `occbench calibrate` made of the second GPU, commit `{commit}` predicted {len(predicted)} cases of waves, tails and "
        f"imbalance within {prediction:.1f} points on average, theory {theory:.1f}."
    )


BLOCKS = {
    "gate: unchanged": unchanged,
    "gate: injected": injected,
    "gate: two GPUs": two_gpus_block,
    "two GPUs": two_gpus_in_short,
}
