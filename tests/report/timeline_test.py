"""A recorded `occbench trace --timeline` in Perfetto's page, by the distribution's Chromium."""

import gzip
import json
import sys
import unittest
from pathlib import Path

from page_test import chromium, setUpModule, sync_playwright  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

import perfetto  # noqa: E402

TIMELINE = ROOT / "results/nvidia-h100-80gb-hbm3/programs/timeline.json.gz"


class Timeline(unittest.TestCase):
    def test_of_a_recorded_program_is_imported_whole(self):
        events = json.loads(gzip.decompress(TIMELINE.read_bytes()))["traceEvents"]
        windows = [
            (round(1000 * event["ts"]), round(1000 * (event["ts"] + event["dur"])))
            for event in events
            if event["name"] == "sampled"
        ]
        self.assertGreater(len(windows), 3)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium())
            page = browser.new_page()
            with perfetto.opened(page, TIMELINE, *windows[-1]) as ask:
                self.assertEqual(ask("select name from stats where severity != 'info' and value > 0"), [])
                self.assertEqual(
                    sorted(ask("select name from counter_track")),
                    [["SMs active %"], ["occupancy %"], ["resident blocks of known kernels"]],
                )
                [[slices]] = ask("select count() from slice")
                self.assertEqual(int(slices), sum(event["ph"] == "X" for event in events))
                outside = " and ".join(f"not (ts >= {begin} and ts < {end})" for begin, end in windows)
                [[held, kept]] = ask(f"select count(), max(value) from counter where {outside}")
                self.assertGreaterEqual(int(held), 2 * len(windows), "each window ends its counters")
                self.assertEqual(float(kept), 0, "a counter has a value between windows")
            browser.close()


if __name__ == "__main__":
    unittest.main()
