"""What is kept of recorded timelines, and the figures of it, against a recording worked out by hand."""

import lzma
import tempfile
import unittest
from pathlib import Path

import made_up
from occbench_tools import WrongInput
from occbench_tools.dataset import Results, read_text
from occbench_tools.figures import timelines
from occbench_tools.keep_timelines import keep

ROWS = """experiment,case,parameters,work,waves,achieved_pct,achieved_elapsed_pct
waves,spin/plain/waves=0.75,waves=0.75,equal:1000,0.75,99.5,75.5
waves,spin/plain/waves=1.00,waves=1.00,equal:1000,1,99.5,80
waves,spin/plain/waves=3.00,waves=3.00,equal:1000,3,99.5,80
"""
# 10 us at 50 and 10 us at 100 %, of which the simulation misses the first by 10 points: the mean is 75, the root mean
# square of the misses the root of 50.
TIMELINE = """experiment,case,time_us,active_warps_pct,predicted_active_warps_pct
waves,{case},0,50,60
waves,{case},10,100,100
waves,{case},20,0,0
"""
PER_SM = """experiment,case,launch,sm,blocks,achieved_pct,start_order,first_start_us,last_end_us,replacement_latency_median_us,replacements
waves,{case},0,0,2,90,1,0,20,0.5,1
waves,{case},0,1,1,70,2,0.1,10,,0
"""
SAMPLES = """experiment,case,quantity,index,value
waves,spin/plain/waves=0.75,achieved_pct_by_trace,0,99.25
waves,spin/plain/waves=0.75,same_launch_trace_pct,0,99.25
waves,spin/plain/waves=0.75,same_launch_counter_pct,0,99.375
waves,spin/plain/waves=0.75,time_us,0,20
"""


class Recording(unittest.TestCase):
    def setUp(self):
        temporary = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder, self.results = temporary / "recorded", temporary / "results"
        self.results.mkdir()

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def write_all(self):
        for waves in ("0.75", "1.00", "3.00"):
            case = f"spin/plain/waves={waves}"
            self.write(f"timeline/waves.{waves}.timeline.csv", TIMELINE.format(case=case))
            self.write(f"per_sm/waves.{waves}.per_sm.csv", PER_SM.format(case=case))
        self.write("waves.csv", ROWS)
        self.write("imbalance.csv", ROWS.splitlines()[0] + "\n")
        self.write("imbalance.samples.csv", SAMPLES.splitlines()[0] + "\n")
        (self.folder / "waves.samples.csv.xz").write_bytes(lzma.compress(SAMPLES.encode()))

    def keep(self):
        keep(self.folder, self.results)

    def test_chosen_cases_are_kept_whole_and_of_all_the_figures(self):
        self.write_all()
        self.keep()
        kept = {file.name for file in self.results.glob("*/*.csv")}
        self.assertEqual(
            kept, {"waves.0.75.timeline.csv", "waves.0.75.per_sm.csv", "rows.csv", "all.csv", "traced.samples.csv"}
        )
        self.assertEqual(len(read_text(self.results / "timeline" / "rows.csv")), 2)
        results = Results(self.results, made_up.OCCBENCH)
        table = timelines.timeline_table(results)
        self.assertIn("| waves | waves=0.75 | 10.00 | 75.00 | 75.50 | 7.1 |", table)
        self.assertIn("- The mean over time is within 1 point of the range counter in 1 of 1 cases, 0.50", table)
        self.assertIn(
            "- All 3 cases that were recorded of `waves`: the mean within 1 point in 1, the simulation within 5 points in 0, "
            "7.1 at most.",
            table,
        )
        traces = timelines.trace_table(results)
        self.assertIn(
            "- `spin` against the same launch: 0.12 points from the counter at the median, 0.12 at most", traces
        )
        self.assertIn("without partial last waves of equal blocks: 0.25 points from the counter at the median", traces)
        self.assertIn("from 70.0 to 90.0 %", timelines.per_sm(results))

    def test_what_was_recorded_before_is_kept_where_the_folder_has_nothing(self):
        self.write_all()
        self.keep()
        for file in self.folder.glob("timeline/*0.75*"):
            file.unlink()
        with self.assertRaisesRegex(WrongInput, "none of the cases"):
            self.keep()
        self.assertTrue((self.results / "timeline" / "waves.0.75.timeline.csv").exists())

    def test_rows_that_are_not_there_are_named_and_nothing_is_replaced(self):
        self.write_all()
        (self.folder / "waves.csv").unlink()
        with self.assertRaisesRegex(WrongInput, "waves.csv is not there"):
            self.keep()
        self.assertEqual(list(self.results.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
