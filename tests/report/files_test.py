"""What `occbench report` reads, refuses and writes; no browser."""

import csv
import gzip
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from xml.etree import ElementTree

import made_up
import polars as pl
import vl_convert
from occbench_tools.report import command, files, style


def before_scripts(page):
    return page.read_text(encoding="utf-8").split("<script", 1)[0]


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, text, name="rows.csv"):
        file = self.folder / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def page_of(self, *arguments):
        """What stands before its scripts, and what was said on standard error."""
        page = self.folder / "report.html"
        done = made_up.report(*arguments, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        return before_scripts(page), done.stderr


class WrongInput(InFolder):
    def refused(self, done, *words):
        self.assertEqual(done.returncode, 64, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse((self.folder / "report.html").exists())

    def test_a_file_that_is_no_file_of_rows_is_refused_with_its_line(self):
        for text, words in {
            "": ["empty"],
            "\n\n": ["empty"],
            "experiment,case\n": ["no row below"],
            "experiment,achieved_pct\nwaves,50\n": ["line 1", "case"],
            "experiment,case,achieved_pct\na,b,50\na,c,nan\n": ["line 3", "achieved_pct"],
            "experiment,case,achieved_pct\na,b,much\n": ["line 2", "achieved_pct", "much"],
            "experiment,case,time_us\na,b,inf\n": ["line 2", "time_us"],
            'experiment,case\na,"b\n': ["no row below"],
            "experiment,case\na,b,c\n": ["line 2", "3 cells"],
            "experiment,case,case\na,b,c\n": ["line 1", "twice"],
        }.items():
            with self.subTest(text):
                file = self.file(text)
                self.refused(made_up.report(file, "-o", self.folder / "report.html"), file.name, *words)

    def test_rows_are_never_overwritten(self):
        file = self.file("experiment,case\na,b\n")
        self.refused(made_up.report(file, "-o", file), "is a file that is read")
        self.assertEqual(file.read_text(), "experiment,case\na,b\n")

    def test_somebodys_page_is_never_overwritten(self):
        mine = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Mine</title>\n'
        for text in (mine, "<html><body>mine</body></html>\n", "<?xml version='1.0'?>\n"):
            page = self.file(text, "mine.html")
            for name, option in (("report", "-o"), ("fleet", "--page")):
                done = made_up.occbench(name, made_up.RECORDED, option, page)
                self.refused(done, "a file of another kind is there already")
                self.assertEqual(page.read_text(), text)

    def test_a_page_of_occbench_is_replaced_even_one_that_does_not_name_its_generator(self):
        rows = self.file("experiment,case\na,b\n")
        page = self.folder / "page.html"
        for before in ("", '<meta name="generator" content="occbench">\n'):
            self.assertEqual(made_up.report(rows, "-o", page).returncode, 0)
            text = page.read_text(encoding="utf-8")
            self.assertIn('<meta name="generator" content="occbench">', text)
            page.write_text(text.replace(before, "").replace("<h1>", "<h1>Older "), encoding="utf-8")
            self.assertEqual(made_up.report(rows, "-o", page).returncode, 0)
            self.assertNotIn("<h1>Older", page.read_text(encoding="utf-8"))

    def test_what_is_not_there_or_cannot_be_written_is_named(self):
        out = ["-o", self.folder / "report.html"]
        self.refused(made_up.report(self.folder / "none.csv", *out), "none.csv")
        self.refused(made_up.report(made_up.RECORDED, *out, "--timeline", self.folder / "no"), "--timeline")
        self.refused(made_up.report(made_up.RECORDED, "-o", self.folder / "no" / "r.html"), "cannot write")
        self.refused(made_up.report(made_up.RECORDED, *out, "--chart", "pie"), "pie", "waves")
        self.refused(made_up.report_by_processes(made_up.RECORDED, *out, OCCBENCH_PYTHON="/no/python"), "/no/python")

    def test_pictures_go_into_a_folder(self):
        file = self.file("not a folder", "pictures")
        self.refused(made_up.report(made_up.RECORDED, "--pictures", file), "--pictures", "name a folder")
        self.assertEqual(file.read_text(), "not a folder")

    def test_a_filter_takes_no_time_whatever_the_expression(self):
        rows = SimpleNamespace(frame=pl.DataFrame({"experiment": "waves", "case": "a" * 28_000 + "!"}))
        for expression in ("(a+)+$", "(a|aa)+$", "(a*)*b", "-a", "^(a?){36}a{36}$"):
            with self.assertRaisesRegex(files.WrongInput, "is found in the experiment/case of no row"):
                command.matching(rows, expression)
        file = self.file("experiment,case\na,b\n")
        for expression in ("(" * 16_000, "*", "a{1000000}"):
            done = made_up.report(file, "-o", self.folder / "report.html", "--filter", expression)
            self.refused(done, "is not a regular expression")

    def test_what_is_written_takes_no_place_of_what_is_no_file(self):
        fifo, circle, link = (self.folder / name for name in ("fifo", "circle", "link"))
        os.mkfifo(fifo)
        circle.symlink_to("circle")
        for file, why in (
            (fifo, "it is a FIFO"),
            (circle, "[Ss]ymlink loop|symbolic links"),
            (self.folder, "it is a folder"),
        ):
            with self.assertRaisesRegex(files.WrongInput, why):
                files.replace_text(file, "text")
        self.assertTrue(fifo.is_fifo())
        link.symlink_to("target")
        files.replace_text(link, "text")
        self.assertTrue(link.is_symlink())
        self.assertEqual((self.folder / "target").read_text(), "text")
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"fifo", "circle", "link", "target"})

    def test_a_python_without_the_packages_says_which_and_how_to_set_them_up(self):
        python = self.file(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', "python")
        python.chmod(0o755)
        out = ["-o", self.folder / "report.html"]
        done = made_up.report_by_processes(made_up.RECORDED, *out, OCCBENCH_PYTHON=str(python))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^occbench: .* has no package \w+; .*scripts/python --version sets it up\n$")

    def test_a_recording_over_time_without_its_columns_is_refused_with_its_file(self):
        folder = self.folder / "timeline"
        made_up.write(folder / "a.timeline.csv", [{"experiment": "waves", "case": "a", "time_us": 1}])
        done = made_up.report(made_up.RECORDED, "-o", self.folder / "report.html", "--timeline", folder)
        self.refused(done, "a.timeline.csv", "active_warps_pct")
        columns = ("experiment", "case", "time_us", "active_warps_pct", "predicted_active_warps_pct")
        made_up.write(folder / "a.timeline.csv", [dict(zip(columns, ("waves", "a", 1, "NaN", 2), strict=True))])
        done = made_up.report(made_up.RECORDED, "-o", self.folder / "report.html", "--timeline", folder)
        self.refused(done, "a.timeline.csv", "active_warps_pct", "NaN")

    def test_a_pipe_is_not_waited_for(self):
        recorded = shutil.copy(made_up.RECORDED, self.folder / "rows.csv")
        for kind in ("timeline", "per_sm"):
            (self.folder / kind).mkdir()
            pipe = self.folder / kind / f"a.{kind}.csv"
            os.mkfifo(pipe)
            done = made_up.report_by_processes(recorded, "-o", self.folder / "report.html")
            self.refused(done, f"a.{kind}.csv is no regular file")
            done = made_up.report_by_processes(pipe, "-o", self.folder / "report.html")
            self.refused(done, "reads its rows twice")
            pipe.unlink()

    def test_ctrl_c_ends_what_reads_a_pipe(self):
        pipe = self.folder / "pipe.csv"
        os.mkfifo(pipe)
        reads = "import sys; from pathlib import Path; from occbench_tools import dataset; dataset.read_text(Path(sys.argv[1]))"
        command = [sys.executable, "-c", reads, pipe]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as reader, pipe.open("wb"):
            reader.send_signal(signal.SIGINT)
            try:
                self.assertEqual(reader.wait(30), -signal.SIGINT)
            finally:
                reader.kill()


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        file = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "report.html"
        done = made_up.report_by_processes(made_up.RECORDED, "-o", file)
        assert done.returncode == 0, done.stderr
        cls.page = before_scripts(file)

    def test_it_loads_nothing_and_lets_nothing_of_a_row_run(self):
        page = self.page
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe-eval", policy)
        self.assertEqual(len(re.findall("'sha256-", policy)), 2)
        outside = re.findall(r'(?:src|href)="((?!#|data:).{0,80})', page)
        self.assertEqual(outside, [])

    def test_its_headline_is_what_the_rows_say(self):
        rows = [row for row in made_up.read() if row["achieved_pct"]]
        shown = re.findall(r"<dd>([\d,.]+) <small>([^<]*)</small>", self.page)
        self.assertEqual(shown[1][0], f"{len(rows):,}")
        for kind, (value, unit) in zip(("theoretical", "predicted"), shown[2:], strict=True):
            errors = [abs(float(row[f"{kind}_pct"]) - float(row["achieved_pct"])) for row in rows if row[f"{kind}_pct"]]
            self.assertEqual(value, f"{statistics.mean(errors):.1f}")
            self.assertEqual(unit, f"points over {len(errors):,} cases")


class Page(InFolder):
    def test_a_chart_whose_data_is_missing_is_left_out_and_named(self):
        rows = [row for row in made_up.read() if row["experiment"] == "waves"]
        page, said = self.page_of(made_up.write(self.folder / "rows.csv", rows))
        self.assertIn('id="waves"', page)
        self.assertNotIn('id="register_cliff"', page)
        self.assertRegex(page, r"<li>The register cliff: needs measured rows of one kernel that differ in registers")
        self.assertRegex(said, r"left out .*\bregister_cliff\b")

    def test_rows_whose_counter_read_nothing_are_drawn(self):
        rows = [row | {"achieved_pct": row["achieved_pct"] and "0"} for row in made_up.read()]
        page, said = self.page_of(made_up.write(self.folder / "rows.csv", rows))
        for name in ("agreement", "register_cliff", "waves"):
            self.assertIn(f'id="{name}"', page)
            self.assertNotIn(name, said)

    def test_empty_cells_in_quotes_are_empty(self):
        rows = made_up.read()[::5]
        file = self.folder / "quoted.csv"
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, rows[0], quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
        quoted, _ = self.page_of(file)
        plain, _ = self.page_of(made_up.write(self.folder / "quoted.csv", rows))
        self.assertEqual(quoted, plain)

    def test_the_largest_limit_takes_no_memory(self):
        rows = self.file("experiment,case\na,b\n")
        done = made_up.report_by_processes(rows, "-o", self.folder / "limit.html", "--max-size", f"{2**63 - 1}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rows_that_gzip_compressed_are_read(self):
        rows = Path(made_up.RECORDED).read_bytes()
        page, _ = self.page_of(self.file(gzip.compress(rows), "rows.csv.gz"), "--chart", "waves")
        self.assertIn('id="waves"', page)
        bomb = self.file(gzip.compress(b"0" * (8 << 20)), "bomb.csv")
        done = made_up.report(bomb, "-o", self.folder / "bomb.html", "--max-size", "1M")
        self.assertEqual(done.returncode, 64)
        self.assertIn("holds more than 1048576 bytes", done.stderr)

    def test_rows_without_counters_show_theory_and_prediction(self):
        rows = [row | {"achieved_pct": "", "achieved_elapsed_pct": ""} for row in made_up.read()]
        page, _ = self.page_of(made_up.write(self.folder / "rows.csv", rows))
        for chart in ("losses", "waves", "imbalance", "register_cap", "register_cliff"):
            self.assertIn(f'id="{chart}"', page)
        self.assertRegex(page, "<li>How far from the counter: no row has a value in achieved_pct")

    def test_rows_that_nothing_measured_have_no_checks_and_no_time(self):
        page, _ = self.page_of(made_up.ROOT / "results/kernels/sm_90.csv")
        self.assertNotIn("checks are ok", page)
        self.assertNotIn("most time", page)
        measured = [row for row in made_up.read() if row["experiment"] == "waves"]
        page, _ = self.page_of(made_up.write(self.folder / "rows.csv", measured))
        self.assertIn("checks are ok", page)
        unchecked = [row | {"check": "none"} for row in measured]
        page, _ = self.page_of(made_up.write(self.folder / "rows.csv", unchecked))
        self.assertNotIn("checks are ok", page)
        self.assertNotIn("Rows to look at", page)

    def test_the_time_of_a_program_is_rounded_once(self):
        program = {"experiment": "trace", "launches": 1, "theoretical_pct": 50, "achieved_pct": 25}
        rows = [program | {"case": f"{us}", "total_time_us": us} for us in (12200.04, 49.97)]
        page, _ = self.page_of(made_up.write(self.folder / "program.csv", rows), "--chart", "programs")
        self.assertIn("<dd>12.3 <small>ms in 2 launches</small>", page)
        self.assertIn("2 kernel configurations took 12.3 ms.", page)

    def test_simulated_rows_are_called_so_first(self):
        rows = [row | {"time_status": "simulated"} for row in made_up.read() if row["experiment"] == "waves"]
        page = self.folder / "report.html"
        done = made_up.report(made_up.write(self.folder / "rows.csv", rows), "--chart", "waves", "-o", page)
        self.assertTrue(done.stdout.startswith("SIMULATED: "), done.stdout)
        self.assertRegex(before_scripts(page), "<h1>Simulated, not measured: ")

    def test_a_last_line_that_was_being_written_is_no_row(self):
        file = self.file('experiment,case,note\na,b,"of\ntwo lines"\na,c,\na,d,"torn\n')
        page, _ = self.page_of(file)
        self.assertRegex(page, r"<dd>2 <small>in 1 experiments?</small>")

    def test_two_commits_are_laid_over_each_other(self):
        rows = made_up.read()
        other = made_up.write(self.folder / "other.csv", made_up.other_run(rows))
        both = made_up.write(self.folder / "both.csv", [*made_up.other_run(rows[:5]), *rows[:5]])
        of_most = statistics.mode(row["commit"][:12] for row in rows)
        page, _ = self.page_of(both, "--chart", "differences")
        self.assertIn(f"{rows[0]['commit'][:12]} against 0123456789ab: 5 cases in common", page)
        page, _ = self.page_of(made_up.RECORDED, other, "--chart", "differences")
        counted = [float(row["achieved_pct"]) for row in rows if row["achieved_pct"]]
        sentence = re.search(r'id="differences-sentence">([^<]*)', page)[1]
        self.assertIn(f"0123456789ab against {of_most}: {len(rows):,} cases in common", sentence)
        self.assertIn(f"differs by {0.1 * statistics.mean(counted):.2f} points on average", sentence)
        self.assertIn("time by × 1.250 at the median", sentence)

    def test_one_file_twice_is_no_difference(self):
        copy = self.folder / "copy.csv"
        copy.write_bytes(made_up.RECORDED.read_bytes())
        page, _ = self.page_of(made_up.RECORDED, copy, "--chart", "differences")
        self.assertIn("differs by 0.00 points on average and 0.0 at most", page)


class OddRows(InFolder):
    # The least and the most that a reader accepts, and what is nearly nothing.
    ODD = {"_pct": ["", "0", "1000", "1e-300"], "_points": ["", "0", "-10000", "10000"]}
    ODD_OTHERS = ("", "0", "1e18", "1e-300")

    def test_cells_that_are_empty_nought_huge_or_negative_make_a_page(self):
        odd = random.Random(7)
        numbers = [
            name for name in made_up.read()[0] if name.endswith(("_pct", "_points", "_us", "throughput", "waves"))
        ]
        for share in (0.1, 0.6):
            rows = made_up.read()
            for row in rows:
                # Sorted: the order of a set differs from run to run, and with it the draws.
                for name in sorted(row.keys() - {"experiment", "case"}):
                    if odd.random() < share:
                        real = name in numbers and name != "carveout_pct"
                        ending = next((ending for ending in self.ODD if name.endswith(ending)), None)
                        row[name] = odd.choice(self.ODD.get(ending, self.ODD_OTHERS)) if real else ""
            with self.subTest(share=share):
                page, said = self.page_of(made_up.write(self.folder / "rows.csv", rows))
                self.assertIn('id="agreement"', page)
                self.assertNotIn("Traceback", said)


class Curves(InFolder):
    """Of a kernel, as a picture by two commands, without a GPU."""

    def setUp(self):
        super().setUp()
        asked = ["calc", "--curves", "--cc=9.0", "--registers=33", "--block-size=512", "--format=csv"]
        written = subprocess.run([made_up.OCCBENCH, *asked], capture_output=True, check=True)
        self.rows = self.file(written.stdout, "curves.csv")

    def test_are_drawn_and_say_what_the_next_step_down_is(self):
        done = made_up.report(self.rows, "--pictures", self.folder, "--chart=curves")
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = (self.folder / "curves.svg").read_text(encoding="utf-8")
        for title in ("threads per block", "registers per thread", "shared memory per block, B"):
            self.assertIn(title, picture)
        text = (self.folder / "curves.json").read_text(encoding="utf-8")
        self.assertIn("512 threads per block, 33 registers per thread and 0 B of shared memory", text)
        self.assertIn("75 % in theory", text)
        # 41 registers are allocated as 48: two blocks of 512 threads.
        self.assertIn("41 registers per thread give 50 %", text)

    def test_make_a_page_whose_other_charts_fail_for_nothing_of_ours(self):
        page, said = self.page_of(self.rows)
        self.assertIn('id="curves"', page)
        self.assertIn("left out for want of rows, as the page's end says: agreement, ", said)
        self.assertIn("<li>How far from the counter: no row has a value in achieved_pct", page)
        self.assertIn("<li>The register cliff: needs measured rows of one kernel that differ in registers", page)

    def test_pass_the_gate_against_themselves(self):
        done = subprocess.run([made_up.OCCBENCH, "gate", self.rows, self.rows], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class StandardOutput(InFolder):
    """Of the Python part, which ends as the other commands do where it cannot be written."""

    def ended(self, file, options, *, before=(), **standard):
        rows = self.file(made_up.RECORDED.read_bytes())
        command = [*before, made_up.OCCBENCH, "report", rows, "--chart=losses", *options]
        done = subprocess.run(
            command,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"OCCBENCH_PYTHON": sys.executable},
            **standard,
        )
        self.assertNotIn("Traceback", done.stderr)
        self.assertTrue(file.exists(), done.stderr)
        file.unlink()
        return done.returncode, "standard output could not be written" in done.stderr

    def test_that_is_full_closed_or_not_read_any_more(self):
        page, picture = self.folder / "page.html", self.folder / "losses.json"
        of_picture = ["--pictures", self.folder, "--picture-format=json"]
        for file, options in ((page, ["-o", page]), (picture, of_picture)):
            for unbuffered in ("", "1"):
                with (
                    self.subTest(file.name, unbuffered=unbuffered),
                    mock.patch.dict(os.environ, PYTHONUNBUFFERED=unbuffered),
                ):
                    with open("/dev/full", "w") as full:
                        self.assertEqual(self.ended(file, options, stdout=full), (64, True))
                    closed = ["sh", "-c", 'exec "$@" >&-', "sh"]
                    self.assertEqual(self.ended(file, options, before=closed), (64, True))
                    end, pipe = os.pipe()
                    os.close(end)
                    with open(pipe, "w") as unread:
                        self.assertEqual(self.ended(file, options, stdout=unread), (141, False))


class Pictures(InFolder):
    def drawn(self, *arguments, folder=None, formats=("json",)):
        """Where the pictures are, and what the command said."""
        folder = folder or self.folder / "pictures"
        of_formats = [f"--picture-format={name}" for name in formats]
        done = made_up.report(*arguments, "--pictures", folder, *of_formats)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder, done

    def test_each_chart_that_is_not_left_out_is_svg_png_and_vega_lite(self):
        from occbench_tools.report.charts import CHARTS

        made_up.write_recordings(self.folder)
        rows = self.file(made_up.RECORDED.read_bytes())
        folder, done = self.drawn(rows, formats=())
        self.assertEqual(sorted(done.stdout.split()), sorted(map(str, folder.iterdir())))
        left_out = set(re.findall(r"left out: (\w+): .", done.stderr))
        drawn = {chart.name for chart in CHARTS} - left_out
        self.assertEqual({file.stem for file in folder.iterdir()}, drawn)
        # These need rows of other commands, or a second run.
        self.assertEqual(left_out, {"curves", "differences", "programs", "sweep_points", "sweeps"})
        for chart in drawn:
            svg = (folder / f"{chart}.svg").read_text()
            self.assertTrue(svg.startswith("<svg "), chart)
            ElementTree.fromstring(svg)
            self.assertNotIn("var(--", svg)
            self.assertEqual((folder / f"{chart}.png").read_bytes()[:4], b"\x89PNG")
            self.assertIn("vega-lite", json.loads((folder / f"{chart}.json").read_text())["$schema"])

    def test_the_charts_do_not_depend_on_the_names_of_experiments_and_kernels(self):
        renamed = [
            line | {"experiment": f"my_{line['experiment']}", "kernel": f"my_{line['kernel']}"}
            for line in made_up.read()
        ]
        drawn = []
        for name, lines in (("own", made_up.read()), ("renamed", renamed)):
            rows = made_up.write(self.folder / f"{name}.csv", lines)
            folder, _ = self.drawn(rows, folder=self.folder / name)
            drawn.append({file.stem: file.read_text() for file in folder.iterdir()})
        own, other = drawn
        self.assertEqual(other.keys() - own.keys(), {"sweep_points", "sweeps"})
        self.assertEqual(own.keys() - other.keys(), set())
        for chart in ("calculator", "register_cap", "tail_remedies"):
            self.assertEqual(own[chart], other[chart])
        for chart, kernel in (("register_cliff", "live_registers"), ("waves", "spin")):
            self.assertEqual(own[chart], other[chart].replace(f"my_{kernel}", kernel))

    def test_a_filter_draws_the_curves_of_the_rows_that_it_names(self):
        chosen = ("--filter", "^block_size/.*block_threads=768", "--chart", "calculator_of_launches")
        folder, _ = self.drawn(made_up.RECORDED, *chosen)
        drawn = json.loads((folder / "calculator_of_launches.json").read_text())
        self.assertIn("768 threads", drawn["description"])
        nothing = made_up.report(made_up.RECORDED, "--filter", "no/such=case", "-o", self.folder / "page.html")
        self.assertEqual(nothing.returncode, 64)
        self.assertIn("--filter no/such=case", nothing.stderr)
        broken = made_up.report(made_up.RECORDED, "--filter", "(", "-o", self.folder / "page.html")
        self.assertEqual(broken.returncode, 64)
        self.assertNotIn("Traceback", broken.stderr)

    def test_one_chart_in_one_format(self):
        folder, _ = self.drawn(made_up.RECORDED, "--chart", "waves", formats=["svg"])
        self.assertEqual([file.name for file in folder.iterdir()], ["waves.svg"])

    def test_of_each_format_only_a_picture_is_replaced(self):
        # Another program's, of the libraries that ours are drawn with, too.
        vega = '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" class="marks" width="9" height="9"></svg>'
        foreign = [
            *(("svg", b"<?xml version='1.0'?><mine/>"), ("svg", b"<svg/>"), ("svg", vega.encode())),
            *(("png", b"\x89PNG mine"), ("png", vl_convert.svg_to_png(vega)), ("json", b'{"mine": 1}\n')),
        ]
        for name, text in foreign:
            with self.subTest(name, text=text[:9]):
                file = self.file(text, f"waves.{name}")
                done = made_up.report(made_up.RECORDED, "--chart=waves", "--pictures", self.folder)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertIn(f"waves.{name}: a file of another kind is there already", done.stderr)
                self.assertIn("move it away or name another folder", done.stderr)
                self.assertEqual([each.read_bytes() for each in self.folder.iterdir()], [text], "none is written")
                file.unlink()
        for _ in range(2):
            self.drawn(made_up.RECORDED, "--chart=waves", folder=self.folder, formats=())

    def test_a_picture_that_cannot_be_written_is_known_before_another_is(self):
        (self.folder / "waves.png").mkdir()
        done = made_up.report(made_up.RECORDED, "--chart=waves", "--pictures", self.folder)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertIn("waves.png: it is a folder", done.stderr)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["waves.png"])

    def of_odd_names(self, *columns):
        """Rows in whose names are characters that no SVG may hold."""
        rows = [row for row in made_up.read() if row["experiment"] == "waves"][:4]
        for column in columns:
            rows = [row | {column: row[column] + "\x1b\x07\x08\x00\x9b\uffff"} for row in rows]
        return made_up.write(self.folder / "odd.csv", rows)

    def test_characters_that_no_picture_can_hold_are_shown_by_their_codes(self):
        folder = self.folder / "pictures"
        python = {"OCCBENCH_PYTHON": sys.executable}  # a process: the renderer could end this one
        rows = self.of_odd_names("gpu", "experiment", "case", "kernel", "variant")
        done = made_up.report_by_processes(rows, "--pictures", folder, **python)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        svgs = {file.stem: ElementTree.fromstring(file.read_text()) for file in folder.glob("*.svg")}
        self.assertLessEqual({"agreement", "losses", "calculator_of_launches"}, svgs.keys())
        self.assertIn(r"waves\u001b\u0007\u0008", "".join(svgs["agreement"].itertext()))
        self.assertTrue(all(text.isprintable() or text == "\n" for svg in svgs.values() for text in svg.itertext()))

    def test_a_picture_that_ends_its_renderer_is_left_out_and_the_others_are_drawn(self):
        with mock.patch.object(style, "printable", str):
            done = made_up.report(self.of_odd_names("kernel"), "--pictures", self.folder / "pictures")
        self.assertEqual(done.returncode, 70, done.stderr)
        self.assertIn("left out: calculator_of_launches: its renderer failed: ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        drawn = {file.name for file in (self.folder / "pictures").iterdir()}
        self.assertLessEqual({"losses.svg", "losses.png", "losses.json"}, drawn)
        self.assertNotIn("calculator_of_launches.json", drawn)

    def test_where_none_of_those_asked_for_can_be_drawn_the_status_says_so(self):
        rows = self.file("experiment,case\na,b\n")
        for asked in (["--chart=waves"], []):
            done = made_up.report(rows, *asked, "--pictures", self.folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, "left out: waves: .")
            self.assertEqual(list(self.folder.iterdir()), [rows])
        done = made_up.report(rows, "--chart=waves", "-o", self.folder / "page.html")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "left out: waves: .")

    def test_the_script_wants_a_folder(self):
        script = made_up.ROOT / "scripts" / "plot"
        done = subprocess.run([script, made_up.RECORDED], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--pictures", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
