"""What is between the marks of a text is what the rows say, and nothing else of it is touched."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import readme  # noqa: E402


def written(text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.md"
        file.write_text(text, encoding="utf-8")
        return readme.written(file)


class Texts(unittest.TestCase):
    def test_a_figure_that_the_rows_do_not_have_is_replaced_and_prose_is_not(self):
        stale = "Prose of 99.9 %.\n<!-- waves: figures -->\n- 1 wave takes 12.3 µs.\n<!-- end -->\nMore prose.\n"
        text = written(stale)
        self.assertTrue(text.startswith("Prose of 99.9 %.\n<!-- waves: figures -->\n- 1, 2, 3 and 4 waves take "))
        self.assertTrue(text.endswith("<!-- end -->\nMore prose.\n"))
        self.assertNotIn("12.3", text)
        self.assertEqual(written(text), text)

    def test_a_block_that_nothing_writes_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "nothing writes the block <!-- waves: figure -->"):
            written("<!-- waves: figure -->\n<!-- end -->\n")

    def test_every_block_is_in_a_text(self):
        marks = "".join(file.read_text(encoding="utf-8") for file in readme.texts())
        for name in readme.BLOCKS:
            if name.endswith((": claim", ": findings")):
                continue  # an experiment may have been written and not recorded yet
            self.assertIn(f"<!-- {name} -->\n", marks)


if __name__ == "__main__":
    unittest.main()
