"""The rules for races, atomics, reductions, remedies for the tail and at equal work, on made-up rows."""

import unittest

from made_up import run_of
from occbench_tools import experiments
from occbench_tools.experiments import atomic_forms, data_race
from occbench_tools.verdicts import verdict

LOST = "load, add, store by every thread"
REPEATED = f"{LOST}, repeated"


def verdict_of(experiment, run):
    return verdict(experiments.findings(run.of(experiment)))


def race_row(form, adders="thread", blocks=132, left=(1,)):
    """A case of up to 132 SMs and the samples of its launches; `left` updates remain after each."""
    updates = blocks * (256 if adders == "thread" else 1)
    lost = [100 * (updates - each) / updates for each in left]
    row = {
        "experiment": "data_race",
        "case": f"{form}_{adders}_{blocks}",
        "block_threads": 256,
        "grid_blocks": blocks,
        "sm_count": 132,
        "sm_cycles_active_avg": 500 * min(blocks, 132) / 132,
        "sm_cycles_active_max": 500,
        "achieved_pct": 50,
        "time_us": 5,
        "check": "ok" if left == (updates,) else "lost_updates",
        "note": f"{sorted(lost)[len(lost) // 2]} % of updates lost",
        "parameters": f"form={form};adders={adders};sms={min(blocks, 132)};blocks={blocks}",
    }
    return row, [("data_race", row["case"], "lost_updates_pct", i, value) for i, value in enumerate(lost)]


def races(*cases):
    """The experiment with these cases, and with the atomic, which loses nothing."""
    rows, samples = zip(*cases, race_row("atomic", left=(132 * 256,)), strict=True)
    return run_of(list(rows), sum(samples, [])).of("data_race")


def measured_of(findings, name):
    return next(finding.measured for finding in findings if finding.name == name)


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


def tail_row(remedy, throughput):
    return {
        "experiment": "tail_remedies",
        "achieved_pct": 80,
        "time_us": 1e6 / throughput,
        "throughput": throughput,
        "parameters": f"remedy={remedy};waves=1.50;shape=equal",
    }


def form_row(time, form="atomic_ref", scope="device", addresses="one"):
    return {
        "experiment": "atomic_forms",
        "grid_blocks": 2112,
        "variant": f"{form}_float32_{scope}",
        "achieved_pct": 90,
        "time_us": time,
        "throughput": 1e9 / time,
        "parameters": f"addresses={addresses};form={form};type=float32;scope={scope}",
    }


class Sums(unittest.TestCase):
    def test_lost_updates_support_the_claim_only_if_their_number_differs(self):
        differing = experiments.findings(races(race_row("plain", left=(1, 2, 1))))
        self.assertEqual(verdict(differing), "holds")
        same = experiments.findings(
            races(race_row("plain", left=(1, 1, 1)), race_row("plain", blocks=8448, left=(60, 60)))
        )
        self.assertEqual(verdict(same), f"partly holds (not: {REPEATED})")
        self.assertEqual(measured_of(same, REPEATED), "the same result in every launch of 2 grids")

    def test_a_result_that_differs_in_any_grid_differs_and_the_grid_is_named(self):
        grids = (race_row("plain", left=(1, 1, 1)), race_row("plain", blocks=8448, left=(57, 64, 57, 60)))
        findings = experiments.findings(races(*grids))
        self.assertEqual(verdict(findings), "holds")
        self.assertEqual(measured_of(findings, REPEATED), "3 different results in 4 launches, 8,448 blocks")

    def test_of_several_grids_that_differ_the_one_with_most_results_is_named(self):
        grids = [race_row("plain", blocks=blocks, left=left) for blocks, left in ((132, (1, 2, 3)), (8448, (6, 7, 7)))]
        measured = measured_of(experiments.findings(races(*grids)), REPEATED)
        self.assertEqual(measured, "3 different results in 3 launches, 132 blocks")

    def test_of_two_grids_that_differ_alike_the_larger_is_named(self):
        grids = [race_row("plain", blocks=blocks, left=(6, 7)) for blocks in (8448, 1056)]
        measured = measured_of(experiments.findings(races(*grids)), REPEATED)
        self.assertEqual(measured, "2 different results in 2 launches, 8,448 blocks")

    def test_a_race_launched_once_says_nothing_of_repeats(self):
        self.assertEqual(
            [finding.name for finding in experiments.findings(races(race_row("plain")))], [LOST, "atomics"]
        )

    def test_a_race_that_loses_nothing_contradicts_the_claim(self):
        findings = experiments.findings(races(race_row("plain", left=(132 * 256,))))
        self.assertEqual(verdict(findings), f"partly holds (not: {LOST})")

    def test_few_updates_that_remain_of_millions_are_counted_and_not_rounded_away(self):
        cells = data_race.cases(races(race_row("plain", blocks=8448, left=(57, 64, 60)))).splitlines()[-1]
        self.assertEqual(cells, "| 8,448 | 132 | 132 | 2,162,688 | 57 to 64 |  |  |  |")

    def test_a_grid_used_at_least_as_many_sms_as_its_cycles_need(self):
        row, samples = race_row("plain", blocks=16)
        few = row | {"sm_cycles_active_min": 0, "sm_cycles_active_avg": 500 * 12.4 / 132}
        self.assertEqual(data_race.fewest_sms(races((few, samples)).rows.head(1)), 13)
        every = row | {"sm_cycles_active_min": 400, "sm_cycles_active_avg": 450}
        self.assertEqual(data_race.fewest_sms(races((every, samples)).rows.head(1)), 132)

    def test_medians_of_cycles_that_are_a_little_apart_prove_no_further_sm(self):
        row, samples = race_row("plain", blocks=2)
        row |= {"sm_cycles_active_avg": 500 * 2.01 / 132}
        self.assertEqual(data_race.fewest_sms(races((row, samples)).rows.head(1)), 2)

    def test_a_scope_that_costs_time_contradicts_the_claim(self):
        rows = [form_row(10), form_row(400, form="compare_swap"), form_row(14, form="ordered")]
        self.assertEqual(verdict_of("atomic_forms", run_of([*rows, form_row(10.2, scope="system")])), "holds")
        wide = run_of([*rows, form_row(12, scope="system")])
        self.assertEqual(verdict_of("atomic_forms", wide), "partly holds (not: system scope, one address)")

    def test_a_finding_on_atomics_names_its_grid(self):
        rows = [form_row(10), form_row(400, form="compare_swap")]
        findings = experiments.findings(run_of(rows).of("atomic_forms"))
        self.assertEqual(findings[0].measured, "40.00 × the relaxed add's time, 2,112 blocks")

    def test_what_the_default_order_costs_is_told_against_relaxed_adds_of_the_same_scope(self):
        times = {"block": (10, 10), "device": (12, 16), "system": (20, 50)}
        pairs = [
            form_row(time, form, scope, "one_a_thread")
            for scope, pair in times.items()
            for form, time in zip(("atomic_ref", "ordered"), pair, strict=True)
        ]
        told = atomic_forms.figures(run_of(pairs).of("atomic_forms"))
        self.assertTrue(told.endswith(": 100 % (block), 75 % (device), 40 % (system)."), told)

    def test_a_remedy_for_the_tail_gains_from_a_twentieth_of_throughput_on(self):
        rows = [tail_row("plain", 100), tail_row("shorter_blocks", 105), tail_row("persistent", 104)]
        self.assertEqual(verdict_of("tail_remedies", run_of(rows)), "partly holds (not: persistent with equal work)")

    def test_remedies_beyond_the_claim_on_tails_are_told_and_not_judged(self):
        rows = [tail_row("plain", 100), tail_row("shorter_blocks", 130)]
        others = [tail_row("wider_blocks", 104), tail_row("two_streams", 106), tail_row("clusters", 80)]
        findings = experiments.findings(run_of([*rows, *others]).of("tail_remedies"))
        self.assertEqual(verdict(findings), "holds")
        self.assertEqual(
            [finding.measured for finding in findings[1:]],
            ["throughput × 1.04, no gain", "throughput × 1.06, a gain", "throughput × 1.25, a gain"],
        )

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
