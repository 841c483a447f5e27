"""The page of `occbench fleet`, from lines as the command prints them."""

import json
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

try:
    from occbench_tools import WrongInput
    from occbench_tools.report.fleet import MOST_IN_LINE, read_lines, write_fleet_page
except ImportError as error:
    raise unittest.SkipTest("the report's packages are not set up: run scripts/python --version") from error

HOSTILE = '"><script>window.ran = 1</script>'


def gpu(number: int, **more) -> dict:
    distances = {"sm_clock": 0.01 * number, "gpc_clock": 0.0, "bandwidth": None, "l2": None, "counters": 0.0}
    return {
        "gpu_uuid": f"GPU-{number}",
        "host": "node",
        "gpu": "NVIDIA H200",
        "recorded_at": "2026-11-23T00:00:00Z",
        "verdict": "in line",
        "why_no_verdict": "",
        "distances": distances,
        "findings": [],
    } | more


def finding(**more) -> dict:
    return {
        "cause": "sm_clock",
        "size": -1.0,
        "unit": "%",
        "named_from": 0.4,
        "note": False,
        "sentence": "SM clock 1.00 % below the median.",
        "worst_case": "waves/one_block",
        "against": "peers",
        "since": "",
    } | more


class Elements(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def of(self, tag: str, name: str = "") -> list[dict]:
        return [each for found, each in self.tags if found == tag and name in each.get("class", "")]


class FleetPage(unittest.TestCase):
    def test_has_a_row_for_each_gpu_and_a_chart_for_each_quantity_that_was_measured(self):
        page = Elements(write_fleet_page([gpu(number) for number in range(5)]))
        self.assertEqual(len(page.of("tr")), 1 + 5)
        self.assertEqual(len(page.of("svg")), 5 * 3)

    def test_marks_only_the_quantity_that_is_named(self):
        outlier = gpu(9, verdict="out of line", findings=[finding()])
        text = write_fleet_page([outlier, gpu(0), gpu(1)])
        page = Elements(text)
        self.assertEqual(len(page.of("tr", "out")), 1)
        self.assertEqual(len(page.of("td", "named")), 1)
        self.assertIn("SM clock 1.00 % below the median.", text)
        self.assertIn("named from 0.4 %; furthest in waves/one_block", text)
        self.assertIn("3 GPUs on 1 node: 1 out of line.", text)

    def test_has_the_remarks_of_the_table_once(self):
        said = "left out of the baseline: 1 of 8 GPUs"
        self.assertEqual(write_fleet_page([gpu(number, remarks=[said]) for number in range(3)]).count(said), 1)

    def test_simulated_rows_are_called_so_first(self):
        self.assertIn(
            "<h1>Simulated, not measured: a fleet", write_fleet_page([gpu(0, simulated=True), gpu(1, simulated=True)])
        )
        self.assertIn("<h1>A fleet", write_fleet_page([gpu(0, simulated=False), gpu(1, simulated=False)]))

    def test_puts_a_lower_value_to_the_left(self):
        marks = Elements(write_fleet_page([gpu(-1), gpu(0), gpu(1)])).of("circle")
        places = [float(mark["cx"]) for mark in marks[::3]]
        self.assertEqual(places, sorted(places))
        self.assertLess(places[0], places[2])

    def test_shows_all_findings_and_leaves_out_the_many_that_are_in_line(self):
        many = [gpu(number) for number in range(MOST_IN_LINE + 30)]
        last = gpu(5000, findings=[finding(note=True)])
        text = write_fleet_page([*many, last])
        self.assertIn("GPU-5000", text)
        self.assertIn("30 more GPUs are in line", text)

    def test_runs_nothing_that_rows_contain(self):
        named = finding(sentence=HOSTILE, worst_case=HOSTILE)
        hostile = gpu(0, gpu_uuid=HOSTILE, host=HOSTILE, findings=[named], remarks=[HOSTILE])
        page = Elements(write_fleet_page([hostile, gpu(1) | {"gpu": HOSTILE}]))
        self.assertEqual(page.of("script"), [])

    def test_refuses_what_the_command_did_not_print(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "fleet.jsonl"
            for text in ("", "[]\n", '{"gpu_uuid": 1}\n', "schema,recorded_at\n"):
                file.write_text(text, encoding="utf-8")
                with self.subTest(text=text), self.assertRaises(WrongInput):
                    read_lines(file)
            file.write_text(json.dumps(gpu(0)) + "\n", encoding="utf-8")
            self.assertEqual(len(read_lines(file)), 1)


if __name__ == "__main__":
    unittest.main()
