"""What docs/any-program.md and docs/notes/tracing.md say of recorded traces, against rows worked out by hand."""

import tempfile
import unittest
from pathlib import Path

import made_up
import polars as pl
from occbench_tools.dataset import Results
from occbench_tools.figures import programs, traces
from occbench_tools.figures.accuracy import predicted
from occbench_tools.program import RESULTS

RECORDED = Results(RESULTS.parent / "nvidia-h100-80gb-hbm3", made_up.OCCBENCH)
ON = {"recorded_at": "2026-11-23T01:02:03Z", "commit": "0123456789ab", "gpu": "NVIDIA H100 80GB HBM3", "driver": "580"}


class BesideNcu(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.results = Results(self.folder, made_up.OCCBENCH)
        row = {"experiment": "trace"}
        rows = [
            row | {"case": "same", "achieved_pct": 50, "total_time_us": 300},
            row | {"case": "lower", "achieved_pct": 51, "total_time_us": 100},
            row | {"case": "unsteady", "achieved_pct": 52, "total_time_us": 900},
            row | {"case": "uncounted", "achieved_pct": "", "total_time_us": 900},
        ]
        of_ncu = ON | {"program": "sample", "ncu_range_points": 0.1}
        both = [
            of_ncu | {"case": "same", "difference_points": -0.1},
            of_ncu | {"case": "lower", "difference_points": -1},
            of_ncu | {"case": "unsteady", "difference_points": 7, "ncu_range_points": 0.4},
        ]
        made_up.write(self.folder / "programs/sample.csv", rows)
        made_up.write(self.folder / "programs/against_ncu.csv", both)
        made_up.write(
            self.folder / "programs/unchanged.csv",
            [{"program": "a", "same": "true"}, {"program": "b", "same": "false"}],
        )

    def test_only_what_ncu_repeats_is_compared(self):
        text = traces.beside_ncu(self.results)
        self.assertIn("H100 80GB HBM3, driver 580, commit `0123456789ab`, 2026-11-23", text)
        self.assertIn("3 of 4 kernel configurations were counted. `ncu` also counted 3 of them", text)
        self.assertIn("median difference is 1.00 points", text)
        self.assertIn("repeats 2 of them within 0.3 points. 1 of these (50 %, with 75 % of the time)", text)
        self.assertIn("The other 1 differ by at most 1.0 points", text)
        self.assertIn("1 of 2 programs computed the same", text)


class OwnClocks(unittest.TestCase):
    def test_are_a_line_for_each_kernel_and_way(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        kernel = ON | {"kernel": "fill", "achieved_pct": "15.86", "cycles_active": "4461.00"}
        ways = [{"way": "alone", "counter_pct": ""}, {"way": "ncu", "counter_pct": "33.94"}]
        made_up.write(folder / "programs/own_clocks.csv", [kernel | way for way in ways])
        text = programs.own_clocks(Results(folder, made_up.OCCBENCH))
        self.assertIn("| fill | alone | 15.86 | 4,461 |  |", text)
        self.assertIn("| fill | ncu | 15.86 | 4,461 | 33.94 |", text)


class Costs(unittest.TestCase):
    def test_of_training_steps_are_shares_of_the_time_that_was_taken_in_turns_with_them(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        made_up.write(folder / "full.csv", [{"experiment": "block_size", "gpu": "NVIDIA H100 80GB HBM3"}])
        steps = ON | {"gpu_uuid": "GPU-12345678-9", "unit": "s"}
        ways = {"alone": "1 2 4", "traced": "1.25 2.4 5.2"}  # 25, 20 and 30 % more
        lines = [
            steps | {"what": f"1,000 training steps of {inputs}, {way}", "median": values.split()[1], "values": values}
            for inputs in ("256 inputs", "1,024 inputs")
            for way, values in ways.items()
        ]
        lines[-1] |= {"values": "1.5 3 6"}
        launch = steps | {"what": "a launch, alone", "unit": "ns", "median": "3030", "values": "3030"}
        made_up.write(folder / "programs/costs.csv", [launch, *lines])
        text = programs.costs(Results(folder, made_up.OCCBENCH))
        self.assertIn("| a launch | 3,030 ns |", text)
        self.assertIn(
            "of 256 inputs take 400 ms longer when traced: 25.0 % at the median of 3 rounds, 20 to 30 %", text
        )
        self.assertIn("of 1,024 inputs take 1000 ms longer when traced: 50.0 % at the median", text)


class Disturbed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.results = Results(self.folder, made_up.OCCBENCH)

    def test_cases_say_what_their_rows_have(self):
        case = ON | {"status": "0", "rows": "1", "timed": "1", "counted": "0", "computed": "200, own"}
        cases = [case | {"case": "MPS"}, case | {"case": "another", "computed": "199, own", "counted": "1"}]
        cases.append(ON | {"case": "no CUDA", "status": "0", "rows": "0", "timed": "0", "counted": "0", "computed": ""})
        made_up.write(self.folder / "programs/in_the_way.csv", cases)
        text = programs.in_the_way(self.results)
        self.assertIn("Of 3 cases, 2 have a program that prints what it computed; in 1 of them", text)
        self.assertIn("| MPS | 0 | theory, time |", text)
        self.assertIn("| another | 0 | theory, time, counter |", text)
        self.assertIn("| no CUDA | 0 | no rows |", text)

    def test_choices_are_compared_by_pairs_of_runs(self):
        line = ON | {"tuner": "xla"}
        made_up.write(
            self.folder / "programs/choices.csv",
            [
                line | {"choice": "a", "alone": "x x y", "traced": "x x x"},
                line | {"choice": "b", "alone": "x x x", "traced": "x x z"},
                line | {"tuner": "cudnn", "choice": "c", "alone": "x x x", "traced": "x x x"},
            ],
        )
        text = programs.choices(self.results)
        # a: 2 of 3 pairs alone, none traced, 3 of 9 mixed; b: none of 3, 2 of 3, and 3 of 9.
        self.assertIn("| xla | 3 | 2 | 33 % of 6 pairs | 33 % of 6 pairs | 33 % of 18 pairs | 1.000 | commit", text)
        self.assertIn("| cudnn | 3 | 1 | 0 % of 3 pairs | 0 % of 3 pairs | 0 % of 9 pairs | 1.000 | commit", text)

    def test_choices_that_are_apart_are_so_by_chance_as_often_as_runs_can_be_divided_so(self):
        # 2 of the 924 ways to divide twelve runs into two sixes.
        apart = [(["x"] * 6, ["y"] * 6)]
        self.assertAlmostEqual(programs.p_value(apart), 2 / 924, delta=0.0016)
        self.assertGreater(programs.p_value([(["x"] * 3 + ["y"] * 3, ["y", "x"] * 3)]), 0.5)

    def test_launches_of_killed_programs_are_missing_for_a_time(self):
        line = ON | {"status": "137"}
        lines = [
            line | {"milliseconds": "100", "launched": "1000", "in_the_file": "900"},
            line | {"milliseconds": "1000", "launched": "5000", "in_the_file": "4000"},
        ]
        made_up.write(self.folder / "programs/killed.csv", lines)
        text = programs.killed(self.results)
        self.assertIn("2 processes were killed 100 to 1,000 ms after", text)
        self.assertIn("2 of their files had rows, and lacked the launches of the last 200 ms at most", text)


class Predictions(unittest.TestCase):
    def test_of_reconstructed_rows_are_not_compared(self):
        rows = traces.rows_of(RECORDED, ["training"]).drop_nulls("achieved_pct")
        reconstructed = rows.filter(pl.col("work_source").str.starts_with("reconstructed"))
        self.assertGreater(len(reconstructed), 0)
        self.assertEqual(len(predicted(rows)), len(rows) - len(reconstructed))

    def test_are_nearer_to_the_counter_than_theory(self):
        lines = [line.split("|") for line in traces.predictions(RECORDED).splitlines() if line.startswith("| ")][1:]
        means = {line[1].strip(): float(line[3]) for line in lines}
        self.assertEqual(len(means), 4)
        for kind in ("held out", "others"):
            self.assertLess(means[f"{kind}: prediction"], means[f"{kind}: theory"] / 5)


if __name__ == "__main__":
    unittest.main()
