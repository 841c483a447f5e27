"""What is between the marks of a text is what the rows say, and nothing else of it is touched. Figures of traces, of advice and of
timelines are compared with rows worked out by hand."""

import gzip
import tempfile
import unittest
from pathlib import Path

import made_up
import polars as pl
from occbench_tools import WrongInput, dataset, experiments, figures
from occbench_tools.dataset import Results, read_text
from occbench_tools.figures import advice, intervals, placement, programs, timelines, traces
from occbench_tools.figures.accuracy import predicted
from occbench_tools.figures.command import blocks, texts, written
from occbench_tools.keep_timelines import keep
from occbench_tools.markdown import of_most
from occbench_tools.program import RESULTS, Claim

CLAIMS = [Claim("waves", "a partial last wave leaves SMs idle", "a document")]
BLOCKS = blocks(CLAIMS)
RECORDED = Results(RESULTS, made_up.OCCBENCH)


def folder_of_a_model(test: unittest.TestCase) -> Path:
    """Without another beside it."""
    folder = Path(test.enterContext(tempfile.TemporaryDirectory())) / "model"
    folder.mkdir()
    return folder


class Texts(unittest.TestCase):
    def setUp(self):
        self.folder = folder_of_a_model(self)

    def written(self, text, results=RECORDED):
        file = self.folder / "text.md"
        file.write_text(text, encoding="utf-8")
        return written(file, BLOCKS, results)

    def test_a_figure_that_the_rows_do_not_have_is_replaced_and_prose_is_not(self):
        stale = "Prose of 99.9 %.\n<!-- waves: figures -->\n- 1 wave takes 12.3 µs.\n<!-- end -->\nMore prose.\n"
        text = self.written(stale)
        self.assertTrue(text.startswith("Prose of 99.9 %.\n<!-- waves: figures -->\n- 1, 2, 3 and 4 waves take "))
        self.assertTrue(text.endswith("<!-- end -->\nMore prose.\n"))
        self.assertNotIn("12.3", text)
        self.assertEqual(self.written(text), text)

    def test_a_claim_is_the_one_that_the_bench_binary_prints(self):
        text = self.written("<!-- waves: claim -->\n<!-- end -->\n")
        self.assertIn("**Claimed:** a partial last wave leaves SMs idle (a document).", text)

    def test_a_block_that_nothing_writes_is_an_error(self):
        with self.assertRaisesRegex(WrongInput, "nothing writes the block <!-- waves: figure -->"):
            self.written("<!-- waves: figure -->\n<!-- end -->\n")

    def test_every_block_is_in_a_text(self):
        marks = "".join(file.read_text(encoding="utf-8") for file in [*texts(), *RESULTS.parent.glob("*/*.md")])
        for name in BLOCKS:
            if name.endswith((": claim", ": findings")):
                continue  # an experiment may have been written and not recorded yet
            self.assertTrue(f"<!-- {name} -->\n" in marks, name)

    def test_what_python_printed_is_copied_from_where_it_was_recorded(self):
        text = self.written("<!-- python printed -->\n<!-- end -->\n")
        models = sorted(RESULTS.parent.glob("*/programs/python_sums.txt"))
        self.assertGreater(len(models), 0)
        for file in models:
            self.assertIn(f"```\n{file.read_text(encoding='utf-8')}```\n", text)
        made_up.write(self.folder / "full.csv", [{"experiment": "block_size"}])
        none = self.written("<!-- python printed -->\n<!-- end -->\n", Results(self.folder, made_up.OCCBENCH))
        self.assertNotIn("```", none)

    def test_an_experiment_that_is_not_recorded_says_so_and_the_others_have_their_figures(self):
        made_up.write(self.folder / "full.csv", [{"experiment": "block_size"}])
        made_up.write(self.folder / "against_ncu.csv", [dict.fromkeys(columns(RESULTS / "against_ncu.csv"), "")])
        text = self.written(
            "<!-- waves: claim -->\n<!-- end -->\n<!-- waves: findings -->\n<!-- end -->\n<!-- waves: cases -->\n<!-- end -->\n",
            Results(self.folder, made_up.OCCBENCH),
        )
        self.assertEqual(text.count(experiments.NOT_RECORDED), 2)
        self.assertIn(": **not measured**", text)

    def test_before_anything_is_recorded_the_missing_file_is_named_and_how_to_record_it(self):
        with self.assertRaisesRegex(WrongInput, r"full\.csv is not there.*scripts/run --suite full --out .*full\.csv"):
            self.written("<!-- waves: claim -->\n<!-- end -->\n", Results(self.folder, made_up.OCCBENCH))


class Builds(unittest.TestCase):
    def test_what_another_build_recorded_is_named_and_whether_on_another_gpu(self):
        def row(experiment, commit, gpu_uuid):
            return {
                "experiment": experiment,
                "commit": commit,
                "gpu_uuid": gpu_uuid,
                "recorded_at": "2026-11-23T00:00:00Z",
            }

        first = [row("waves", "a" * 12, "GPU-1"), row("placement", "a" * 12, "GPU-1")]
        again = row("reductions", "b" * 12, "GPU-1")
        elsewhere = row("atomics", "b" * 12, "GPU-2")
        self.assertEqual(of_most(pl.DataFrame([*first, again]), tell_gpus=True)[1], " (`reductions`: `bbbbbbbbbbbb`)")
        on, others = of_most(pl.DataFrame([*first, elsewhere]), tell_gpus=True)
        self.assertEqual(on["commit"], "a" * 12)
        self.assertEqual(others, " (`atomics`: `bbbbbbbbbbbb`, another GPU of this model)")


def columns(file):
    return file.read_text(encoding="utf-8").split("\n", 1)[0].split(",")


# 512 threads and 33 registers: three of four blocks fit. In whole waves of both.
ASKED = {
    "schema": 2,
    "experiment": "advice",
    "gpu": "NVIDIA H200",
    "driver": "580.159.04",
    "compute_capability": "9.0",
    "sm_count": 132,
    "kernel": "live_registers",
    "block_threads": 512,
    "grid_blocks": 1584,
    "registers_per_thread": 33,
    "theoretical_pct": 75,
    "achieved_pct": 75,
    "achieved_elapsed_pct": 75,
    "issue_active_pct": 20,
    "dram_busy_pct": 5,
    "unit_use": "fma=10",
    "time_us": 400,
    "throughput": 1000,
    "throughput_unit": "warp-cycles/s",
}


def pair(question: str, saved_pct: float, **asked) -> list[dict]:
    parameters = f"question={question};change=registers_per_thread:33:32;launch="
    before = ASKED | asked | {"case": f"{question}/asked", "parameters": parameters + "asked", "variant": question}
    after = before | {
        "case": f"{question}/advised",
        "parameters": parameters + "advised",
        "registers_per_thread": 32,
        "theoretical_pct": 100,
        "achieved_pct": 100,
        "throughput": 1000 / (1 - saved_pct / 100),
    }
    return [before, after]


def printed(rows: list[dict]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        made_up.write(Path(folder) / "advice.csv", rows)
        return figures.BLOCKS["advice: theory"](Results(Path(folder), made_up.OCCBENCH))


class Advice(unittest.TestCase):
    def test_about_theory_stands_beside_what_it_saved(self):
        text = printed(pair("latency", 24) + pair("throughput", -10, issue_active_pct=100))
        latency = next(line for line in text.splitlines() if "latency" in line)
        self.assertIn("| registers_per_thread 33 → 32 | 75 → 100 | 75.0 → 100.0 |", latency)
        self.assertIn(
            "| At most 0.1 of 0.4 ms per launch; not if L1 or L2 or another pipe is saturated, which was not read | 24.0 % |",
            latency,
        )
        throughput = next(line for line in text.splitlines() if "throughput" in line)
        self.assertIn("| None expected: issue_active_pct is 100 % | -10.0 % |", throughput)
        self.assertIn("In 2 of 2 pairs no more was saved than was said", text)
        self.assertIn("Where none was expected, -10.0 to -10.0 % was.", text)

    def test_of_grid_and_block_size_counts_rounds_of_blocks_once(self):
        # 1.25 waves at 75 % take two rounds, and 0.94 waves at 100 % one. The limit alone saves half, by rounds.
        asked = {
            "case": "asked",
            "parameters": "question=waves;launch=asked",
            "block_threads": 768,
            "theoretical_pct": 75,
        }
        losses = {"list": "losses", "time": "At most 37.5 % of it.", "time_saved_at_most_pct": 37.5}
        limit = {"list": "limits", "time": "At most 50 % of it.", "time_saved_at_most_pct": 50}
        pair = {"asked": asked, "advised": {"block_threads": 1024, "theoretical_pct": 100}}
        said = advice.said_of(pair, {"asked": [limit, losses]})
        self.assertEqual(said, 100 - 62.5 * 0.75)
        saturated = limit | {"time": "None expected: issue_active_pct is 100 %.", "time_saved_at_most_pct": 0}
        self.assertEqual(advice.said_of(pair, {"asked": [saturated, losses]}), 37.5)

    def test_that_saves_more_than_was_said_is_counted(self):
        self.assertIn("In 0 of 1 pairs no more was saved than was said", printed(pair("latency", 40)))


class AdviceOfGrids(unittest.TestCase):
    def test_has_how_far_the_predictions_of_the_asked_launches_are_off(self):
        asked = {"device_profile": "h100 (calibrated_model)", "predicted_pct": 70.0, "predicted_low_pct": 65.0}
        asked |= {"predicted_high_pct": 75.0}
        text = advice.predictions([{"asked": asked | {"achieved_pct": pct}} for pct in (73.0, 60.0)])
        self.assertIn(
            "(h100 (calibrated_model)) are 6.5 points off on average, 10.0 at most; 1 of 2 counters are outside", text
        )


class Suite(unittest.TestCase):
    def setUp(self):
        self.folder = folder_of_a_model(self)
        self.results = Results(self.folder, made_up.OCCBENCH)

    def test_limiters_are_compared_where_blocks_had_to_wait(self):
        row = ON | {"limiter": "warps", "hardware_limiter": "none"}
        made_up.write(self.folder / "full.csv", [row | {"case": f"{waves}", "waves": waves} for waves in (1, 1.05, 4)])
        text = figures.BLOCKS["hardware limiter"](self.results)
        self.assertIn("Of commit `0123456789ab`, 2026-11-23:", text)
        self.assertIn("| `warps` | `none` | 2 |", text)

    def test_beside_ncu_are_waves_and_block_sizes_only_as_how_near_they_are(self):
        row = ON | dict.fromkeys(dataset.AGAINST_NCU, 0.1)
        rows = [
            row | {"experiment": "waves", "case": f"{off}", "achieved_difference_points": off} for off in (-0.4, 0.2)
        ]
        rows += [row | {"experiment": "block_size", "case": "a", "achieved_difference_points": -0.05}]
        made_up.write(self.folder / "full.csv", [ON])
        made_up.write(self.folder / "against_ncu.csv", rows)
        text = figures.BLOCKS["against ncu"](self.results)
        self.assertIn("| 2 | 1 | -0.4 to +0.2 |", text)
        self.assertIn("1 more launches, of block sizes in whole waves, agree within 0.05 points.", text)


class Placement(unittest.TestCase):
    # SMs 0 and 1 are the first GPC, 2 to 5 the second, 6 and 7 singletons.
    PROFILE = {"gpc_sms": "2 4", "singleton_sms": "2"}
    FULL = [6, 7, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7]

    def test_of_a_first_wave_is_by_visits_of_gpcs_and_evenly_where_room_is_left(self):
        layout = placement.Layout(self.PROFILE)
        self.assertEqual(placement.first_wave(layout, [6, 7], 40, 2), self.FULL)
        self.assertEqual(placement.first_wave(layout, [7, 6], 3, 2), [7, 6, 0])
        self.assertEqual(placement.first_wave(layout, [6, 7], 12, 2), [6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 2])

    def test_of_a_trace_is_the_rules_to_the_block_or_is_not_counted(self):
        folder = folder_of_a_model(self)
        (folder / "a_recorded.profile").write_text("\n".join(map(" = ".join, self.PROFILE.items())), encoding="utf-8")
        row = ON | {"experiment": "placement", "grid_blocks": 17, "blocks_per_sm": 2, "achieved_pct": 50, "time_us": 9}
        made_up.write(folder / "full.csv", [row | {"case": "a"}])
        swapped = [*self.FULL[:-2], 7, 6]
        traces = {"trace_sm": [*self.FULL, 3], "trace_again_sm": [*swapped, 3]}
        samples = [
            ("placement", "a", quantity, index, sm) for quantity, sms in traces.items() for index, sm in enumerate(sms)
        ]
        made_up.write_samples(folder / "full.csv", samples)
        text = figures.BLOCKS["placement: first waves"](Results(folder, made_up.OCCBENCH))
        self.assertIn("in 1 of 2 on an H100 80GB HBM3.", text)


OF_PROGRAMS = Results(RESULTS.parent / "nvidia-h100-80gb-hbm3", made_up.OCCBENCH)
ON = {"recorded_at": "2026-11-23T01:02:03Z", "commit": "0123456789ab", "gpu": "NVIDIA H100 80GB HBM3", "driver": "580"}


class BesideNcu(unittest.TestCase):
    def setUp(self):
        self.folder = folder_of_a_model(self)
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
        self.assertIn("at most 1.0 points of the other 1 and 7.0 points of the 1 that it does not repeat.", text)
        self.assertIn("1 of 2 programs computed the same", text)


class OwnClocks(unittest.TestCase):
    def test_are_a_line_for_each_kernel_and_way(self):
        folder = folder_of_a_model(self)
        kernel = ON | {"kernel": "fill", "achieved_pct": "15.86", "cycles_active": "4461.00"}
        ways = [{"way": "alone", "counter_pct": ""}, {"way": "ncu", "counter_pct": "33.94"}]
        made_up.write(folder / "programs/own_clocks.csv", [kernel | way for way in ways])
        text = programs.own_clocks(Results(folder, made_up.OCCBENCH))
        self.assertIn("| fill | alone | 15.86 | 4,461 |  |", text)
        self.assertIn("| fill | ncu | 15.86 | 4,461 | 33.94 |", text)


class Costs(unittest.TestCase):
    def test_stand_beside_how_many_values_they_are_medians_of(self):
        folder = folder_of_a_model(self)
        cost = ON | {"unit": "ns", "median": "4000", "values": "4000"}
        costs = [
            cost | {"what": "a launch, alone", "values": "3000 4000 5000"},
            cost | {"what": "a counted launch, ncu"},
        ]
        made_up.write(folder / "programs/costs.csv", costs)
        text = programs.costs(Results(folder, made_up.OCCBENCH))
        self.assertIn("Medians on H100 80GB HBM3, driver 580, commit `0123456789ab`, 2026-11-23:", text)
        self.assertIn("| a launch | 3 | 4,000 ns |", text)
        self.assertIn("| a counted launch | 1 |", text)

    def test_of_samples_are_shares_of_whole_kernels(self):
        folder = folder_of_a_model(self)
        row = ON | dict.fromkeys(("launches", "with_counter_pct", "attributed_pct", "stable_pct"), "1")
        row |= {
            "program": "graph",
            "same_values": "true",
            "countings": "3",
            "long_kernels": "9",
            "long_within_pct": "56",
        }
        made_up.write(folder / "programs/sampled.csv", [row | {"short_kernels": "3", "short_within_pct": "67"}])
        text = programs.sampled(Results(folder, made_up.OCCBENCH))
        self.assertIn("55.6 % of 9 kernels from 5 us on are within 0.5 points, 66.7 % of 3 shorter", text)


class Disturbed(unittest.TestCase):
    def setUp(self):
        self.folder = folder_of_a_model(self)
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


class TwoGpus(unittest.TestCase):
    def setUp(self):
        self.folder = folder_of_a_model(self)
        self.readings = {"a": (87.5, 94.8, 94.75), "b": (60, 60.25, 63), "c": (50, 52, 51.5)}

    def text(self, block):
        uuid = {"full": "GPU-1", "repeat": "GPU-1", "another_gpu": "GPU-2"}
        for run, gpu_uuid in uuid.items():
            row = ON | {"experiment": "waves", "gpu_uuid": gpu_uuid, "achieved_elapsed_pct": 30, "theoretical_pct": 100}
            readings = {case: of[list(uuid).index(run)] for case, of in self.readings.items()}
            rows = [
                row | {"case": case, "achieved_pct": pct, "predicted_pct": pct - 0.5} for case, pct in readings.items()
            ]
            if run != "another_gpu":
                rows.append(row | {"case": "not of both", "achieved_pct": 10 if run == "full" else 90})
            made_up.write(self.folder / f"{run}.csv", rows)
        return figures.BLOCKS[block](Results(self.folder, made_up.OCCBENCH))

    def test_their_difference_stands_beside_that_of_two_runs_on_one_without_a_reading_that_the_suite_alone_has(self):
        text = self.text("two GPUs")
        self.assertIn("Of 3 counters, 3 differ by over a point between two H200s and 2 between two runs of one; ", text)
        self.assertIn("at most they differ by 3.0 and 2.0 points (one reading of 7.2 aside), ", text)
        self.assertIn("1 of the 3 are within 0.5 points in two runs of one.", text)
        self.assertIn("commit `0123456789ab` predicted 3 cases", text)

    def test_a_difference_that_two_runs_of_one_do_not_have_is_left_out_nowhere(self):
        self.readings["a"] = (87.5, 87.6, 94.75)
        text = self.text("two GPUs")
        self.assertIn("at most they differ by 7.2 and 2.0 points, ", text)
        self.assertNotIn("one reading", self.text("gate: two GPUs"))

    def test_the_cases_that_differ_most_are_named(self):
        text = self.text("gate: two GPUs")
        self.assertIn(
            "differs by over a point in 3, by up to 7.2 points (waves, a), `achieved_elapsed_pct` by up to 0.00.", text
        )
        self.assertIn(
            "two runs on one of them ([repeat.csv](repeat.csv)) `achieved_pct` differs by over a point in 2, by up to 7.3",
            text,
        )
        self.assertIn(
            "one reading: 87.5 % in full.csv, 94.8 and 94.8 % in the two others. Without it they differ by up to 3.0",
            text,
        )


class Coverage(unittest.TestCase):
    def test_experiments_that_are_outside_often_in_one_run_are_named_with_both(self):
        folder = folder_of_a_model(self)
        row = {"gpu": "NVIDIA H200", "theoretical_pct": 100, "predicted_pct": 50}
        row |= {"predicted_low_pct": 49, "predicted_high_pct": 51}

        def suite(counters):
            often = [row | {"experiment": "often", "case": f"{pct}", "achieved_pct": pct} for pct in counters]
            inside = [row | {"experiment": "inside", "case": f"{n}", "achieved_pct": 50} for n in range(4)]
            reading = row | {"experiment": "inside", "case": "r", "achieved_pct": 90, "work_source": "reading"}
            return [*often, *inside, reading]

        made_up.write(folder / "full.csv", suite((50, 50.5, 51, 50)))
        made_up.write(folder / "repeat.csv", suite((50, 54, 51, 47)))
        text = figures.BLOCKS["interval coverage by experiment"](Results(folder, made_up.OCCBENCH))
        self.assertIn("| often (4) | 100.0 % (0.38) | 50.0 % (2.00) |", text)
        self.assertIn("| all (8) | 100.0 % (0.19) | 75.0 % (1.00) |", text)
        self.assertNotIn("inside", text)

    def test_kinds_that_are_outside_often_over_elapsed_cycles_are_named(self):
        folder = folder_of_a_model(self)
        cell = dict.fromkeys(intervals.READ, 95) | {"profile": "own", "launches_of": "suites", "launches": 8}
        made_up.write(
            folder.parent / "interval_coverage.csv",
            [cell | {"kind": kind, "elapsed_inside_pct": pct} for kind, pct in (("a", 84.6), ("b", 85), ("c", 62.5))],
        )
        text = figures.BLOCKS["interval coverage: low over elapsed cycles"](Results(folder, made_up.OCCBENCH))
        self.assertEqual(
            text,
            "Over elapsed cycles fewer than 85 % are inside of c (62.5 % of 8; own, suites), a (84.6 % of 8; own, suites).",
        )

    def test_kinds_for_which_a_constant_width_scores_less_are_named_with_the_launches(self):
        folder = folder_of_a_model(self)
        scores = {
            ("a", "suites"): (3, 2.5),
            ("a", "random"): (3, 2),
            ("b", "suites"): (3, 3.5),
            ("all", "random"): (3, 1),
        }
        cell = dict.fromkeys(intervals.READ, 95) | {"profile": "own", "launches": 8}
        cells = [
            cell | {"kind": kind, "launches_of": of, "score": score, "constant_width_score": constant}
            for (kind, of), (score, constant) in scores.items()
        ]
        made_up.write(folder.parent / "interval_coverage.csv", cells)
        text = figures.BLOCKS["interval coverage: constant width"](Results(folder, made_up.OCCBENCH))
        self.assertEqual(
            text,
            "A constant width has the better score for:\n\n- a (own, suites; own, random)\n- all (own, random)",
        )


class Headline(unittest.TestCase):
    def test_theory_stands_beside_the_prediction_of_the_same_launches(self):
        folder = folder_of_a_model(self)
        row = {"experiment": "waves", "theoretical_pct": 100, "achieved_elapsed_pct": 50, "predicted_elapsed_pct": 51}
        row |= {"predicted_pct": 90}
        near = row | {"case": "near theory", "achieved_pct": 99.5}
        far = row | {"case": "far from it", "achieved_pct": 88}
        reading = row | {"case": "read", "achieved_pct": 93, "work_source": "reading"}
        bare = {"experiment": "waves", "case": "no theory", "achieved_pct": 50}
        made_up.write(folder / "full.csv", [near, far, reading, bare])
        text = figures.BLOCKS["headline"](Results(folder, made_up.OCCBENCH))
        self.assertIn("counts 4 cases. Theory, which 3 have, is 6.5 points", text)
        self.assertIn("2 cases are predicted from the launch alone: 5.75 points", text)
        self.assertIn("There theory is within a point in 1 cases, and nearer than the prediction in 1.", text)
        self.assertIn("the median error is 1.00 points, the mean 1.00.", text)


class Predictions(unittest.TestCase):
    def test_of_reconstructed_rows_are_not_compared(self):
        rows = traces.rows_of(OF_PROGRAMS, ["training"]).drop_nulls("achieved_pct")
        self.assertEqual(len(predicted(rows)), len(rows))
        source = (
            pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("reconstructed from its counter")).otherwise("work_source")
        )
        self.assertEqual(len(predicted(rows.with_columns(work_source=source))), len(rows) - 3)

    def test_are_nearer_to_the_counter_than_theory(self):
        lines = [line.split("|") for line in traces.predictions(OF_PROGRAMS).splitlines() if line.startswith("| ")][1:]
        means = {line[1].strip(): float(line[3]) for line in lines}
        self.assertEqual(len(means), 4)
        for kind in ("held out", "others"):
            self.assertLess(means[f"{kind}: prediction"], means[f"{kind}: theory"] / 5)


ROWS = """experiment,case,parameters,work,waves,achieved_pct,achieved_elapsed_pct,gpu,driver,commit,recorded_at
waves,spin/plain/waves=0.75,waves=0.75,equal:1000,0.75,99.5,75.5,NVIDIA H200,580,0123456789ab,2026-11-23T01:02:03Z
waves,spin/plain/waves=1.00,waves=1.00,equal:1000,1,99.5,80,NVIDIA H200,580,0123456789ab,2026-11-23T01:02:03Z
waves,spin/plain/waves=3.00,waves=3.00,equal:1000,3,99.5,80,NVIDIA H200,580,0123456789ab,2026-11-23T01:02:03Z
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
        (self.folder / "waves.samples.csv.gz").write_bytes(gzip.compress(SAMPLES.encode()))

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
        self.assertIn("H200, driver 580, commit `0123456789ab`, 2026-11-23:", table)
        self.assertIn("| waves | waves=0.75 | 10.00 | 75.00 | 75.50 | 7.1 |", table)
        self.assertIn("- The mean over time is within 1 point of the range counter in 1 of 1 cases, 0.50", table)
        self.assertIn(
            "- All 3 cases that were recorded of `waves`: the mean within 1 point in 1, the simulation within 5 points in 0, "
            "7.1 at most.",
            table,
        )
        traces = timelines.warp_record_table(results)
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
