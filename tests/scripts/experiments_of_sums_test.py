"""The rules for races, atomics, reductions and remedies at equal work, on made-up rows."""

import unittest

from made_up import run_of
from occbench_tools import experiments
from occbench_tools.verdicts import verdict


def verdict_of(experiment, run):
    return verdict(experiments.findings(run.of(experiment)))


def race_row(form, adders, check, case):
    return {
        "experiment": "data_race",
        "case": case,
        "achieved_pct": 50,
        "time_us": 5,
        "check": check,
        "lost_updates_pct": 0 if check == "ok" else 99,
        "parameters": f"form={form};adders={adders};sms=132;blocks=132",
    }


def race(losing, samples):
    """Adds of every thread without an atomic, and with one."""
    rows = [race_row("plain", "thread", losing, "plain"), race_row("atomic", "thread", "ok", "atomic")]
    lines = [("data_race", "plain", "lost_updates_pct", i, value) for i, value in enumerate(samples)]
    return run_of(rows, lines)


def reduction_row(by, grid, time):
    return {
        "experiment": "reductions",
        "variant": by,
        "achieved_pct": 90,
        "time_us": time,
        "throughput": 2.7e14 / time,
        "dram_bytes": 2.7e8,
        "parameters": f"by={by};grid={grid}",
    }


def remedy_row(remedy, throughput):
    return {
        "experiment": "equal_work",
        "variant": "plain",
        "achieved_pct": 90,
        "time_us": 1e9 / throughput,
        "throughput": throughput,
        "parameters": f"problem=lognormal;remedy={remedy}",
    }


def form_row(time, form="atomic_ref", scope="device"):
    return {
        "experiment": "atomic_forms",
        "variant": f"{form}_float32_{scope}",
        "achieved_pct": 90,
        "time_us": time,
        "throughput": 1e9 / time,
        "parameters": f"addresses=one;form={form};type=float32;scope={scope}",
    }


class Sums(unittest.TestCase):
    def test_lost_updates_support_the_claim_only_if_their_number_differs(self):
        self.assertEqual(verdict_of("data_race", race("lost_updates", [99.0, 98.5])), "holds")
        same = verdict_of("data_race", race("lost_updates", [99.0, 99.0]))
        self.assertEqual(same, "partly holds (not: load, add, store by every thread, repeated)")

    def test_a_race_that_loses_nothing_contradicts_the_claim(self):
        lost = "load, add, store by every thread"
        self.assertEqual(verdict_of("data_race", race("ok", [0, 0])), f"partly holds (not: {lost}; {lost}, repeated)")

    def test_a_scope_that_costs_time_contradicts_the_claim(self):
        rows = [form_row(10), form_row(400, form="compare_swap"), form_row(14, form="ordered")]
        self.assertEqual(verdict_of("atomic_forms", run_of([*rows, form_row(10.2, scope="system")])), "holds")
        wide = run_of([*rows, form_row(12, scope="system")])
        self.assertEqual(verdict_of("atomic_forms", wide), "partly holds (not: system scope, one address)")

    def test_blocks_of_one_warp_are_no_part_of_the_claim_on_remedies(self):
        rows = [remedy_row("none", 100), remedy_row("queue_of_warps", 150), remedy_row("blocks_of_32", 90)]
        self.assertEqual(verdict_of("equal_work", run_of(rows)), "holds")
        narrower = run_of([*rows, remedy_row("blocks_of_64", 101)])
        self.assertEqual(verdict_of("equal_work", narrower), "partly holds (not: lognormal warps, blocks of 64)")

    def test_a_reduction_counts_by_the_faster_of_its_grids(self):
        rows = [reduction_row("nothing", "wave", 60), reduction_row("shuffle", "load_a_thread", 90)]
        self.assertEqual(verdict_of("reductions", run_of(rows)), "does not hold")
        rows.append(reduction_row("shuffle", "wave", 61))
        self.assertEqual(verdict_of("reductions", run_of(rows)), "holds")

    def test_an_atomic_a_thread_that_costs_nothing_contradicts_the_claim(self):
        rows = [reduction_row("nothing", "wave", 60), reduction_row("shuffle", "load_a_thread", 61)]
        dear, free = (reduction_row("thread", "load_a_thread", time) for time in (900, 61))
        self.assertEqual(verdict_of("reductions", run_of([*rows, dear])), "holds")
        self.assertEqual(
            verdict_of("reductions", run_of([*rows, free])), "partly holds (not: an atomic a thread, a load a thread)"
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
