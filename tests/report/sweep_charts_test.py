"""Sweeps and the cliff: how rows that differ in one thing become curves."""

import sys
import unittest
from types import SimpleNamespace

import made_up

try:
    import polars as pl
    from occbench_tools.program import Column, Occbench
    from occbench_tools.report.charts import registers, sweeps
    from occbench_tools.report.rows import Rows
    from occbench_tools.report.style import Missing
except ModuleNotFoundError as error:
    print(f"skipped={error.name} is not there; scripts/python {sys.argv[0]} has it")
    sys.exit(0)


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


def rows_of(rows):
    asked = SimpleNamespace(title=lambda name: Column(name, "real", "%", "").title)
    return Rows(pl.DataFrame(rows, infer_schema_length=None), [], asked, None, None)


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
