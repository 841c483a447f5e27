"""The rules behind the table of claims, on made-up rows."""

import random
import unittest

from made_up import ROOT, read_run, row_of, run_of
from occbench_tools import WrongInput, experiments
from occbench_tools.dataset import Experiment, pick
from occbench_tools.experiments import atomic_forms, data_race, imbalance_within_block, latency_hiding, placement
from occbench_tools.figures.command import table_of_claims
from occbench_tools.program import Claim
from occbench_tools.verdicts import Finding, measured, verdict


def verdict_of(experiment, run):
    return verdict(experiments.findings(run.of(experiment)))


def block_size_row(threads, achieved):
    cells = {"variant": "plain", "block_threads": threads, "achieved_pct": achieved}
    return row_of("block_size", {"block_threads": threads}, **cells)


def cliff_row(body, registers, achieved, time, padded=""):
    parameters = {"body": body, "block_threads": 512} | ({"padded_as": padded} if padded else {})
    theory = 100 if registers == 31 and not padded else 75
    cells = {"theoretical_pct": theory, "achieved_pct": achieved, "time_us": time}
    return row_of("register_cliff", parameters, block_threads=512, registers_per_thread=registers, **cells)


class Verdicts(unittest.TestCase):
    def test_a_claim_holds_only_if_every_finding_supports_it(self):
        good, bad = Finding("a", True, ""), Finding("b", False, "")
        self.assertEqual(verdict([good, good]), "holds")
        self.assertEqual(verdict([good, bad]), "partly holds (not: b)")
        self.assertEqual(verdict([bad, bad]), "does not hold")
        self.assertEqual(verdict([]), "not measured")

    def test_a_finding_of_which_the_claim_says_nothing_changes_no_verdict(self):
        good, bad, beyond = Finding("a", True, ""), Finding("b", False, ""), Finding("c", None, "")
        self.assertEqual(verdict([good, beyond]), "holds")
        self.assertEqual(verdict([bad, beyond]), "does not hold")
        self.assertEqual(verdict([beyond]), "not measured")

    def test_a_block_size_that_misses_its_claimed_occupancy_is_named(self):
        run = run_of([block_size_row(32, 49.9), block_size_row(64, 99.8), block_size_row(768, 66.6)])
        self.assertEqual(verdict_of("block_size", run), "partly holds (not: 768 threads)")

    def test_rows_without_counters_are_not_taken_for_measurements(self):
        self.assertEqual(experiments.findings(run_of([block_size_row(32, "")]).of("block_size")), [])

    def test_a_cliff_that_costs_the_throughput_bound_kernel_no_time_is_an_exception(self):
        run = run_of(
            [
                cliff_row("latency", 31, 99, 1000),
                cliff_row("latency", 33, 74.5, 1320),
                cliff_row("latency", 31, 74.6, 1310, padded=33),
                cliff_row("throughput", 31, 97, 1000),
                cliff_row("throughput", 33, 73, 1010),
            ]
        )
        self.assertEqual(verdict_of("register_cliff", run), "partly holds (not: time of the throughput-bound kernel)")

    def test_a_control_that_is_as_fast_as_before_the_cliff_contradicts_the_claim_on_occupancy(self):
        run = run_of(
            [
                cliff_row("latency", 31, 99, 1000),
                cliff_row("latency", 33, 74.5, 1320),
                cliff_row("latency", 31, 74.6, 1000, padded=33),
            ]
        )
        self.assertEqual(verdict_of("register_cliff", run), "partly holds (not: latency-bound control)")

    def test_the_fastest_cap_must_beat_both_ends(self):
        def run(times):
            rows = []
            for cap, time in times.items():
                launch = {"block_threads": 256, "registers_per_thread": cap, "spill_bytes": 1000 - cap}
                measured = {"achieved_pct": 3200 / cap, "time_us": time}
                cells = {"variant": f"cap_{cap}"} | launch | measured
                rows.append(row_of("register_cap", {"block_threads": 256}, **cells))
            return run_of(rows)

        self.assertEqual(verdict_of("register_cap", run({32: 900, 64: 500, 168: 700})), "holds")
        self.assertEqual(
            verdict_of("register_cap", run({32: 900, 64: 800, 168: 700})), "partly holds (not: the fastest)"
        )

    def test_a_tail_has_findings_over_active_and_over_elapsed_cycles(self):
        read = (("0.75", 75.2, 74.9), ("1.25", 86.3, 62.4), ("1.50", 74.6, 80.0))
        run = run_of(
            [
                row_of("waves", {"waves": waves}, waves=waves, theoretical_pct=100, achieved_pct=pct)
                | {"achieved_elapsed_pct": elapsed}
                for waves, pct, elapsed in read
            ]
        )
        self.assertEqual(
            verdict_of("waves", run), "partly holds (not: achieved at 1.25 waves; over elapsed cycles at 1.50 waves)"
        )

    def test_few_long_warps_in_many_leave_less_empty_than_their_blocks_places(self):
        self.assertAlmostEqual(100 / imbalance_within_block.longest_of("slow_16", 8), 100 * (7 + 16) / (8 * 16))
        self.assertAlmostEqual(imbalance_within_block.longest_of("uniform_1", 1), 1)
        self.assertAlmostEqual(imbalance_within_block.longest_of("bimodal_2", 1), 1)
        self.assertAlmostEqual(imbalance_within_block.longest_of("bimodal_1", 10**6), 8 / 1.7)

    def test_a_gpu_of_which_the_claim_on_shared_memory_says_nothing_is_not_judged_by_it(self):
        launch = {"block_threads": 256, "dynamic_shared_bytes": 102400, "blocks_per_sm": 1}
        row = row_of("shared_memory", {"block_threads": 256}, theoretical_pct=12.5, achieved_pct=12.5, **launch)
        for capability, expected in ("9.0", "partly holds (not: 100 KB)"), ("8.0", "holds"):
            run = run_of([row | {"compute_capability": capability}])
            self.assertEqual(verdict_of("shared_memory", run), expected)


def placement_run(**launches):
    """Of one case; each launch is a list of (SM, start in ns), a pair a block."""
    row = {"experiment": "placement", "case": "c", "achieved_pct": 50, "time_us": 1, "parameters": ""}
    samples = [
        ("placement", "c", f"{prefix}_{quantity}", block, value)
        for prefix, blocks in launches.items()
        for block, pair in enumerate(blocks)
        for quantity, value in zip(("sm", "start_ns"), pair, strict=True)
    ]
    return run_of([row], samples)


class Placement(unittest.TestCase):
    def test_two_launches_that_place_and_order_alike_support_nothing(self):
        blocks = [(0, 0), (2, 32), (1, 64), (3, 96)]
        run = placement_run(trace=blocks, trace_again=blocks)
        self.assertEqual(verdict_of("placement", run), "does not hold")

    def test_blocks_on_other_sms_in_the_same_order_are_half_of_the_claim(self):
        run = placement_run(trace=[(0, 0), (1, 32), (2, 96)], trace_again=[(1, 0), (0, 64), (2, 96)])
        self.assertEqual(verdict_of("placement", run), "partly holds (not: the order; ascending starts)")

    def test_starts_one_step_of_the_clock_apart_are_simultaneous(self):
        near = placement_run(trace=[(0, 0), (1, 32), (2, 96)], trace_again=[(1, 32), (0, 0), (2, 96)])
        self.assertEqual(verdict_of("placement", near), "partly holds (not: the order; ascending starts)")
        far = placement_run(trace=[(0, 0), (1, 64), (2, 96)], trace_again=[(1, 64), (0, 0), (2, 96)])
        self.assertEqual(verdict_of("placement", far), "partly holds (not: ascending starts)")

    def test_a_later_block_that_starts_earlier_by_more_than_a_step_is_out_of_order(self):
        self.assertTrue(placement.starts_ascending([0, 32, 0, 64], 32))
        self.assertFalse(placement.starts_ascending([0, 64, 0, 64], 32))

    def test_replacement_after_equal_and_after_uneven_blocks_is_told_apart(self):
        gaps = {"equal": 150, "uneven_blocks": 470, "uneven_warps": 9}
        rows = [row_of("placement", {"shape": shape}, case=shape, sm_count=1, blocks_per_sm=1) for shape in gaps]
        samples = [
            ("placement", shape, f"trace_{quantity}", 0, value)
            for shape, gap in gaps.items()
            for quantity, value in {"sm": 0, "start_ns": 0, "replacement_latency_cycles": gap}.items()
        ]
        told = placement.figures(run_of(rows, samples).of("placement"))
        self.assertIn("150 cycles at the median (150 to 150) with equal blocks, 470 cycles", told)

    def test_an_order_that_differs_is_found_wherever_it_is(self):
        for seed in range(50):
            random_numbers = random.Random(seed)
            one, other = ([random_numbers.randrange(12) for _ in range(6)] for _ in range(2))
            pairs = [(i, j) for i in range(6) for j in range(6)]
            expected = any(one[i] + 2 < one[j] and other[j] + 2 < other[i] for i, j in pairs)
            self.assertEqual(placement.swapped(one, other, 2), expected, (one, other))


def hiding_row(kernel, variant, theory, throughput, **parameters):
    blocks = theory and int(theory * 64 / 100 / 4)
    device = {"compute_capability": "9.0", "sm_count": 100, "sm_clock_mhz": 1000}
    launch = {"block_threads": 128, "blocks_per_sm": blocks, "grid_blocks": blocks and 100 * blocks}
    read = {"theoretical_pct": theory, "achieved_pct": theory or 50, "throughput": throughput}
    return row_of("latency_hiding", parameters, kernel=kernel, variant=variant, **device, **launch, **read)


class EnoughOccupancy(unittest.TestCase):
    """A made-up device of 100 SMs at 1 GHz, whose schedulers each start 32 multiply-adds a cycle of 4 cycles latency."""

    def rows(self):
        peak = 100 * 128 * 1e9
        one_chain = [
            hiding_row("fma_chains", "multiply_add_1", pct, min(1, pct / 25) * peak, chains=1, blocks_per_sm=blocks)
            for pct, blocks in ((6.25, 1), (12.5, 2), (25, 4), (50, 8), (100, 16))
        ]
        # A warp of 8 loads of 16 bytes has 4096 bytes under way; a load takes 1000 cycles.
        reads = [
            hiding_row("reads", "bytes_16_in_flight_8", pct, min(1, pct / 12.5) * 4e12, bytes=16, in_flight=8)
            for pct in (6.25, 12.5, 50)
        ]
        latency = hiding_row("pointer_chase", "plain", 50, 1e6, memory="device")
        return [*one_chain, *reads, latency, hiding_row("reads", "copy", "", 3.9e12)]

    def test_the_least_occupancy_with_nearly_the_best_throughput_is_enough(self):
        run = run_of(self.rows())
        chains = pick(run.of("latency_hiding").rows, kernel="fma_chains")
        self.assertEqual(latency_hiding.enough(chains)["theoretical_pct"], 25)
        self.assertEqual(verdict_of("latency_hiding", run), "holds")

    def test_littles_law_asks_for_latency_times_throughput_over_what_a_warp_has_in_flight(self):
        rows = run_of(self.rows()).of("latency_hiding").rows
        first = latency_hiding.enough(pick(rows, kernel="fma_chains"))
        self.assertAlmostEqual(latency_hiding.little_pct(rows, first, 100 * 128 * 1e9), 25)
        reads = latency_hiding.enough(pick(rows, variant="bytes_16_in_flight_8"))
        # 4e12 B/s x 1 us over 100 SMs is 40,000 B, and 64 warps of 4096 B are 262,144.
        self.assertAlmostEqual(latency_hiding.little_pct(rows, reads, 4e12), 100 * 40_000 / 262_144)

    def test_reads_below_what_a_copy_moves_are_named(self):
        rows = [row | {"throughput": 4.2e12} if row["variant"] == "copy" else row for row in self.rows()]
        self.assertEqual(verdict_of("latency_hiding", run_of(rows)), "partly holds (not: reads at their peak)")


class PipeSaturation(unittest.TestCase):
    """One chain a thread, its pipe full from a quarter of the warps on."""

    def found(self, used):
        rows = []
        for theory, pct in used.items():
            read = {
                "theoretical_pct": theory,
                "achieved_pct": theory,
                "unit_use": f"fma={pct};xu=1",
                "throughput": pct * 1e11,
            }
            parameters = {"pipe": "fp32", "chains": 1, "blocks_per_sm": theory * 16 // 100}
            rows.append(row_of("pipe_saturation", parameters, **read))
        return experiments.findings(run_of(rows).of("pipe_saturation"))

    def test_a_step_after_the_first_full_one_that_gets_less_done_is_named(self):
        found = self.found({12.5: 50, 25: 100, 37.5: 75, 50: 98, 100: 99})
        self.assertEqual(verdict(found), "does not hold")
        self.assertEqual(
            found[0].measured,
            "100.0 % of the pipe at 25 % occupancy; lowest later: × 0.75 at 37.5 %, highest: × 0.99 at 100 %",
        )
        self.assertTrue(measured(found).endswith("fp32, 1: 100 at 25, × 0.75 at 37.5"))

    def test_steps_that_get_as_much_done_support_the_claim_and_more_does_not(self):
        self.assertEqual(verdict(self.found({12.5: 50, 25: 96, 37.5: 97, 50: 95, 100: 96})), "holds")
        self.assertEqual(verdict(self.found({12.5: 50, 25: 95, 50: 100, 100: 95})), "does not hold")

    def test_a_pipe_that_no_step_fills_does_not_support_the_claim(self):
        found = self.found({25: 40, 100: 90})
        self.assertEqual(verdict(found), "does not hold")
        self.assertEqual(found[0].measured, "90.0 % of the pipe at 100 % occupancy")


class GridSync(unittest.TestCase):
    def row(self, grid, status, note=""):
        nothing = {"achieved_pct": "", "time_us": "", "check": "ok" if status == "ok" else ""}
        return row_of("grid_sync", {"grid": grid}, variant="grid", time_status=status, note=note, **nothing)

    def test_one_block_more_has_to_be_refused_and_not_only_skipped(self):
        limit = self.row("limit", "ok")
        refused = self.row("limit_plus_one", "skipped", "a cooperative grid of 5 blocks is refused, as expected")
        self.assertEqual(verdict_of("grid_sync", run_of([limit, refused])), "holds")
        skipped = self.row("limit_plus_one", "skipped", "no code for this GPU")
        self.assertEqual(verdict_of("grid_sync", run_of([limit, skipped])), "partly holds (not: one block more)")

    def test_a_cost_of_which_one_half_was_not_measured_is_left_out_and_the_others_are_judged(self):
        rows = [self.row("limit", "ok"), self.row("limit_plus_one", "skipped", "is refused")]
        counted = self.row("", "ok") | {"block_threads": 256, "achieved_pct": 50, "time_us": 1}
        for blocks, rate_of in (1, {"grid": 1e6, "alone": 2e6}), (4, {"grid": 0.5e6, "alone": 2e6}), (8, {"grid": 1e5}):
            parameters = f"blocks_per_sm={blocks}"
            rows += [
                counted | {"variant": variant, "throughput": rate, "parameters": parameters}
                for variant, rate in rate_of.items()
            ]
        found = {finding.name: finding for finding in experiments.findings(run_of(rows).of("grid_sync"))}
        self.assertTrue(found["its cost"].holds)
        self.assertEqual(found["its cost"].measured, "0.50 µs with 1 block of 256 an SM, 1.50 with 4")


CLAIMS = [Claim(name, f"the claim of {name}", "a document") for name in experiments.MODULES]


class Volkov(unittest.TestCase):
    def rows(self, together):
        def case(body, results, blocks, time):
            named = {"body": body, "results": results, "blocks_per_sm": blocks}
            return row_of("lower_occupancy_faster", named, time_us=time)

        return run_of(
            [case("product", 1, 8, 100), case("product", 8, 2, 60), case("walks_in_turn", 1, 8, 100)] + together(case)
        )

    def test_a_quarter_of_the_warps_has_to_be_faster_in_every_kernel(self):
        self.assertEqual(verdict_of("lower_occupancy_faster", self.rows(lambda case: [])), "holds")
        slower = self.rows(lambda case: [case("walks_in_turn", 8, 2, 300)])
        self.assertEqual(verdict_of("lower_occupancy_faster", slower), "partly holds (not: N walks in turn)")


class LaunchBounds(unittest.TestCase):
    def verdict(self, capped_time, spilled_time):
        def case(way, blocks, spills, time):
            named = {"way": way, "min_blocks": blocks}
            return row_of("launch_bounds", named, spill_bytes=spills, registers_per_thread=256 // blocks, time_us=time)

        return verdict_of(
            "launch_bounds",
            run_of(
                [
                    case("launch_bounds", 1, 0, 100),
                    case("launch_bounds", 2, 300, spilled_time),
                    case("maxrregcount", 2, 300, capped_time),
                ]
            ),
        )

    def test_both_ways_are_as_fast_and_a_spill_pays(self):
        self.assertEqual(self.verdict(60, 60), "holds")
        self.assertEqual(self.verdict(80, 60), "partly holds (not: the same fastest)")
        self.assertEqual(self.verdict(100, 120), "partly holds (not: spills that pay)")


class EligibleWarps(unittest.TestCase):
    def verdict(self, bound_by, eligible, issue):
        named = {"bound_by": bound_by}
        halves = [
            row_of("eligible_warps", named, theoretical_pct=theory, eligible_warps=warps, issue_active_pct=share)
            for theory, warps, share in zip((50, 100), eligible, issue, strict=True)
        ]
        return verdict_of("eligible_warps", run_of(halves))

    def test_twice_the_warps_help_work_that_waits_and_nothing_that_is_full(self):
        self.assertEqual(self.verdict("latency", (0.2, 0.4), (10, 20)), "holds")
        self.assertEqual(self.verdict("latency", (0.2, 0.2), (10, 10)), "does not hold")
        self.assertEqual(self.verdict("xu", (0.5, 0.5), (12, 12)), "holds")
        self.assertEqual(self.verdict("fp32", (5, 11), (99, 99)), "partly holds (not: eligible, fp32)")


class BlockSizeTime(unittest.TestCase):
    def test_sizes_within_the_range_are_fast_and_those_outside_are_slow(self):
        def verdict(times):
            rows = [
                row_of("block_size_time", {"block_threads": size}, variant="copy", time_us=time)
                for size, time in times.items()
            ]
            return verdict_of("block_size_time", run_of(rows))

        self.assertEqual(verdict({32: 200, 128: 100, 512: 104, 1024: 120}), "holds")
        self.assertEqual(verdict({32: 200, 128: 100, 512: 108, 1024: 120}), "partly holds (not: copy, 128 to 512)")
        self.assertEqual(verdict({32: 101, 128: 100, 512: 100, 1024: 100}), "partly holds (not: copy, 32; copy, 1024)")


class AtomicOperations(unittest.TestCase):
    def test_each_operation_is_compared_with_an_addition_on_as_many_addresses(self):
        def verdict(swap_time):
            times = {"add": 100, "sub": 100, "compare_swap": swap_time}
            named = {"addresses": "one"}
            rows = [
                row_of("atomic_operations", named | {"operation": name}, time_us=time) for name, time in times.items()
            ]
            return verdict_of("atomic_operations", run_of(rows))

        self.assertEqual(verdict(103), "holds")
        self.assertEqual(verdict(150), "partly holds (not: compare_swap, one address)")


class Table(unittest.TestCase):
    def test_an_experiment_that_was_not_run_says_so(self):
        lines = table_of_claims({"a GPU": run_of([block_size_row(32, 50)])}, CLAIMS).splitlines()
        self.assertEqual(len(lines), 2 + len(CLAIMS))
        measured = [line for line in lines[2:] if not line.endswith("|  | not measured |")]
        self.assertEqual(len(measured), 1)
        self.assertTrue(measured[0].endswith("| 32: 50.0 % | holds |"))

    def test_what_was_measured_is_said_in_a_line_of_at_most_200_characters(self):
        run = read_run(ROOT / "results" / "nvidia-h200" / "full.csv")
        for name in experiments.MODULES:
            self.assertLessEqual(len(measured(experiments.findings(run.of(name)))), 200, name)


class NotRecorded(unittest.TestCase):
    """A new experiment has no rows yet; where counters are closed, it has rows without them."""

    def test_no_experiment_has_findings_or_figures_without_rows(self):
        uncounted = {"block_threads": 256, "time_us": 1, "parameters": "body=latency", "time_status": "ok"}
        for name in experiments.MODULES:
            for run in (run_of([{"experiment": "another"}]), run_of([uncounted | {"experiment": name}])):
                with self.subTest(name):
                    self.assertEqual(list(experiments.findings(run.of(name))), [])
                    for block in experiments.MODULES[name].BLOCKS:
                        self.assertEqual(experiments.block(run.of(name), block), "Not recorded yet.")

    def test_a_part_of_the_suite_names_the_rows_that_a_figure_lacks(self):
        run = run_of([block_size_row(32, 50)])
        with self.assertRaisesRegex(WrongInput, "block_size has 0 measured rows of block_threads=1, variant=plain"):
            experiments.block(run.of("block_size"), "cases")

    def test_an_experiment_without_a_module_is_told_where_it_belongs(self):
        run = run_of([block_size_row(32, 50)])
        with self.assertRaisesRegex(WrongInput, r"experiments/unheard_of\.py is not there.*findings"):
            experiments.findings(Experiment("unheard_of", run.rows, run.samples))


LOST = "load, add, store by every thread"
REPEATED = f"{LOST}, repeated"


def race_row(form, adders="thread", blocks=132, left=(1,)):
    """A case of up to 132 SMs and the samples of its launches; `left` updates remain after each."""
    updates = blocks * (256 if adders == "thread" else 1)
    lost = [100 * (updates - each) / updates for each in left]
    named = {"form": form, "adders": adders, "sms": min(blocks, 132), "blocks": blocks}
    cycles = {"sm_cycles_active_avg": 500 * min(blocks, 132) / 132, "sm_cycles_active_max": 500}
    launch = {"block_threads": 256, "grid_blocks": blocks, "sm_count": 132}
    row = row_of("data_race", named, case=f"{form}_{adders}_{blocks}", **launch, **cycles) | {
        "check": "ok" if left == (updates,) else "lost_updates",
        "note": f"{sorted(lost)[len(lost) // 2]} % of updates lost",
    }
    return row, [("data_race", row["case"], "lost_updates_pct", i, value) for i, value in enumerate(lost)]


def races(*cases):
    """The experiment with these cases, and with the atomic, which loses nothing."""
    rows, samples = zip(*cases, race_row("atomic", left=(132 * 256,)), strict=True)
    return run_of(list(rows), sum(samples, [])).of("data_race")


def measured_of(findings, name):
    return next(finding.measured for finding in findings if finding.name == name)


def reduction_row(by, grid, time):
    read = {"achieved_pct": 90, "time_us": time, "throughput": 2.7e14 / time, "dram_bytes": 2.7e8}
    return row_of("reductions", {"by": by, "grid": grid}, variant=by, **read)


def remedy_row(remedy, throughput):
    named = {"problem": "lognormal", "remedy": remedy}
    return row_of("equal_work", named, variant="plain", time_us=1e9 / throughput, throughput=throughput)


def tail_row(remedy, throughput):
    named = {"remedy": remedy, "waves": "1.50", "shape": "equal"}
    return row_of("tail_remedies", named, time_us=1e6 / throughput, throughput=throughput)


def form_row(time, form="atomic_ref", scope="device", addresses="one"):
    named = {"addresses": addresses, "form": form, "type": "float32", "scope": scope}
    return row_of("atomic_forms", named, grid_blocks=2112, time_us=time, throughput=1e9 / time)


class Sums(unittest.TestCase):
    def test_lost_updates_support_the_claim_only_if_their_number_differs(self):
        differing = experiments.findings(races(race_row("plain", left=(1, 2, 1))))
        self.assertEqual(verdict(differing), "holds")
        same = experiments.findings(
            races(race_row("plain", left=(1, 1, 1)), race_row("plain", blocks=8448, left=(60, 60)))
        )
        self.assertEqual(verdict(same), f"partly holds (not: {REPEATED})")
        self.assertEqual(measured_of(same, REPEATED), "launches differ in 0 of 2 grids")

    def test_a_result_that_differs_in_one_grid_of_several_is_an_exception_and_counted(self):
        grids = (race_row("plain", left=(1, 1, 1)), race_row("plain", blocks=8448, left=(57, 64, 57, 60)))
        findings = experiments.findings(races(*grids))
        self.assertEqual(verdict(findings), f"partly holds (not: {REPEATED})")
        self.assertEqual(measured_of(findings, REPEATED), "launches differ in 1 of 2 grids")
        self.assertIn("launches differ in 1 of 2 cases", findings.summary)

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

    def test_blocks_of_one_warp_are_narrower_blocks_too(self):
        rows = [remedy_row("none", 100), remedy_row("queue_of_warps", 150), remedy_row("blocks_of_64", 120)]
        self.assertEqual(verdict_of("equal_work", run_of(rows)), "holds")
        findings = experiments.findings(run_of([*rows, remedy_row("blocks_of_32", 89)]).of("equal_work"))
        self.assertEqual(verdict(findings), "partly holds (not: lognormal warps, blocks of 32)")
        self.assertTrue(findings.summary.endswith("lognormal warps, × 0.89 to 1.50"), findings.summary)

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
    unittest.main()
