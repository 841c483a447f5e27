"""The Python package against the command, and against what NVIDIA's cuda_occupancy.h answers."""

import doctest
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import typing
import unittest
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import occbench
import polars as pl
from occbench import _command

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from slower import slower  # noqa: E402

SOURCES = Path(__file__).resolve().parents[2]
RECORDED = SOURCES / "tests" / "data" / "theory" / "launches.csv"
SUITE = SOURCES / "results" / "nvidia-h200" / "full.csv"
LIMITS = [f"block_limit_{limiter}" for limiter in ("warps", "blocks", "registers", "shared_memory", "barriers")]


def command(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([os.environ["OCCBENCH_PROGRAM"], *words], capture_output=True, text=True, check=False)


def recorded() -> pl.DataFrame:
    return pl.read_csv(RECORDED, schema_overrides={"compute_capability": pl.String})


def answered(launches: pl.DataFrame) -> occbench.Theories:
    return occbench.calc(
        compute_capability=launches["compute_capability"].to_list(),
        block_size=launches["block_threads"].to_numpy(),
        registers=launches["registers_per_thread"].to_numpy(),
        static_smem=launches["static_shared_bytes"].to_numpy(),
        dynamic_smem=launches["dynamic_shared_bytes"].to_numpy(),
        carveout=launches["carveout_pct"].fill_null(-1).to_numpy(),
        barriers=launches["barriers"].to_numpy(),
    )


class OfACheckout(unittest.TestCase):
    def test_whose_package_holds_no_command_asks_that_of_the_path(self) -> None:
        built = os.environ["OCCBENCH_PROGRAM"]
        path = f"{Path(built).parent}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, {"OCCBENCH_PROGRAM": "", "PATH": path}):
            self.assertEqual(str(_command.program()), built)
            self.assertEqual(occbench.calc("h100", block_size=512, registers=33).theoretical_pct, 75)


class TenThousandLaunches(unittest.TestCase):
    def test_one_call_answers_what_the_header_of_cuda_does(self) -> None:
        launches = recorded()
        self.assertEqual(len(launches), 10_000)
        theories = answered(launches)
        np.testing.assert_array_equal(theories.blocks_per_sm, launches["blocks_per_sm"])
        for name in LIMITS:
            found = theories.block_limits[name.removeprefix("block_limit_")]
            np.testing.assert_array_equal(found, launches[name].fill_null(-1), name)
        np.testing.assert_array_equal(theories.registers_per_block, launches["registers_per_block"])
        np.testing.assert_array_equal(theories.shared_bytes_per_block, launches["shared_bytes_per_block"])

    def test_one_call_answers_what_the_command_does(self) -> None:
        theories = answered(recorded())
        rows = json.loads(command("calc", "--batch", str(RECORDED), "--format=json").stdout)
        self.assertEqual(len(rows), 10_000)
        self.assertEqual([row["limiter"] for row in rows], theories.limiter.tolist())
        for name in ("blocks_per_sm", "warps_per_sm", "shared_bytes_per_sm"):
            self.assertEqual([row[name] for row in rows], getattr(theories, name).tolist(), name)
        self.assertEqual([row["theoretical_pct"] for row in rows], theories.theoretical_pct.tolist())

    def test_a_launch_takes_at_most_a_microsecond(self) -> None:
        rng = np.random.default_rng(49)
        launches = {
            "block_size": rng.integers(1, 1025, 10_000),
            "registers": rng.integers(1, 65, 10_000),
            "dynamic_smem": rng.integers(0, 65536, 10_000),
        }
        seconds = []
        for _ in range(7):
            begin = time.perf_counter()
            occbench.calc("h200", **launches)
            seconds.append(time.perf_counter() - begin)
        self.assertLess(min(seconds) / 10_000, 1e-6 * slower())


class Calc(unittest.TestCase):
    def test_arrays_are_broadcast_as_numpy_does(self) -> None:
        theories = occbench.calc(["h200", "a100-sxm4-80gb"], block_size=[[256], [512], [1024]], registers=40)
        self.assertEqual(theories.theoretical_pct.shape, (3, 2))
        one = occbench.calc("a100-sxm4-80gb", block_size=1024, registers=40)
        self.assertEqual(theories.theoretical_pct[2, 1], one.theoretical_pct)
        self.assertEqual(theories.limiter[2, 1], one.limiter)

    def test_no_launches_are_no_answers(self) -> None:
        empty = np.empty(0, dtype=np.int64)
        self.assertEqual(occbench.calc("h200", block_size=empty, registers=32).theoretical_pct.shape, (0,))

    def test_a_launch_says_what_the_json_of_the_command_says(self) -> None:
        words = ["--gpu=h200", "--block-size=384", "--registers=44", "--dynamic-smem=20480", "--format=json"]
        said = json.loads(command("calc", *words).stdout)
        theory = occbench.calc("h200", block_size=384, registers=44, dynamic_smem=20480)
        self.assertEqual(theory.answer, said)
        self.assertEqual([step.after for step in theory.steps], [step["to"] for step in said["steps"]])

    def test_registers_that_are_not_given_do_not_limit_as_in_the_command(self) -> None:
        said = json.loads(command("calc", "--gpu=h200", "--block-size=768", "--format=json").stdout)
        self.assertEqual(occbench.calc("h200", block_size=768).answer, said)
        many = occbench.calc("h200", block_size=[768, 512])
        self.assertEqual(many.theoretical_pct.tolist(), [75.0, 100.0])
        self.assertEqual(many.block_limits["registers"].tolist(), [-1, -1])
        self.assertIn("registers_per_thread", occbench.curves("h200", block_size=768).points)

    def test_what_cannot_be_is_refused_with_the_message_of_the_command(self) -> None:
        for words, launch in {
            ("--gpu=h200", "--block-size=0", "--registers=32"): {"gpu": "h200", "block_size": 0, "registers": 32},
            ("--gpu=h201", "--block-size=32", "--registers=32"): {"gpu": "h201", "block_size": 32, "registers": 32},
            ("--cc=9.0", "--block-size=32", "--registers=-1"): {
                "compute_capability": "9.0",
                "block_size": 32,
                "registers": -1,
            },
        }.items():
            with self.assertRaises(ValueError) as refused:
                occbench.calc(**launch)
            said = command("calc", *words).stderr.replace("--registers", "registers")
            self.assertEqual(f"occbench: {refused.exception}\n", said)

    def test_messages_name_parameters_and_not_options(self) -> None:
        with self.assertRaisesRegex(ValueError, "^gpu excludes sm_count"):
            occbench.calc("h200", sm_count=5, block_size=256)
        with self.assertRaisesRegex(ValueError, "^work: say what the blocks do: work, durations, time_us or sm_cycles"):
            occbench.predict("h200", block_size=256, grid=5, registers=32)
        with self.assertRaisesRegex(ValueError, "`occbench calc --gpu list` has all"):
            occbench.calc("no-such-gpu", block_size=256)
        for answer in (occbench.calc, occbench.curves):
            with self.assertRaisesRegex(ValueError, "^give gpu or compute_capability"):
                answer(block_size=256)
        with self.assertRaisesRegex(ValueError, "^give gpu or compute_capability"):
            occbench.calc(block_size=[256])

    def test_several_gpus_in_a_text_are_refused_with_the_way_to_ask_for_them(self) -> None:
        for launch in ({"gpu": "a100,h200"}, {"gpu": "list"}, {"compute_capability": "8.0,9.0"}, {"gpu": ["list"]}):
            with self.assertRaisesRegex(ValueError, r"is not one GPU .* a list, as in \['a100', 'h200'\]"):
                occbench.calc(**launch, block_size=256)

    def test_a_tuple_is_refused_with_what_a_shape_and_several_values_are(self) -> None:
        for answer in (occbench.calc, occbench.curves):
            with self.assertRaisesRegex(ValueError, r"a shape is a text, '16x8', and several values are \[16, 8\]"):
                answer("h200", block_size=(16, 8))
        with self.assertRaisesRegex(ValueError, r"^grid=\(4, 4\) is a tuple: a shape is a text, '4x4'"):
            occbench.predict("h200", block_size="16x16", grid=(4, 4), registers=32)
        self.assertEqual(occbench.calc("h200", block_size="16x16", grid="12x11").waves, 0.125)

    def test_whole_numbers_may_be_floats(self) -> None:
        self.assertEqual(occbench.calc("h200", block_size=512.0), occbench.calc("h200", block_size=512))
        sizes = np.array([128.0, 512.0])
        self.assertEqual(occbench.calc("h200", block_size=sizes, registers=40).blocks_per_sm.tolist(), [12, 3])
        for value in (0.5, np.nan, 1e300):
            with self.assertRaisesRegex(ValueError, "is not of whole numbers"):
                occbench.calc("h200", block_size=[value])
        with self.assertRaisesRegex(ValueError, "has masked values"):
            occbench.calc("h200", block_size=np.ma.array([128, 256], mask=[False, True]))

    def test_a_grid_without_the_number_of_sms_is_warned_of(self) -> None:
        with self.assertWarnsRegex(UserWarning, "^waves is None without the number of SMs: give gpu or sm_count"):
            self.assertIsNone(occbench.calc(compute_capability="9.0", block_size=256, grid=2000).waves)

    def test_of_arrays_the_message_names_the_launch(self) -> None:
        with self.assertRaisesRegex(
            ValueError, "^launch 1: block_threads = 2000 is out of range: .* allows 1 to 1024$"
        ):
            occbench.calc("h200", block_size=[32, 2000], registers=32)
        with self.assertRaisesRegex(ValueError, "whole numbers"):
            occbench.calc("h200", block_size=[32.5], registers=32)
        with self.assertRaisesRegex(ValueError, "grid and sm_count are of a single launch"):
            occbench.calc("h200", block_size=[32], registers=32, grid=5)

    def test_a_kernel_s_compute_capability_may_stand_beside_its_gpu_alone(self) -> None:
        beside = occbench.calc("h200", compute_capability="9.0", block_size=256, registers=40)
        self.assertEqual(beside, occbench.calc("h200", block_size=256, registers=40))
        with self.assertRaisesRegex(ValueError, "'h200' has compute capability 9.0"):
            occbench.calc("h200", compute_capability="8.0", block_size=256, registers=40)

    def test_they_are_compared_however_they_are_spelled(self) -> None:
        launch = {"block_size": 256, "registers": 40}
        for gpu, same in (("h200", 9.0), ("H200", 90), ("NVIDIA H200", "sm_90"), ("h100", "9.0")):
            self.assertEqual(occbench.calc(gpu, compute_capability=same, **launch).answer["compute_capability"], "9.0")
        many = occbench.calc("H200", compute_capability=90, block_size=[256, 512], registers=40)
        self.assertEqual(many.blocks_per_sm.tolist(), [6, 3])
        for gpu, other in (("a100", "9.0"), ("H200", 8.0), ("NVIDIA H200", "7.0")):
            for answer in (
                lambda **asked: occbench.calc(**asked, **launch),
                lambda **asked: occbench.calc(**asked, block_size=[256]),
                lambda **asked: occbench.predict(**asked, **launch, grid=2000, work="equal:50us"),
                lambda **asked: occbench.explain(**asked, **launch, grid=2000),
                lambda **asked: occbench.curves(**asked, **launch),
            ):
                with self.assertRaisesRegex(ValueError, f"gpu='{gpu}' has .* compute_capability={other!r} is another"):
                    answer(gpu=gpu, compute_capability=other)
        with self.assertRaisesRegex(ValueError, "'garbage' is not a compute capability"):
            occbench.calc("a100", compute_capability="garbage", **launch)

    def test_the_gpus_are_those_that_the_command_knows(self) -> None:
        gpus = occbench.gpus()
        self.assertEqual(len(gpus), len({gpu.name for gpu in gpus}))
        for gpu in (gpus[0], gpus[len(gpus) // 2], gpus[-1]):
            said = json.loads(
                command("calc", f"--gpu={gpu.name}", "--block-size=32", "--registers=8", "--format=json").stdout
            )
            self.assertEqual((gpu.compute_capability, gpu.sm_count), (said["compute_capability"], said["sm_count"]))


class Answers(unittest.TestCase):
    def test_a_prediction_has_the_command_s_interval_losses_and_advice(self) -> None:
        words = ["--gpu=h200", "--block-size=256", "--registers=20", "--grid=1320", "--work=equal:100us"]
        said = json.loads(command("predict", *words, "--format=json").stdout)
        prediction = occbench.predict("h200", block_size=256, registers=20, grid=1320, work="equal:100us")
        self.assertEqual(prediction.answer, said)
        self.assertEqual(prediction.interval_pct, (said["predicted_low_pct"], said["predicted_high_pct"]))
        self.assertAlmostEqual(sum(prediction.losses), prediction.theoretical_pct - prediction.predicted_pct, places=6)
        assert prediction.advice is not None
        self.assertEqual(prediction.advice.sentence, said["advice"]["sentence"])

    def test_rows_are_explained_as_the_command_does(self) -> None:
        said = json.loads(command("explain", str(SUITE), "--top=3", "--format=json").stdout)
        explained = occbench.explain(SUITE, top=3)
        self.assertEqual([each.answer for each in explained], said)
        self.assertEqual(explained[0].findings[0].cause, said[0]["findings"][0]["cause"])
        with self.assertRaisesRegex(ValueError, "no_such_file"):
            occbench.explain("no_such_file.csv")

    def test_rows_have_the_types_of_their_columns_and_null_where_nothing_was_measured(self) -> None:
        rows = occbench.read(SUITE)
        types = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
        kinds = {column.name: types[column.type] for column in occbench.columns()}
        self.assertEqual(dict(rows.schema), {name: kinds[name] for name in rows.columns})
        self.assertGreater(rows["achieved_pct"].drop_nulls().len(), 1000)
        self.assertIsNone(rows["carveout_pct"][0])
        with self.assertRaisesRegex(ValueError, "no_such_file"):
            occbench.read("no_such_file.csv")

    def test_other_columns_have_the_types_of_their_values(self) -> None:
        answered = command("calc", "--batch", str(RECORDED), "--format=csv").stdout
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.csv"
            rows.write_text(answered)
            schema = occbench.read(rows).schema
            self.assertEqual({schema[name] for name in ("warps_per_sm", "idle_registers", *LIMITS)}, {pl.Int64})
            self.assertEqual((schema["limiter"], schema["compute_capability"]), (pl.String, pl.String))
        schema = occbench.read(SUITE.with_name("full.samples.csv.gz")).schema
        self.assertEqual((schema["index"], schema["value"], schema["case"]), (pl.Int64, pl.Float64, pl.String))
        self.assertEqual(occbench.read(SOURCES / "results" / "profiles.csv").schema["mean_error_points"], pl.Float64)

    def test_a_file_without_a_column_of_rows_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for text in ("hello\n", "a,b\n1,2\n"):
                other = Path(folder) / "other.csv"
                other.write_text(text)
                with self.assertRaisesRegex(ValueError, "other.csv is no file of rows: it has none of the columns"):
                    occbench.read(other)

    def test_a_row_that_was_being_written_is_left_out_with_a_warning(self) -> None:
        whole = Path(SUITE).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / "cut.csv"
            cut.write_bytes(whole[:-50])
            with self.assertWarnsRegex(UserWarning, "the last line has no end"):
                self.assertEqual(occbench.read(cut).height, occbench.read(SUITE).height - 1)

    def test_a_command_in_one_text_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "give a list of words, as in .'python3', 'train.py'"):
            occbench.trace("python3 train.py")


class Programs(unittest.TestCase):
    def test_a_program_that_fails_or_uses_no_cuda_has_no_rows(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "occbench trace ended with 3"):
            occbench.trace(["/bin/sh", "-c", "exit 3"])
        with self.assertRaisesRegex(RuntimeError, "occbench trace ended with 0"):
            occbench.trace(["/bin/true"])
        with self.assertRaisesRegex(ValueError, "cannot run 'no_such_program'"):
            occbench.trace(["no_such_program"])

    def test_a_sweep_without_the_program_that_measures_says_where_that_comes_from(self) -> None:
        if not (Path(os.environ["OCCBENCH_PROGRAM"]).parent / "sweep").exists():
            with self.assertRaisesRegex(ValueError, "part of builds with CUDA"):
                occbench.sweep("spin", block_size=[128, 256])


class Regions(unittest.TestCase):
    def test_where_nothing_traces_a_region_costs_less_than_a_microsecond(self) -> None:
        seconds = []
        for _ in range(7):
            begin = time.perf_counter()
            for _ in range(10_000):
                with occbench.region("attention"):
                    pass
            seconds.append(time.perf_counter() - begin)
        self.assertLess(min(seconds) / 10_000, 1e-6 * slower())

    def test_an_error_within_it_is_passed_on(self) -> None:
        with self.assertRaises(KeyError), occbench.region("attention"):
            raise KeyError


class UsageOfKernels(unittest.TestCase):
    """Of objects that have what Triton's, CuPy's and numba's have; the real ones are compared on a GPU."""

    def triton(self, registers: int = 40) -> SimpleNamespace:
        metadata = SimpleNamespace(num_warps=4, shared=16384, target=SimpleNamespace(arch=90))
        return SimpleNamespace(metadata=metadata, n_regs=registers)

    def test_triton_s_shared_memory_is_dynamic(self) -> None:
        used = occbench.usage(self.triton())
        self.assertEqual(used, {"registers": 40, "static_smem": 0, "dynamic_smem": 16384, "compute_capability": "9.0"})
        self.assertEqual(occbench.calc(**used, block_size=128).blocks_per_sm, 12)

    def test_a_triton_function_that_was_compiled_once_stands_for_its_kernel(self) -> None:
        caches = {0: ({"key": self.triton()}, None)}
        self.assertEqual(occbench.usage(SimpleNamespace(device_caches=caches))["registers"], 40)
        caches[0][0]["other"] = self.triton(64)
        with self.assertRaisesRegex(ValueError, "compiled 2 times"):
            occbench.usage(SimpleNamespace(device_caches=caches))
        with self.assertRaisesRegex(ValueError, "not compiled yet: launch it once"):
            occbench.usage(SimpleNamespace(device_caches={}))

    def test_cupy_s_attributes_are_taken(self) -> None:
        attributes = {"num_regs": 32, "shared_size_bytes": 2048, "binary_version": 121}
        self.assertEqual(
            occbench.usage(SimpleNamespace(attributes=attributes)),
            {"registers": 32, "static_smem": 2048, "dynamic_smem": 0, "compute_capability": "12.1"},
        )

    def test_what_is_no_kernel_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "builtins.int is no compiled kernel"):
            occbench.usage(5)

    def test_of_a_file_with_several_architectures_one_can_be_chosen(self) -> None:
        recorded = SOURCES / "tests" / "binary" / "cuobjdump"
        file = recorded / "resource_usage.txt"
        with mock.patch.dict(os.environ, {"PATH": f"{recorded}:{os.environ['PATH']}"}):
            for arch, capability in (("sm_80", "8.0"), ("9.0", "9.0")):
                used = occbench.usage(file, "reversed<256>", arch=arch)
                self.assertEqual((used["compute_capability"], used["static_smem"]), (capability, 1024))
            barriers = occbench.usage(file, "named_barriers", arch="sm_90")
            self.assertEqual((barriers["barriers"], barriers["cluster"]), (6, 1))
            self.assertNotIn("launch_bounds", barriers)
            self.assertEqual(occbench.calc(**barriers, block_size=64).limiter, "barriers")
            bounded = occbench.usage(file, "bounded", arch="sm_90")
            self.assertEqual(bounded["launch_bounds"], "1:256")
            self.assertEqual(occbench.calc(**bounded, block_size=256).theoretical_pct, 100)
            for beyond in (512, [256, 512]):
                with self.assertRaisesRegex(ValueError, "512: the launch bounds allow 1 to 256 threads per block"):
                    occbench.calc(**bounded, block_size=beyond)
            self.assertEqual(occbench.calc(**bounded, block_size=[128, 256]).warps_per_sm.tolist(), [64, 64])
            with self.assertRaisesRegex(ValueError, r"\(sm_80\), [^,]* \(sm_90\); choose one by name and arch"):
                occbench.usage(file, "reversed<256>")
            with self.assertRaisesRegex(ValueError, r"has 12 such kernels: .*, \.\.\.; choose"):
                occbench.usage(file)
            with self.assertRaisesRegex(ValueError, "no kernel has a name that name 'absent' is found in"):
                occbench.usage(file, "absent")
        with self.assertRaisesRegex(ValueError, "is no machine code.*, then kernel kernel.cubin"):
            occbench.usage(SOURCES / "tests" / "binary" / "kernels.cu")


class ThePackage(unittest.TestCase):
    def test_the_examples_of_its_documentation_are_true(self) -> None:
        for name in ("occbench", "occbench._command", "occbench._theory", "occbench._prediction", "occbench._programs"):
            found = doctest.testmod(importlib.import_module(name))
            self.assertEqual(found.failed, 0, name)

    def test_the_examples_of_its_page_are_true(self) -> None:
        page = SOURCES / "docs" / "python.md"
        tests = doctest.DocTestParser().get_doctest(page.read_text().replace("```", ""), {}, page.name, str(page), 0)
        with chdir(SOURCES):
            found = doctest.DocTestRunner().run(tests)
        self.assertGreater(found.attempted, 8)
        self.assertEqual(found.failed, 0)

    def test_the_notebook_runs_from_its_first_cell_to_its_last(self) -> None:
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(SOURCES / "examples" / "notebook.ipynb", as_version=4)
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(SOURCES / "examples")}}).execute()
        shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
        self.assertTrue(all(shown), "every cell shows something")
        self.assertIn("limited by registers", str(shown[1]))
        self.assertIn("vega-embed", str(shown[1]))
        self.assertIn("the last wave has 152 of 924 blocks", str(shown[4]))

    def test_its_types_are_checked_strictly(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", os.devnull],
            cwd=SOURCES,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_its_types_are_known_at_run_time(self) -> None:
        for name in occbench.__all__:
            typing.get_type_hints(getattr(occbench, name))

    def test_importing_it_needs_no_other_package(self) -> None:
        script = (
            "import sys; import occbench; occbench.calc('h200', block_size=32, registers=8);"
            "print([n for n in ('numpy', 'polars', 'altair', 'IPython') if n in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_results_draw_themselves_in_a_notebook_and_are_text_in_a_terminal(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        shown = []
        for result in (
            occbench.calc("h200", block_size=384, registers=44),
            occbench.curves("h200", block_size=384, registers=44),
            occbench.predict("h200", block_size=256, registers=20, grid=1320, work="equal:100us"),
            occbench.explain(SUITE, top=1)[0],
        ):
            data, _ = InteractiveShell.instance().display_formatter.format(result)
            self.assertEqual(data["text/plain"], repr(result))
            shown.append(data["text/html"])
        html = " ".join(shown)
        self.assertIn("65,536 / 18,432 = 3 blocks", html)
        self.assertIn("1,056 blocks of 256 threads", html)
        self.assertIn("shared memory per block, B", html)  # the title of an axis
        self.assertIn("vega-embed", html)


if __name__ == "__main__":
    unittest.main()
