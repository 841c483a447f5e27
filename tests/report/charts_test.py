"""What charts find in rows whose truth is known: made up, or counted here by other means; how rows that differ in one thing become
curves."""

import contextlib
import io
import json
import math
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import made_up

try:
    import polars as pl
    from occbench_tools import WrongInput
    from occbench_tools.program import Occbench, title_of
    from occbench_tools.report import charts, page, style
    from occbench_tools.report.charts import (
        compare,
        launches,
        performance,
        programs,
        registers,
        schedule,
        sms,
        sweeps,
        windows,
    )
    from occbench_tools.report.rows import Rows
    from occbench_tools.report.style import Drawing, Missing
    from occbench_tools.report.windows import Span, Window, read_windows
except ModuleNotFoundError as error:
    print(f"skipped={error.name} is not there; scripts/python {sys.argv[0]} has it")
    sys.exit(0)


def row(occupancy, throughput, parameters, **others):
    return {
        "__run": "a run",
        "experiment": "latency_hiding",
        "case": "chained/plain",
        "kernel": "chained",
        "variant": "plain",
        "block_threads": 256,
        "waves": 4.0,
        "throughput_unit": "multiply-adds/s",
        "theoretical_pct": float(occupancy),
        "achieved_pct": float(occupancy),
        "throughput": float(throughput),
        "parameters": parameters,
    } | others


def saturating(occupancy, enough):
    """Throughput that grows with occupancy until there is enough of it."""
    return min(occupancy, enough) / enough * 1e12


def rows_of(rows, asked=None, per_sm=None):
    asked = asked or SimpleNamespace(title=lambda name: title_of(name, "%"))
    return Rows(pl.DataFrame(rows, infer_schema_length=None), [], asked, None, per_sm)


OCCUPANCIES = (10, 20, 30, 40, 50, 60, 80, 100)


class Throughput(unittest.TestCase):
    def knees_of(self, rows):
        found = performance.series_of(performance.candidates(rows_of(rows)))
        points = found.with_columns(relative=100 * pl.col("throughput") / pl.col("throughput").max().over("series"))
        return dict(performance.knees(points).select("series", "achieved_pct").rows())

    def test_the_knee_is_where_more_occupancy_brings_no_more(self):
        rows = [
            row(occupancy, saturating(occupancy, enough), f"chains={chains}")
            for chains, enough in ((1, 100), (2, 50), (4, 20))
            for occupancy in OCCUPANCIES
        ]
        self.assertEqual(self.knees_of(rows), {"chains=1": 100, "chains=2": 50, "chains=4": 20})

    def test_launches_of_the_same_occupancy_are_points_of_their_own(self):
        measured = {12.5: (12.5, 50), 25: (24.9922, 100), 37.5: (24.9935, 75.5), 50: (37.2, 99), 100: (62, 99)}
        rows = [
            row(theory, throughput, f"blocks_per_sm={theory}", case=f"{theory}", achieved_pct=achieved)
            for theory, (achieved, throughput) in measured.items()
        ]
        drawing = performance.throughput(rows_of(rows))
        (panel,) = drawing.panels
        points = panel.chart.data.sort("achieved_pct")
        self.assertEqual(points.select("achieved_pct", "throughput").rows(), list(measured.values()))
        self.assertEqual(points.filter("knee")["achieved_pct"].to_list(), [24.9922])
        self.assertIn("25 % achieved occupancy is enough for latency_hiding", drawing.sentence)

    def test_several_rows_of_a_launch_are_one_point_and_too_many_launches_are_binned(self):
        twice = [row(50, throughput, "", case="a", series="") for throughput in (1, 3)]
        one = performance.launches(pl.DataFrame(twice))
        self.assertEqual(one["throughput"].to_list(), [2])
        many = [row(50 + i / 1000, 1, "", case=str(i), series="") for i in range(10_000)]
        binned = performance.launches(pl.DataFrame(many))
        self.assertLessEqual(len(binned), style.MOST_POINTS)
        self.assertEqual(binned.columns, one.columns)

    def test_what_moves_occupancy_is_no_series(self):
        rows = [
            row(occupancy, saturating(occupancy, 40), f"bytes={size};in_flight=4;warps={occupancy}", variant=f"v{size}")
            for size in (4, 16)
            for occupancy in OCCUPANCIES
        ]
        self.assertEqual(self.knees_of(rows), {"bytes=4": 40, "bytes=16": 40})

    def test_partial_warps_part_of_a_wave_and_residency_are_not_asked(self):
        rows = [row(occupancy, saturating(occupancy, 50), "") for occupancy in OCCUPANCIES]
        rows.append(row(15, 9e12, "", block_threads=33))
        rows.append(row(15, 9e12, "", waves=0.5))
        rows.append(row(15, 9e12, "", throughput_unit="warp-cycles/s"))
        self.assertEqual(self.knees_of(rows), {"": 50})

    def test_of_the_recorded_cliff_the_bodies_are_the_series(self):
        numbers = ("theoretical_pct", "achieved_pct", "throughput", "waves")
        rows = [
            recorded
            | {"__run": "a run", "block_threads": int(recorded["block_threads"])}
            | {name: float(recorded[name]) for name in numbers}
            for recorded in made_up.read()
            if recorded["experiment"] == "register_cliff" and recorded["achieved_pct"]
        ]
        self.assertEqual(set(self.knees_of(rows)), {"body=latency", "body=throughput"})


class Launches(unittest.TestCase):
    def launch(self, registers, time, **others):
        usage = {"compute_capability": "9.0", "static_shared_bytes": 0, "dynamic_shared_bytes": 0, "time_us": time}
        plain = {"carveout_pct": None, "cluster_blocks": 1, "experiment": "mine", "registers_per_thread": registers}
        return row(75, 1, "", **usage, **plain) | others

    def drawing(self, *rows):
        curve = pl.DataFrame(
            [
                {"axis": axis, "value": value, "theoretical_pct": float(100 - value)}
                for axis in launches.AXES
                for value in (1, 40)
            ]
        )
        asked = SimpleNamespace(curves=lambda *usage: curve, title=lambda name: name)
        return launches.calculator_of_launches(rows_of(rows, asked))

    def test_the_launch_with_most_time_comes_first_whatever_its_experiment(self):
        drawing = self.drawing(self.launch(20, 1), self.launch(33, 5), self.launch(20, 1), self.launch(40, 3))
        titles_drawn = [panel.title for panel in drawing.panels]
        self.assertEqual(len(titles_drawn), 3 * 3)
        self.assertIn("33 registers", titles_drawn[0])
        self.assertIn("20 registers", titles_drawn[-1])
        self.assertTrue(drawing.sentence.startswith("3 launch configurations with most time in these rows; "))
        self.assertIn("theory is 75 % (circle), its counter 75 % (dot).", drawing.sentence)

    def test_of_several_rows_the_counter_is_their_median_and_theory_is_not_rounded_away(self):
        counted = [self.launch(33, None, theoretical_pct=12.5, achieved_pct=pct) for pct in (5.0, 10.25, 12.0, None)]
        sentence = self.drawing(*counted).sentence
        self.assertIn("theory is 12.5 % (circle), its counter 10.25 % (dot, median of 3 rows).", sentence)
        self.assertTrue(sentence.startswith("1 launch configuration; "), "none has a time")

    def test_the_circle_stands_where_the_launch_is_on_each_axis(self):
        drawing = self.drawing(self.launch(33, 5, dynamic_shared_bytes=512))
        places = [panel.chart.layer[1].data["value"].unique().to_list() for panel in drawing.panels]
        self.assertEqual(places, [[256], [33], [512]])
        layers = drawing.panels[0].chart.layer[1:]
        self.assertEqual([layer.data["occupancy"].to_list() for layer in layers], [[75.0], [75.0]])

    def test_a_traced_kernel_goes_by_its_short_name(self):
        long_name = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<...> >(int, ...)"
        drawing = self.drawing(self.launch(33, 5, kernel=long_name, case="elementwise_kernel<128, 2><<<4, 128>>>"))
        self.assertTrue(drawing.panels[0].title.startswith("elementwise_kernel<128, 2>: 256 threads"))

    def test_a_launch_that_was_not_counted_has_a_circle_and_no_dot(self):
        drawing = self.drawing(self.launch(33, 5, achieved_pct=None))
        self.assertEqual([len(panel.chart.layer) for panel in drawing.panels], [2, 2, 2])
        self.assertNotIn("(dot)", drawing.sentence)

    def test_launches_that_the_curves_do_not_describe_are_left_out(self):
        with self.assertRaises(Missing):
            self.drawing(self.launch(33, 5, carveout_pct=50), self.launch(33, 5, cluster_blocks=2))

    def test_full_sms_that_seldom_issue_are_counted(self):
        counters = [(95, 30), (95, 80), (40, 10)]
        rows = [row(o, 1, "", issue_active_pct=float(i), eligible_warps=1.0) for o, i in counters]
        drawing = launches.issue(rows_of(rows))
        self.assertIn("Of 2 rows with 90 % achieved occupancy or more, 1 issue", drawing.sentence)
        self.assertEqual(len(drawing.panels), 2)

    def test_a_pipe_is_drawn_from_the_launches_that_use_it_most(self):
        counters = [(10, 50.0, 1.0), (20, 99.0, 1.0), (80, 100.0, 1.0), (30, 2.0, 60.0)]
        rows = [row(o, 1, "", unit_use=f"fma={fma};xu={xu}") for o, fma, xu in counters]
        drawing = launches.pipes(rows_of(rows))
        self.assertIn("FP32: 100 % at most, and 95 % of that from 20 % achieved occupancy on", drawing.sentence)
        self.assertIn("special functions: 60 % at most", drawing.sentence)
        self.assertEqual([len(panel.chart.data) for panel in drawing.panels], [3, 1])

    def test_a_pipe_that_no_launch_fills_is_not_drawn(self):
        rows = [row(o, 1, "", unit_use=f"fma={90 - o};tensor={o};alu=1") for o in (10, 49, 40)]
        drawing = launches.pipes(rows_of(rows))
        self.assertEqual([len(panel.chart.data) for panel in drawing.panels], [2])
        with self.assertRaises(Missing):
            launches.pipes(rows_of(rows[1:2]))


class EachSm(unittest.TestCase):
    def frame(self):
        # SM 0 works from 0 to 100 us, SM 1 from 20 to 70; SM 2 runs nothing and has no line.
        lines = [(0, 80.0, 0.0, 100.0), (1, 60.0, 20.0, 70.0)]
        return pl.DataFrame(
            [
                {"launch": 0, "sm": sm, "blocks": 4, "achieved_pct": pct, "first_start_us": begin, "last_end_us": end}
                for sm, pct, begin, end in lines
            ]
        )

    def test_an_sm_is_idle_before_its_first_block_and_after_its_last(self):
        self.assertEqual(sms.of_each_sm(self.frame(), None)["idle_pct"].to_list(), [0, 50])

    def test_an_sm_that_ran_nothing_is_idle_throughout(self):
        found = sms.of_each_sm(self.frame(), 3)
        self.assertEqual(found["idle_pct"].to_list(), [0, 50, 100])
        self.assertEqual(found["achieved_pct"].to_list(), [80, 60, 0])

    def test_the_mean_is_drawn_and_the_sentence_says_where_it_is_from(self):
        recorded = self.frame().with_columns(experiment=pl.lit("mine"), case=pl.lit("a"))
        rows = [row(50, 1, "", case="a", experiment="mine", sm_count=3)]
        drawing = sms.per_sm(rows_of(rows, per_sm=recorded))
        self.assertEqual([panel.chart.layer[1].data["mean"].item() for panel in drawing.panels], [140 / 3, 50])
        self.assertIn("the hardware counter reads sums over all SMs", drawing.text)


def launched(case, total_ms, theory, achieved, predicted):
    row = {"__run": "a run", "case": case, "launches": 10, "total_time_us": 1000.0 * total_ms, "region": None}
    return row | {"theoretical_pct": theory, "achieved_pct": achieved, "predicted_pct": predicted}


class Programs(unittest.TestCase):
    def test_time_is_split_by_the_counter_and_without_it_by_the_prediction(self):
        rows = [launched("counted", 10, 75.0, 50.0, 60.0), launched("predicted", 40, 100.0, None, 90.0)]
        drawing = programs.programs(rows_of(rows))
        parts = drawing.panels[0].chart.data
        split = {
            case: {row["part"]: row["ms"] for row in parts.filter(case=case).iter_rows(named=True)}
            for case in ("counted", "predicted")
        }
        self.assertEqual(split["counted"], {"achieved": 5, "lost": 2.5, "beyond theory": 2.5})
        self.assertEqual(split["predicted"], {"achieved": 36, "lost": 4, "beyond theory": 0})
        self.assertEqual(parts["case"].unique(maintain_order=True).to_list(), ["predicted", "counted"])
        self.assertIn("theory allows 95.0 % occupancy and 82.0 % was reached, or is predicted.", drawing.sentence)
        for of, how in zip(rows, ("50.0 % was reached.", "90.0 % is predicted."), strict=True):
            self.assertIn(how, programs.programs(rows_of([of])).sentence)
        self.assertIn("Time x points below theory is 6.50 ms, most of it in predicted: 4.00 ms.", drawing.sentence)

    def test_regions_come_first_with_what_to_do_in_each(self):
        rows = [
            launched("a", 10, 75.0, 50.0, 60.0) | {"region": "forward", "explanation": "the grid is small"},
            launched("b", 5, 75.0, 75.0, 60.0) | {"region": "forward", "explanation": None},
            launched("c", 40, 100.0, 90.0, 90.0) | {"region": "backward", "explanation": "blocks are uneven"},
        ]
        drawing = programs.programs(rows_of(rows))
        self.assertEqual([panel.title for panel in drawing.panels], ["GPU time by region", "GPU time by kernel"])
        parts = drawing.panels[0].chart.data
        self.assertEqual(parts["region"].unique(maintain_order=True).to_list(), ["backward", "forward"])
        self.assertEqual(parts.filter(region="forward", part="lost")["ms"].to_list(), [2.5])
        self.assertIn("backward: 73 % of the time; most of it below theory in c: blocks are uneven.", drawing.sentence)
        self.assertIn("forward: 27 % of the time; most of it below theory in a: the grid is small.", drawing.sentence)

    def test_the_head_of_the_page_says_nothing_of_predictions(self):
        rows = pl.DataFrame([launched("a", 10, 75.0, 50.0, 60.0) | {"experiment": "trace"}])
        told = [figure["what"] for figure in page.figures(rows)]
        self.assertEqual(told, ["GPU time", "Of it with a counter", "Achieved occupancy, by time"])
        self.assertIn("Prediction's", page.figures(rows.with_columns(experiment=pl.lit("mine")))[-1]["what"])

    def test_rows_of_other_experiments_have_none(self):
        with self.assertRaises(Missing):
            programs.programs(rows_of([launched("a", 1, 50.0, 40.0, 40.0) | {"launches": None}]))

    def test_kernels_whose_launches_have_no_time_are_not_drawn(self):
        timeless = launched("timeless", 0, 50.0, 40.0, 40.0)
        with self.assertRaises(Missing):
            programs.programs(rows_of([timeless]))
        drawing = programs.programs(rows_of([timeless, launched("timed", 10, 75.0, 50.0, 60.0)]))
        self.assertIn("1 kernel configuration took 10.0 ms", drawing.sentence)


class Agreement(unittest.TestCase):
    def drawing(self, *named):
        rows = [row(50, 1, "", kernel=kernel, experiment=of, predicted_pct=pct) for of, kernel, pct in named]
        return compare.agreement(rows_of(rows))

    def test_rows_of_one_experiment_are_told_apart_by_kernel(self):
        sentence = self.drawing(("mine", "fast", 50.0), ("mine", "slow", 53.0)).sentence
        self.assertIn("points from the counter on average: closest in fast (0.00), worst in slow (3.00", sentence)

    def test_one_kernel_is_not_compared_with_itself(self):
        sentence = self.drawing(("mine", "fast", 50.0), ("mine", "fast", 54.0)).sentence
        self.assertEqual(sentence, "The prediction is 2.00 points from the counter on average, and 4.0 at most.")


class Faults(unittest.TestCase):
    def test_a_chart_that_fails_is_left_out_by_name_and_the_others_are_drawn(self):
        made = [
            charts.Chart("broken", "Broken", [], lambda rows: 1 / 0),
            charts.Chart("whole", "Whole", [], lambda rows: Drawing("A sentence.", [])),
        ]
        rows = rows_of([row(50, 1, "")])
        with mock.patch.object(charts, "CHARTS", made), contextlib.redirect_stderr(io.StringIO()) as said:
            drawn, left_out = charts.draw_all(rows)
        self.assertEqual([entry.chart.name for entry in drawn], ["whole"])
        self.assertEqual([(entry.chart.name, entry.fault) for entry in left_out], [("broken", True)])
        self.assertIn("ZeroDivisionError", said.getvalue())


class Axes(unittest.TestCase):
    def test_many_values_on_an_axis_become_few_within_their_range(self):
        frame = pl.DataFrame({"x": [i / 7 for i in range(100_000)]})
        few = style.binned(frame, "x")["x"]
        self.assertLessEqual(few.n_unique(), style.MOST_POINTS)
        self.assertLess((few - frame["x"]).abs().max(), frame["x"].max() / style.MOST_POINTS)
        self.assertTrue(style.binned(frame.head(300), "x").equals(frame.head(300)))


def swept(parameters, theory, time_us, limiter="registers", **others):
    return {
        "__run": "a run",
        "experiment": "sweep",
        "kernel": "mine",
        "variant": "compiled",
        "parameters": parameters,
        "theoretical_pct": float(theory),
        "predicted_pct": float(theory) - 0.1,
        "achieved_pct": float(theory) - 0.2,
        "time_us": float(time_us),
        "time_status": "ok",
        "throughput": 1e6 / time_us,
        "throughput_unit": "launches/s",
        "limiter": limiter,
        "block_threads": 256,
        "registers_per_thread": 32,
        "dynamic_shared_bytes": 0,
        "static_shared_bytes": 0,
        "grid_blocks": 1000,
        "compute_capability": None,
        "carveout_pct": None,
        "cluster_blocks": 1,
        "spill_bytes": 0,
        "case": parameters,
    } | others


class Sweeps(unittest.TestCase):
    caps = ((24, 100, 90), (32, 100, 80), (40, 75, 70), (64, 50, 75))

    def test_the_fastest_configuration_is_named_with_its_values(self):
        drawing = sweeps.sweeps(
            rows_of([swept(f"register_cap={cap}", theory, time) for cap, theory, time in self.caps])
        )
        self.assertIn("4 configurations of register cap", drawing.sentence)
        self.assertIn("within 0.2 points of theory", drawing.sentence)
        self.assertIn("the fastest takes 70.0 µs (register cap 40)", drawing.sentence)
        self.assertEqual(len(drawing.panels), 2)

    def test_shapes_are_drawn_along_their_total_and_are_an_axis_beside_it(self):
        shapes = {"16x16": 256, "32x8": 256, "32x16": 512}
        rows = [swept(f"block_size={shape}", 100, 50, block_threads=total) for shape, total in shapes.items()]
        [(_, names, frame)] = sweeps.sweeps_of(rows_of(rows))
        self.assertEqual(sweeps.ordered_axes(frame, names), ["block_threads", "block_size"])
        placed = sweeps.placed(frame, ["block_threads", "block_size"])
        self.assertEqual(placed["x"].to_list(), [256.0, 256.0, 512.0])
        self.assertEqual(placed["series"].to_list(), [f"block_size={shape}" for shape in shapes])
        self.assertEqual(len(sweeps.sweeps(rows_of(rows)).panels), 2)

    def test_points_of_several_axes_name_the_fastest_beside_the_fullest(self):
        rows = [
            swept(f"block_size={threads};TILE={tile}", theory, time)
            for threads, tile, theory, time in ((64, 8, 50, 10), (64, 16, 100, 25), (128, 8, 75, 20))
        ]
        drawing = sweeps.sweep_points(rows_of(rows))
        self.assertEqual(len(drawing.panels), 1)
        self.assertIn("the fastest of 3 configurations has 50 % in theory and 49.8 % by the counter", drawing.sentence)
        self.assertIn("the one with most, 99.8 %, takes 2.50 times as long", drawing.sentence)
        with self.assertRaises(Missing):
            sweeps.sweep_points(rows_of([row | {"parameters": f"TILE={i}"} for i, row in enumerate(rows)]))

    def test_cliffs_are_where_theory_falls_and_name_what_then_limits(self):
        limits = {24: "warps", 32: "warps+registers", 40: "registers", 64: "registers"}
        frame = pl.DataFrame([swept(f"register_cap={cap}", theory, 1, limits[cap]) for cap, theory, _ in self.caps])
        found = sweeps.cliffs(sweeps.placed(frame, ["register_cap"]))
        self.assertEqual(sorted(found.select("x", "limiter").rows()), [(40.0, "registers"), (64.0, "registers")])

    def test_the_axis_of_most_numbers_is_drawn_along_the_second_as_colour_the_third_as_panels(self):
        rows = [
            swept(f"layout={layout};tile={tile};block_size={threads}", 100, 50)
            for layout in ("rows", "columns")
            for tile in (8, 16, 32)
            for threads in (64, 128, 256, 512)
        ]
        frame = pl.DataFrame(rows)
        self.assertEqual(sweeps.ordered_axes(frame, ["layout", "tile", "block_size"]), ["block_size", "tile", "layout"])
        self.assertEqual(len(sweeps.sweeps(rows_of(rows)).panels), 4)

    def test_axes_whose_values_are_paired_are_one(self):
        sizes = ((64, 1024), (128, 512), (256, 256))
        rows = [swept(f"cap={cap};block={size};grid={grid}", 100, size) for cap in (32, 64) for size, grid in sizes]
        self.assertEqual(sweeps.ordered_axes(pl.DataFrame(rows), ["cap", "block", "grid"]), ["block", "cap"])

    def test_a_value_that_could_not_be_launched_is_left_out(self):
        rows = [swept(f"register_cap={cap}", theory, time) for cap, theory, time in self.caps]
        rows.append(swept("register_cap=300", 0, 1, time_status="skipped") | {"theoretical_pct": None, "time_us": None})
        self.assertIn("4 configurations", sweeps.sweeps(rows_of(rows)).sentence)

    def test_an_experiment_of_ones_own_is_a_sweep_and_one_of_the_suite_is_none(self):
        own = [swept(f"tile={tile}", 100, tile, experiment="mine", variant="plain") for tile in (16, 32)]
        self.assertIn("2 configurations of tile", sweeps.sweeps(rows_of(own)).sentence)
        for name in ("atomics", "validation", "trace"):
            with self.subTest(name), self.assertRaises(Missing):
                sweeps.sweeps(rows_of([row | {"experiment": name} for row in own]))

    def test_launches_without_parameters_are_swept_over_what_differs_in_them(self):
        rows = [
            swept(None, 100, registers, experiment="mine", registers_per_thread=registers, block_threads=threads)
            | {"grid_blocks": 1_000_000 // threads}
            for registers in (24, 32, 40)
            for threads in (64, 1024)
        ]
        drawing = sweeps.sweeps(rows_of(rows))
        self.assertIn("6 configurations of registers per thread and block threads", drawing.sentence)
        (colour,) = {
            str(one["encoding"]["color"]["scale"]["domain"]) for one in drawing.panels[0].chart.to_dict()["layer"]
        }
        self.assertEqual(colour, "['block_threads=64', 'block_threads=1024']")

    def test_a_panel_needs_two_points_along_its_axis(self):
        rows = [swept(f"tile={tile};shape={shape}", 100, tile) for tile, shape in ((16, "a"), (32, "b"))]
        with self.assertRaises(Missing):
            sweeps.sweeps(rows_of(rows))

    def test_rows_of_no_sweep_have_no_such_chart(self):
        with self.assertRaises(Missing):
            sweeps.sweeps(rows_of([swept("a=1", 100, 1, experiment="waves"), swept("a=2", 100, 1, experiment="waves")]))


def theory_of(registers, threads=256):
    """Of compute capability 9.0: four schedulers with 16,384 registers each, given in units of 8 a thread; 64 warps per SM."""
    warps = 4 * (16384 // (32 * 8 * -(-registers // 8)))
    blocks = min(warps // (threads // 32), 64 * 32 // threads)
    return 100 * blocks * threads / (64 * 32)


FALLS = [r for r in range(25, 65) if theory_of(r) < theory_of(r - 1)]


class RegisterSweep(unittest.TestCase):
    counts = (24, 40, 56, 64)

    def rows(self, counts=counts, time=lambda registers: registers, **others):
        named = {"experiment": "mine", "compute_capability": "9.0", "throughput_unit": "frames/s"} | others
        return [
            swept("", theory_of(registers), time(registers), registers_per_thread=registers, case=str(registers))
            | named
            for registers in counts
        ]

    def of(self, rows):
        texts = dict.fromkeys(("experiment", "kernel", "variant"), pl.String)
        frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=texts)
        return Rows(frame, [], Occbench(made_up.OCCBENCH), None, None)

    def test_theory_falls_between_the_counts_where_the_hardware_allocates_more_whatever_the_names(self):
        self.assertEqual(FALLS, [33, 41, 49])
        for names in ({}, {"experiment": "tuning"}, {"experiment": None, "kernel": None, "variant": None}):
            with self.subTest(names):
                drawing = registers.register_cliff(self.of(self.rows(**names)))
                self.assertIn("theory falls at 33, 41, 49 registers", drawing.sentence)
                line, marks = drawing.panels[0].chart.layer
                self.assertEqual(line.mark.interpolate, "step-before")
                ends = {row["value"]: row["occupancy"] for row in line.data.iter_rows(named=True)}
                self.assertEqual(ends, {r: theory_of(r) for r in (24, 32, 40, 48, 64)})
                self.assertEqual(marks.data["value"].to_list(), list(self.counts))

    def test_where_the_work_is_not_known_time_is_beside_it(self):
        for unit, name in (("frames/s", "Throughput"), ("launches/s", "Time")):
            drawing = registers.register_cliff(self.of(self.rows(throughput_unit=unit)))
            self.assertEqual([panel.title for panel in drawing.panels][1], name)
        self.assertIn("24 → 40 registers change the time by +67 % (theory 100 → 75 %", drawing.sentence)

    def test_kernels_that_differ_are_no_sweep(self):
        rows = [row | {"kernel": f"kernel_{i}"} for i, row in enumerate(self.rows())]
        with self.assertRaises(Missing):
            registers.register_cliff(self.of(rows))

    def test_a_kernel_that_spills_comes_after_one_that_does_not(self):
        spilling = [
            row | {"kernel": "spilling", "spill_bytes": 1000 - row["registers_per_thread"]}
            for row in self.rows((24, 32, 40, 48, 56, 64))
        ]
        both = registers.register_cliff(self.of(spilling + self.rows()))
        self.assertTrue(both.sentence.startswith("mine, 256 threads a block"), both.sentence)
        alone = registers.register_cliff(self.of(spilling))
        self.assertTrue(alone.sentence.startswith("spilling, 256"), alone.sentence)
        self.assertIn("differ in spills", alone.key)

    def test_variants_that_are_named_after_their_registers_are_one_series_and_others_are_not(self):
        rows = [
            row | {"variant": f"{body}_{row['registers_per_thread']}"}
            for body, factor in (("latency", 1), ("plain", 0.1))
            for row in self.rows(time=lambda registers, factor=factor: registers**factor)
        ]
        drawing = registers.register_cliff(self.of(rows))
        self.assertIn("variant=latency_N: 24 → 40 registers change throughput by -40 %", drawing.sentence)
        self.assertIn("variant=plain_N: 24 → 40 registers change throughput by -5 %", drawing.sentence)

    def test_a_sweep_over_registers_has_the_steps_and_the_marks_of_the_calculator(self):
        panel = sweeps.sweeps(self.of(self.rows())).panels[0].chart
        self.assertEqual(sorted(panel.layer[0].data["x"].to_list()), FALLS)
        self.assertEqual([one.mark.interpolate for one in panel.layer].count("step-before"), 1)

    def test_theory_that_is_not_the_calculators_is_drawn_between_the_rows(self):
        rows = [row | {"theoretical_pct": row["theoretical_pct"] / 2} for row in self.rows()]
        panel = sweeps.sweeps(self.of(rows)).panels[0].chart
        self.assertEqual(sorted(panel.layer[0].data["x"].to_list()), [40, 56])
        self.assertNotIn("step-before", [one.mark.interpolate for one in panel.layer])


class Windows(unittest.TestCase):
    RECORDED = made_up.ROOT / "results/nvidia-h100-80gb-hbm3/programs/timeline.json.gz"

    def test_each_has_its_kernels_and_the_one_with_most_is_drawn(self):
        found = read_windows(self.RECORDED)
        self.assertEqual([len(window.spans) for window in found], [17, 0, 18, 4, 42])
        self.assertTrue(all(0 <= span.start < span.end <= window.length for window in found for span in window.spans))
        drawing = schedule.timeline(replace(rows_of([row(50, 1, "")]), windows=found))
        self.assertIn("5 sampling windows", drawing.sentence)
        self.assertIn("bodies<<<128, 128>>>: 6 % instead of 100 %", drawing.sentence)
        (panel,) = drawing.panels
        (chosen, _) = panel.chart.params
        self.assertTrue(chosen.value.startswith("5: at 2.674 s, 42 launches"), chosen.value)
        kernels = panel.chart.layer[1].data
        self.assertEqual(len(kernels), sum(len(window.spans) for window in found))
        self.assertIn("DeviceRadixSortOnesweepKernel", kernels["short"])

    def test_many_steps_become_means(self):
        steps = [(float(time), float(time % 2)) for time in range(10_000)]
        parts = windows.at_most(steps, 10_000)
        self.assertEqual(len(parts), windows.MOST_STEPS)
        self.assertAlmostEqual(sum((end - begin) * value for begin, end, value in parts), 5000)
        self.assertEqual(windows.at_most(steps[:3], 5), [(0, 1, 0), (1, 2, 1), (2, 5, 0)])

    def test_as_many_as_a_trace_may_have_are_drawn(self):
        spans = [Span("kernel", place, place + 1 + place / 1e4, 10.0, 100.0) for place in range(5000)]
        steps = [(float(time), 50.0) for time in range(5000)]
        found = [Window("GPU 0", number * 1e6, 5000.0, steps, spans) for number in range(10)]
        drawing = schedule.timeline(replace(rows_of([row(50, 1, "")]), windows=found))
        self.assertIn(f"Its {windows.MOST_SPANS} longest launches are drawn", drawing.sentence)
        drawing.panels[0].chart.to_dict()

    def test_another_file_is_refused(self):
        process = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "GPU 0"}}
        window = {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 9, "name": "window", "args": {}}
        step = {"ph": "C", "pid": 1, "name": "occupancy", "ts": 1, "args": {"%": 50}}
        kernel = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "k", "args": {"achieved_pct": 5.0}}
        whole = [process, window, step, kernel]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.json"

            def of(events: list[dict]) -> str:
                return json.dumps({"traceEvents": events})

            file.write_text(of(whole))
            self.assertEqual(len(read_windows(file)), 1)
            wrong = (process | {"args": {"name": ["GPU"]}}, window | {"dur": math.nan}, step | {"args": {"%": None}})
            wrong += (kernel | {"name": 5}, kernel | {"dur": 10**400}, kernel | {"args": {"achieved_pct": "forty"}})
            texts = ["", "[]", "[" * 100_000, '{"traceEvents": [{"name": "process_name"}]}', "experiment,case"]
            for text in texts + [of([*whole, event]) for event in wrong]:
                file.write_text(text)
                with self.assertRaisesRegex(WrongInput, "a.json is not what occbench trace --timeline writes"):
                    read_windows(file)
            for events in ([], [process, window | {"dur": 0}, step]):
                file.write_text(of(events))
                with self.assertRaisesRegex(WrongInput, "has no sampling window"):
                    read_windows(file)
            with self.assertRaisesRegex(WrongInput, "no regular file"):
                read_windows(Path(folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
