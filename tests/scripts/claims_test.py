"""The rules behind the README's table of claims, on made-up rows."""

import csv
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import claims  # noqa: E402


def run_of(rows, samples=()):
    """A run read from files, as recorded ones are."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.csv"
        columns = sorted({name for row in rows for name in row})
        with file.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, columns)
            writer.writeheader()
            writer.writerows(rows)
        with file.with_suffix(".samples.csv").open("w", newline="") as lines:
            csv.writer(lines).writerows([("experiment", "case", "quantity", "index", "value"), *samples])
        return claims.Run([file])


def block_size_row(threads, achieved):
    return {
        "experiment": "block_size",
        "variant": "plain",
        "block_threads": threads,
        "achieved_pct": achieved,
        "time_us": 1000,
        "parameters": f"block_threads={threads}",
    }


def cliff_row(body, registers, achieved, time, padded=""):
    return {
        "experiment": "register_cliff",
        "block_threads": 512,
        "registers_per_thread": registers,
        "theoretical_pct": 100 if registers == 31 and not padded else 75,
        "achieved_pct": achieved,
        "time_us": time,
        "parameters": f"body={body};block_threads=512" + (f";padded_as={padded}" if padded else ""),
    }


class Verdicts(unittest.TestCase):
    def test_a_claim_holds_only_if_every_finding_bears_it_out(self):
        good, bad = claims.Finding("a", True, ""), claims.Finding("b", False, "")
        self.assertEqual(claims.verdict([good, good]), "holds")
        self.assertEqual(claims.verdict([good, bad]), "holds except: b")
        self.assertEqual(claims.verdict([bad, bad]), "does not hold")
        self.assertEqual(claims.verdict([]), "not measured")

    def test_a_block_size_that_misses_its_claimed_occupancy_is_named(self):
        run = run_of(
            [
                block_size_row(32, 49.9),
                block_size_row(64, 99.8),
                block_size_row(768, 66.6),
            ]
        )
        self.assertEqual(claims.verdict(claims.block_size(run)), "holds except: 768 threads")

    def test_rows_without_counters_are_not_taken_for_measurements(self):
        self.assertEqual(claims.block_size(run_of([block_size_row(32, "")])), [])

    def test_a_cliff_that_costs_the_throughput_bound_kernel_no_time_is_an_exception(
        self,
    ):
        run = run_of(
            [
                cliff_row("latency", 31, 99, 1000),
                cliff_row("latency", 33, 74.5, 1320),
                cliff_row("latency", 31, 74.6, 1310, padded=33),
                cliff_row("throughput", 31, 97, 1000),
                cliff_row("throughput", 33, 73, 1010),
            ]
        )
        self.assertEqual(
            claims.verdict(claims.register_cliff(run)),
            "holds except: time of the throughput-bound kernel",
        )

    def test_a_control_that_is_as_fast_as_before_the_cliff_speaks_against_occupancy(
        self,
    ):
        run = run_of(
            [
                cliff_row("latency", 31, 99, 1000),
                cliff_row("latency", 33, 74.5, 1320),
                cliff_row("latency", 31, 74.6, 1000, padded=33),
            ]
        )
        self.assertEqual(
            claims.verdict(claims.register_cliff(run)),
            "holds except: latency-bound control",
        )

    def test_the_fastest_cap_must_beat_both_ends(self):
        def run(times):
            return run_of(
                [
                    {
                        "experiment": "register_cap",
                        "variant": f"cap_{cap}",
                        "block_threads": 256,
                        "registers_per_thread": cap,
                        "spill_bytes": 1000 - cap,
                        "achieved_pct": 3200 / cap,
                        "time_us": time,
                        "parameters": "block_threads=256",
                    }
                    for cap, time in times.items()
                ]
            )

        self.assertEqual(
            claims.verdict(claims.register_cap(run({32: 900, 64: 500, 168: 700}))),
            "holds",
        )
        self.assertEqual(
            claims.verdict(claims.register_cap(run({32: 900, 64: 800, 168: 700}))),
            "holds except: the fastest",
        )

    def test_blocks_that_start_in_order_on_this_gpu_are_said_so(self):
        row = {
            "experiment": "placement",
            "case": "c",
            "achieved_pct": 50,
            "time_us": 1,
            "sm_count": 4,
            "parameters": "",
        }
        sms = [("placement", "c", "trace_sm", block, sm) for block, sm in enumerate((0, 2, 1, 3))]
        run = run_of([row], [*sms, ("placement", "c", "trace_out_of_order", 0, 0)])
        self.assertEqual(
            claims.verdict(claims.placement(run)),
            "holds except: the order of starts on this GPU",
        )


class Table(unittest.TestCase):
    def test_every_experiment_has_a_claim_a_source_and_a_rule(self):
        names = [claim.experiment for claim in claims.read_claims()]
        self.assertEqual(names, sorted(file.stem for file in (ROOT / "bench").glob("*.cpp")))
        self.assertTrue(all(claim.claim and claim.source for claim in claims.read_claims()))
        self.assertEqual(set(names), set(claims.FINDINGS))

    def test_an_experiment_that_was_not_run_says_so(self):
        lines = claims.table(run_of([block_size_row(32, 50)]), claims.read_claims()).splitlines()
        self.assertEqual(len(lines), 2 + len(claims.read_claims()))
        self.assertTrue(lines[2].endswith("| 32: 50.0 % | holds |"))
        self.assertTrue(all(line.endswith("|  | not measured |") for line in lines[3:]))


if __name__ == "__main__":
    unittest.main()
