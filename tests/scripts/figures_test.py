"""What is between the marks of a text is what the rows say, and nothing else of it is touched."""

import tempfile
import unittest
from pathlib import Path

import made_up
import polars as pl
from occbench_tools import WrongInput, experiments
from occbench_tools.dataset import Results
from occbench_tools.figures.command import blocks, texts, written
from occbench_tools.markdown import of_most
from occbench_tools.program import RESULTS, Claim

CLAIMS = [Claim("waves", "a partial last wave leaves SMs idle", "a document")]
BLOCKS = blocks(CLAIMS)
RECORDED = Results(RESULTS, made_up.OCCBENCH)


class Texts(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

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


if __name__ == "__main__":
    unittest.main()
