"""How rows are read, and the statistics over them."""

import gzip
import random
import statistics
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import made_up
import polars as pl
from occbench_tools import WrongInput, dataset, program
from occbench_tools.dataset import median, quantile
from occbench_tools.figures.timelines import repeatability
from occbench_tools.repredict import repredicted


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_torn_last_line_ends_at_the_last_whole_record(self):
        for text, whole in {
            b"a,b\n1,2\n3,": b"a,b\n1,2\n",
            b'a,b\n1,"x\ny"\n2,"x\n': b'a,b\n1,"x\ny"\n',
            b'a,b\n1,"say ""x""\n"\n': b'a,b\n1,"say ""x""\n"\n',
            b'"a': b"",
            b"": b"",
        }.items():
            self.assertEqual(dataset.whole_records(text), whole)

    def test_numbers_are_numbers_and_what_was_not_measured_is_null(self):
        run = made_up.run_of([{"experiment": "waves", "block_threads": "256", "achieved_pct": "", "driver": "580"}])
        row = run.rows.row(0, named=True)
        self.assertEqual((row["block_threads"], row["achieved_pct"], row["driver"]), (256, None, "580"))
        self.assertEqual(row["registers_per_thread"], None)  # a column that the file does not have

    def test_a_source_tree_may_lie_in_the_root_folder(self):
        with mock.patch.object(program, "SOURCES", Path("/nowhere")), self.assertRaisesRegex(WrongInput, "copy it"):
            program.package()

    def test_a_cell_that_is_no_number_is_named_with_its_row(self):
        with self.assertRaisesRegex(WrongInput, r"row 2 below the names: time_us is 'nan', not a number"):
            made_up.run_of([{"time_us": "1"}, {"time_us": "nan"}])

    def test_packed_samples_are_found_beside_the_rows(self):
        file = self.folder / "run.csv"
        made_up.write(file, [{"experiment": "waves", "case": "a", "achieved_pct": 50, "time_us": 1}])
        made_up.write_samples(file, [("waves", "a", "time_us", 0, 2.5), ("waves", "a", "time_us", 1, 3.5)])
        plain = file.with_suffix(".samples.csv")
        plain.with_name(plain.name + ".gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        of = made_up.read_run(file).of("waves")
        row = of.rows.row(0, named=True)
        self.assertEqual(of.samples(row, "time_us").to_list(), [2.5, 3.5])
        self.assertEqual(of.samples(row, "not kept").to_list(), [])

    def test_a_parameter_goes_before_a_column_of_its_name(self):
        run = made_up.run_of(
            [
                {"experiment": "waves", "waves": 1.5, "parameters": "waves=1.50"},
                {"experiment": "waves", "waves": 1.0, "parameters": "waves=one;more=1"},
                {"experiment": "waves", "block_threads": 64},
            ]
        )
        self.assertEqual(len(dataset.pick(run.rows, waves="1.50")), 1)
        self.assertEqual(dataset.one(run.rows, waves="one", more=1)["waves"], 1.0)
        self.assertEqual(dataset.one(run.rows, block_threads=64)["parameters"], None)

    def test_a_file_written_again_is_the_same_to_the_byte(self):
        file = self.folder / "copy.csv"
        recorded = made_up.ROOT / "results" / "nvidia-h200" / "full.csv"
        dataset.write_table(file, dataset.read_text(recorded))
        self.assertEqual(file.read_bytes(), recorded.read_bytes())


class Statistics(unittest.TestCase):
    def test_a_quantile_lies_between_its_neighbours_in_proportion(self):
        self.assertEqual(quantile([10, 20, 30, 40], 0.5), 25)
        self.assertEqual(quantile([40, 10, 30, 20], 0.9), 37)
        self.assertEqual(median([3]), 3)
        with self.assertRaises(ValueError):
            median([None])

    def test_of_a_column_it_is_the_same_as_of_its_values(self):
        values = [random.Random(3).random() for _ in range(99)]
        frame = pl.DataFrame({"x": values})
        expected = statistics.quantiles(values, n=20, method="inclusive")
        self.assertAlmostEqual(quantile(values, 0.95), expected[-1])
        self.assertEqual(frame.select(quantile(pl.col("x"), 0.95)).item(), quantile(values, 0.95))


class Repeatability(unittest.TestCase):
    def run_of(self, **achieved):
        rows = [
            {"experiment": "waves", "case": case, "commit": "abc", "time_status": "ok", "time_us": time}
            | {"time_spread_pct": 0.5, "achieved_pct": pct, "achieved_elapsed_pct": pct}
            for case, (pct, time) in achieved.items()
        ]
        return made_up.run_of(rows).rows

    def test_runs_are_compared_case_by_case(self):
        found = repeatability(self.run_of(a=(50, 100), b=(60, 200), c=(1, 1)), self.run_of(b=(63, 220), a=(50, 100)))
        self.assertEqual(found["rows"], 2)
        self.assertEqual(found["achieved_difference_most_points"], 3)
        self.assertEqual(found["achieved_difference_median_points"], 1.5)
        self.assertAlmostEqual(found["time_difference_median_pct"], 5)

    def test_a_case_that_the_first_run_lacks_is_refused(self):
        with self.assertRaisesRegex(WrongInput, "1 cases of the second run are not in the first"):
            repeatability(self.run_of(a=(50, 100)), self.run_of(a=(50, 100), b=(50, 100)))


class Repredicted(unittest.TestCase):
    def test_predictions_are_replaced_where_there_are_new_ones_and_nothing_else_is(self):
        case = {"gpu_uuid": "g", "experiment": "w"}
        rows = pl.DataFrame(
            [
                case | {"case": "a", "achieved_pct": "50.00", "predicted_pct": "1"},
                case | {"case": "b", "achieved_pct": None, "predicted_pct": "2"},
                case | {"gpu_uuid": "h", "case": "a", "achieved_pct": "51", "predicted_pct": "3"},
            ]
        )
        again = pl.DataFrame(
            [case | {"case": "a", "predicted_pct": "9", "predicted_elapsed_pct": "8", "achieved_pct": "50"}]
        )
        after = repredicted(rows, again)
        # A column that is new stands where `again` has it.
        self.assertEqual(after.columns, again.columns)
        self.assertEqual(
            after.select("gpu_uuid", "case", "predicted_pct", "predicted_elapsed_pct", "achieved_pct").rows(),
            [("g", "a", "9", "8", "50.00"), ("g", "b", "2", None, None), ("h", "a", "3", None, "51")],
        )


if __name__ == "__main__":
    unittest.main()
