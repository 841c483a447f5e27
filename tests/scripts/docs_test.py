"""Each page of docs/ begins with a command. Those that need no GPU are run as they stand; the others say `sh gpu`."""

import csv
import functools
import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
OCCBENCH = Path(os.environ["OCCBENCH"])
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "glossary.md")
FENCE = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE_OF_A_WHEEL = re.compile(r"^```sh wheel\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE_OF_A_GPU = re.compile(r"^```sh gpu\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def heading_anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


class Pages(unittest.TestCase):
    def test_each_begins_with_a_title_and_a_command(self):
        self.assertTrue(PAGES)
        for page in PAGES:
            with self.subTest(page=page.name):
                title, fence = page.read_text(encoding="utf-8").splitlines()[:2]
                self.assertTrue(title.startswith("# "))
                self.assertIn(fence, ("```sh", "```sh gpu", "```sh wheel"))

    def test_their_commands_that_need_no_gpu_run_as_they_stand(self):
        (ROOT / "build").mkdir(exist_ok=True)
        for older in (ROOT / "build").glob("imported*"):
            older.unlink()  # it would be kept under another name, run after run
        environment = os.environ | {"PATH": f"{OCCBENCH.parent}:{os.environ['PATH']}"}
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            wheels = sorted(ROOT.glob("build/wheels*/*.whl"), key=os.path.getmtime)
            of_a_wheel = FENCE_OF_A_WHEEL.findall(text) if wheels else []
            of_a_wheel = [one.replace("build/wheels/occbench-*.whl", str(wheels[-1])) for one in of_a_wheel]
            for commands in FENCE.findall(text) + of_a_wheel:
                with self.subTest(page=page.name, commands=commands):
                    shell = ["bash", "-euo", "pipefail", "-c", commands]
                    done = subprocess.run(shell, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr)

    def test_their_commands_that_need_a_gpu_ran_on_one_as_they_stand(self):
        recorded = set()
        for file in sorted((ROOT / "results").glob("*/commands.csv")):
            with file.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    recorded.add((row["page"], row["commands"]))
                    self.assertEqual(row["status"], "0", row["commands"])
        fences = {
            (page.name, fence) for page in PAGES for fence in FENCE_OF_A_GPU.findall(page.read_text(encoding="utf-8"))
        }
        self.assertEqual(recorded - fences, set(), "scripts/docs_on_gpu records them again")
        self.assertEqual(fences - recorded, set(), "scripts/docs_on_gpu records them")

    def test_their_links_lead_to_files_and_headings(self):
        for page in [*PAGES, ROOT / "docs/glossary.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
            for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
                if ":" in target:
                    continue
                with self.subTest(page=page.name, target=target + anchor):
                    file = page.parent / target
                    self.assertTrue(file.exists())
                    if anchor:
                        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                        self.assertIn(anchor[1:], map(heading_anchor, headings))


@functools.cache
def printed_by(*arguments: str) -> str:
    done = subprocess.run([OCCBENCH, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"


def output(command: str) -> str:
    """Of what stands in a cell of questions.md: the arguments of occbench, or `rows REGEX [FILE]`, whose lines are those that
    `explain` with this --filter prints."""
    name, *arguments = shlex.split(command.replace("\\|", "|"), posix=False)
    if name != "rows":
        return printed_by(name, *arguments)
    expression, *files = arguments
    lines = printed_by("explain", "--format", "lines", "--top", "0", *files).splitlines()
    return "\n".join(line for line in lines if re.search(expression.strip("'"), line.split()[0]))


class Questions(unittest.TestCase):
    def rows(self):
        page = (ROOT / "docs/questions.md").read_text(encoding="utf-8").partition("## Imbalance")[0]
        for line in page.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 4 and cells[0] != "sentence" and set(cells[0]) != {"-"}:
                yield cells

    def test_each_command_answers_what_stands_beside_it(self):
        for sentence, command, answer, _ in self.rows():
            if not command.startswith("`"):
                continue
            with self.subTest(sentence=sentence, command=command):
                printed = output(command.strip("`"))
                self.assertFalse(printed.startswith("status "), printed)
                for text in re.findall(r"\*\*(.+?)\*\*", answer):
                    if command.startswith("`rows") and NUMBER.fullmatch(text):
                        measured = map(float, NUMBER.findall(printed))
                        self.assertTrue(any(abs(value / float(text) - 1) <= 0.03 for value in measured), printed)
                    else:
                        self.assertRegex(printed, rf"(?<![\w.,]){re.escape(text)}(?![\w]|[.,]\d)")

    def test_at_least_130_sentences_are_answered_and_each_with_a_verdict(self):
        rows = list(self.rows())
        self.assertGreaterEqual(len(rows), 140)
        verdicts = ("holds", "partly", "no", "simplified", "explained", "out of scope")
        for sentence, command, _, verdict in rows:
            with self.subTest(sentence=sentence):
                self.assertIn(verdict.partition(":")[0], verdicts)
                self.assertTrue(command.startswith("`") or "](" in command or verdict == "out of scope")
        self.assertGreaterEqual(sum(verdict != "out of scope" for *_, verdict in rows), 130)


class Length(unittest.TestCase):
    """What a reader has patience for: `wc -w`, notes aside."""

    def test_of_the_front_page(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertLessEqual(len(text.splitlines()), 95)
        self.assertLessEqual(len(text.split()), 850)

    def test_of_all_pages_and_of_the_longest(self):
        words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("*.md")}
        self.assertLessEqual(
            sum(words.values()), 19_000, "words of docs/*.md: shorten a page, or move what few need to docs/notes"
        )
        self.assertLessEqual(words["any-program.md"], 1_800)
        self.assertLessEqual(words["prediction.md"], 2_200)


if __name__ == "__main__":
    unittest.main()
