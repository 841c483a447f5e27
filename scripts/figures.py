"""Tables and figures of the texts under results/, computed from the recorded rows: what scripts/readme.py puts between the
marks of those texts. A function here is a block, named EXPERIMENT: WHAT as its mark is.
"""

import csv
import statistics
from collections import Counter
from functools import cache

import claims
from claims import ROOT, Row, pick

RESULTS = ROOT / "results" / "nvidia-h200"
BLOCKS = {}


def block(name):
    """Registers a function that returns the lines between `<!-- NAME -->` and `<!-- end -->`."""

    def register(function):
        BLOCKS[name] = function
        return function

    return register


SUITE = RESULTS / "full.csv"


@cache
def run():
    return claims.Run([SUITE])


@cache
def against_ncu():
    with (RESULTS / "against_ncu.csv").open(newline="") as file:
        return [Row(row) for row in csv.DictReader(file)]


def rows_of(experiment, **wanted):
    return pick(run().of(experiment), **wanted)


def one(experiment, **wanted):
    rows = [row for row in rows_of(experiment, **wanted)]
    if len(rows) != 1:
        raise SystemExit(f"{experiment} has {len(rows)} rows of {wanted}, not one")
    return rows[0]


def table(head, lines):
    """`head`: names, those of columns of numbers with a colon at their end."""
    names = [name.rstrip(":") for name in head]
    rule = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join(
        [f"| {' | '.join(names)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(line)} |" for line in lines)]
    )


def bullets(*lines):
    return "\n".join(f"- {line}" for line in lines)


def cell(row, column, decimals=1, scale=1.0):
    return f"{row.number(column) * scale:.{decimals}f}" if row[column] else ""


def miss(row, kind="achieved_pct", against="predicted_pct"):
    return abs(row.number(kind) - row.number(against))


def misses(rows, elapsed=False):
    """How far predictions are from the counter, in words."""
    kinds = ("achieved_elapsed_pct", "predicted_elapsed_pct") if elapsed else ("achieved_pct", "predicted_pct")
    points = [miss(row, *kinds) for row in rows if row[kinds[0]] and row[kinds[1]]]
    return (
        f"{statistics.median(points):.2f} points at the median, {statistics.mean(points):.2f} on average, "
        f"{max(points):.1f} at most, in {len(points)} cases"
    )


def machine(row):
    return (
        f"{row['gpu']} ({row['sm_count']} SMs, compute capability {row['compute_capability']}), driver {row['driver']}, "
        f"CUDA {row['cuda_toolkit']}, commit `{row['commit'][:12]}`, {row['recorded_at'][:10]}"
    )


# Of every experiment: its claim, and what was found.


def claim_block(claim):
    files = run().rows_of_file
    file = next((name for name in files if any(row["experiment"] == claim.experiment for row in files[name])), SUITE)
    rows = [row for row in files[file] if row["experiment"] == claim.experiment]
    return (
        f"**Claimed:** {claim.claim} ({claim.source}).\n\n"
        f"{machine(rows[0])}. {len(rows)} rows of [{file.name}]({file.name}), experiment `{claim.experiment}`; "
        f"occupancies in percent."
        if rows
        else f"**Claimed:** {claim.claim} ({claim.source}).\n\nNot recorded yet."
    )


def findings_block(claim):
    findings = claims.FINDINGS[claim.experiment](run())
    lines = [(finding.name, finding.measured, "yes" if finding.holds else "no") for finding in findings]
    return (
        f"{table(('finding', 'measured', 'bears the claim out'), lines)}\n\nThe claim: **{claims.verdict(findings)}**."
    )


for each in claims.read_claims():
    BLOCKS[f"{each.experiment}: claim"] = lambda each=each: claim_block(each)
    BLOCKS[f"{each.experiment}: findings"] = lambda each=each: findings_block(each)


@block("recorded run")
def recorded_run():
    rows = run().rows_of_file[SUITE]
    status = Counter(row["time_status"] for row in rows)
    counted = [row for row in rows if row["achieved_pct"]]
    clocks = [row.number("sm_clock_mhz") for row in counted if row["sm_clock_mhz"]]
    return (
        f"{machine(rows[0])}.\n{len(rows)} cases: {len(counted)} measured with counters, {status['skipped']} that cannot be "
        f"launched and are skipped, {status['unstable']} with a time that is unstable, {status['failed']} failed, "
        f"{sum(row['check'] == 'wrong' for row in rows)} with a wrong result. SM clock: {min(clocks):.0f} to "
        f"{max(clocks):.0f} MHz."
    )


@block("block_size: cases")
def block_size_cases():
    lines = []
    for threads in (1, 32, 33, 64, 70, 256, 352, 416, 704, 768, 1024):
        row = one("block_size", block_threads=threads, variant="plain")
        occupancies = (cell(row, f"{kind}_pct", 2) for kind in ("theoretical", "predicted", "achieved"))
        lines.append(
            (str(threads), row["limiter"], *occupancies, cell(row, "time_us"), cell(row, "throughput", 2, 1e-12))
        )
    head = ("threads a block", "limiter", "theory:", "predicted:", "achieved:", "time, µs:", "10¹² warp-cycles/s:")
    return table(head, lines)


@block("block_size: figures")
def block_size_figures():
    rows = rows_of("block_size", variant="plain")
    whole = [row for row in rows if int(row["block_threads"]) % 32 == 0]
    worst = max(whole, key=lambda row: miss(row, against="theoretical_pct"))
    rates = [row.number("throughput") / row.number("achieved_pct") for row in rows]
    twins = one("block_size", variant="ptx_only"), one("block_size", variant="plain", block_threads=256)
    ncu = [abs(row.number("achieved_difference_points")) for row in against_ncu() if row["experiment"] == "block_size"]
    full = [row["block_threads"] for row in whole if row.number("theoretical_pct") == 100]
    lowest = min((row for row in whole if int(row["block_threads"]) > 32), key=lambda row: row.number("achieved_pct"))
    return bullets(
        f"The {len(whole)} multiples of 32 are within {miss(worst, against='theoretical_pct'):.2f} points of theory; the "
        f"furthest is {worst['block_threads']} threads.",
        f"Prediction: {misses(rows)}.",
        f"`ncu` differs by {max(ncu):.2f} points at most in {len(ncu)} cases ([against_ncu.csv](against_ncu.csv)).",
        f"PTX only, compiled by the driver: {cell(twins[0], 'achieved_pct', 2)} for {cell(twins[1], 'achieved_pct', 2)}.",
        f"Of the multiples of 32, {', '.join(sorted(full, key=int))} fill an SM; the worst beyond 32 threads is "
        f"{lowest['block_threads']} ({cell(lowest, 'achieved_pct', 2)}).",
        f"Throughput per point of achieved occupancy differs by {100 * (max(rates) / min(rates) - 1):.2f} % over all sizes.",
    )


WAVES = {"one_block": "one block", "1_plus_one_block": "1 plus one block"}


def readings(row):
    return run().traces(row)["sm__warps_active.avg.pct_of_peak_sustained_active"]


@block("waves: cases")
def waves_cases():
    ncu = {row["case"]: row for row in against_ncu() if row["experiment"] == "waves"}
    lines = []
    for waves in (
        "one_block",
        "0.25",
        "0.75",
        "1.00",
        "1_plus_one_block",
        "1.25",
        "1.50",
        "1.75",
        "2.00",
        "4.25",
        "8.00",
    ):
        row = one("waves", waves=waves)
        values = readings(row)
        lines.append(
            (
                WAVES.get(waves, waves),
                cell(row, "predicted_pct"),
                cell(row, "achieved_pct"),
                f"{min(values):.1f} to {max(values):.1f}",
                cell(row, "predicted_elapsed_pct"),
                cell(row, "achieved_elapsed_pct"),
                cell(ncu[row["case"]], "ncu_achieved_pct") if row["case"] in ncu else "",
                cell(row, "time_us"),
            )
        )
    head = (
        "waves",
        "predicted:",
        "achieved:",
        "lowest to highest of 16:",
        "of elapsed, predicted:",
        "of elapsed, achieved:",
    )
    return table((*head, "`ncu`:", "time, µs:"), lines)


@block("waves: figures")
def waves_figures():
    rows = rows_of("waves")
    alone, more = one("waves", waves="1.00"), one("waves", waves="1_plus_one_block")
    whole = [one("waves", waves=f"{count}.00") for count in (1, 2, 3, 4)]
    steady = max(max(readings(row)) - min(readings(row)) for row in whole)
    uneven = max(rows, key=lambda row: max(readings(row)) - min(readings(row)))
    quarter = one("waves", waves="1.25")
    far = max(rows, key=miss)
    ncu = [row.number("achieved_difference_points") for row in against_ncu()]
    other = [points for points in ncu if abs(points) > 0.05]
    return bullets(
        f"1, 2, 3 and 4 waves take {', '.join(cell(row, 'time_us') for row in whole)} µs.",
        f"One block more than a wave takes {more.number('time_us') / alone.number('time_us'):.2f} times as long "
        f"({cell(alone, 'time_us')} → {cell(more, 'time_us')} µs); the counter reads {cell(more, 'achieved_pct')} %, of "
        f"elapsed it is {cell(more, 'achieved_elapsed_pct')} %.",
        f"The 16 readings of a case are furthest apart at {uneven['waves']} waves ({min(readings(uneven)):.1f} to "
        f"{max(readings(uneven)):.1f} %); those of 1, 2, 3 and 4 waves are within {steady:.2f} points.",
        f"At 1.25 waves SMs are active for {cell(quarter, 'sm_cycles_active_min', 0)} to "
        f"{cell(quarter, 'sm_cycles_active_max', 0)} cycles: some have none of the last wave.",
        f"Prediction: {misses(rows)}; the furthest is {far['waves']} waves. Of elapsed: {misses(rows, elapsed=True)}.",
        f"`ncu` is within 0.05 points in {len(ncu) - len(other)} of {len(ncu)} cases of this experiment and block_size; in the "
        f"others it differs by {min(other):+.1f} to {max(other):+.1f} ([against_ncu.csv](against_ncu.csv)).",
    )


def cliff_rows(**wanted):
    return [
        row
        for row in rows_of("register_cliff", **wanted)
        if not row.parameter("padded_as") and not row.parameter("grid")
    ]


@block("register_cliff: cases")
def register_cliff_cases():
    registers = sorted({int(row["registers_per_thread"]) for row in cliff_rows()} - {40, 64})
    lines = []
    for body in ("latency", "throughput"):
        for threads in (256, 512, 768, 1024):
            rows = {int(row["registers_per_thread"]): row for row in cliff_rows(body=body, block_threads=threads)}
            fewest = rows[registers[0]].number("time_us")
            cells = (
                f"{rows[count].number('achieved_pct'):.0f} %, {rows[count].number('time_us') / fewest:.2f}"
                if count in rows
                else "–"
                for count in registers
            )
            lines.append((f"{body}-bound, {threads}", *cells))
    return table(("body, threads a block", *(f"{count}:" for count in registers)), lines)


def control_misses(registers):
    """Time of 31 registers at the blocks per SM of more, over the time of those: how far from 1, for each pair."""
    off = []
    for control in rows_of("register_cliff", padded_as=registers):
        same = {"body": control.parameter("body"), "block_threads": control["block_threads"]}
        imitated = [row for row in cliff_rows(**same) if row["registers_per_thread"] == str(registers)]
        off += [abs(control.number("time_us") / row.number("time_us") - 1) for row in imitated]
    return off


@block("register_cliff: figures")
def register_cliff_figures():
    controls = [
        f"{registers}: {100 * max(control_misses(registers)):.1f} % ({len(control_misses(registers))} pairs)"
        for registers in (33, 41, 66)
    ]
    latency, throughput = cliff_rows(body="latency"), cliff_rows(body="throughput")
    rates = [row.number("throughput") / row.number("achieved_pct") for row in latency]
    fastest = min(throughput, key=lambda row: row.number("time_us"))
    even, odd = (
        [row.number("time_us") for row in throughput if int(row["registers_per_thread"]) % 2 == parity]
        for parity in (0, 1)
    )
    return bullets(
        f"Control, 31 registers held at the blocks per SM of more by shared memory: how much their times differ at most, "
        f"{', '.join(controls)}.",
        f"Latency-bound: throughput per point of achieved occupancy differs by {100 * (max(rates) / min(rates) - 1):.1f} % over "
        f"{len(rates)} cases.",
        f"Throughput-bound: builds with an even number of registers take {min(even):.0f} to {max(even):.0f} µs, with an odd one "
        f"{min(odd):.0f} to {max(odd):.0f}. The fastest has {fastest['registers_per_thread']} registers, "
        f"{fastest['block_threads']} threads and {cell(fastest, 'achieved_pct', 0)} % ({cell(fastest, 'time_us', 0)} µs, "
        f"{cell(fastest, 'issue_active_pct', 0)} % of issue slots).",
        f"Prediction, latency-bound: {misses(latency)}; throughput-bound: {misses(throughput)}.",
    )


@block("register_cap: cases")
def register_cap_cases():
    variants = ["uncapped", *(f"cap_{cap}" for cap in (128, 96, 80, 72, 64, 56, 48, 40, 32))]
    lines = []
    for variant in variants:
        rows = [one("register_cap", variant=variant, block_threads=threads) for threads in (256, 128)]
        line = [variant.removeprefix("cap_"), rows[0]["registers_per_thread"], rows[0]["spill_bytes"]]
        for row in rows:
            values = (f"{row.number('theoretical_pct'):g}", cell(row, "achieved_pct"), cell(row, "issue_active_pct"))
            line += [", ".join(values), cell(row, "time_us", 0)]
        lines.append(line)
    head = ("cap", "registers:", "spills, B:", "256 threads: theory, achieved, issue:", "time, µs:")
    return table((*head, "128 threads: theory, achieved, issue:", "time, µs:"), lines)


@block("register_cap: figures")
def register_cap_figures():
    rows = rows_of("register_cap")
    lines = []
    for threads in (256, 128):
        capped = [row for row in pick(rows, block_threads=threads) if row["variant"].startswith("cap_")]
        uncapped = one("register_cap", variant="uncapped", block_threads=threads)
        fastest = min(capped, key=lambda row: row.number("time_us"))
        lines.append(
            f"Blocks of {threads}: fastest with {fastest['registers_per_thread']} registers ({cell(fastest, 'achieved_pct')} %), "
            f"{uncapped.number('time_us') / fastest.number('time_us'):.2f} times as fast as uncapped "
            f"({uncapped['registers_per_thread']} registers, {cell(uncapped, 'achieved_pct')} %)."
        )
    ways = []
    for registers in (32, 64, 128):
        times = [
            one("register_cap", variant=f"{way}_{registers}", block_threads=256).number("time_us")
            for way in ("cap", "maxnreg")
        ]
        ways.append(max(times) / min(times) - 1)
    local = sum(bool(row["local_load_sectors"]) for row in rows)
    return bullets(
        *lines,
        f"`__maxnreg__` and `-maxrregcount` of the same number differ by {100 * max(ways):.2f} % in time at most.",
        f"Prediction, which knows nothing of spills: {misses(rows)}.",
        f"Local loads were counted in {local} of {len(rows)} rows.",
    )


@block("shared_memory: edges")
def shared_memory_edges():
    lines = []
    for threads, most in (
        (128, 13568),
        (128, 115712),
        (256, 28160),
        (256, 115712),
        (512, 57344),
        (512, 115712),
        (1024, 115712),
    ):
        pair = [
            one("shared_memory", block_threads=threads, dynamic_bytes=size, variant="dynamic")
            for size in (most, most + 1)
        ]

        def both(column, decimals, pair=pair):
            return " → ".join(f"{row.number(column):.{decimals}f}".rstrip("0").rstrip(".") for row in pair)

        left = pair[1].number("throughput") / pair[0].number("throughput")
        lines.append(
            (
                str(threads),
                str(most),
                both("blocks_per_sm", 1),
                both("theoretical_pct", 2),
                both("achieved_pct", 2),
                f"{100 * left:.0f}",
            )
        )
    head = ("threads a block:", "bytes, then one more:", "blocks an SM:", "theory:", "achieved:", "throughput left, %:")
    return table(head, lines)


@block("shared_memory: carveouts")
def shared_memory_carveouts():
    lines = []
    for kilobytes in (4, 8, 16, 24):
        rows = [
            one("shared_memory", dynamic_bytes=kilobytes * 1024, carveout_pct=carveout) for carveout in (0, 25, 50, 100)
        ]
        rows.append(one("shared_memory", variant=f"static_{kilobytes * 1024}"))
        resident = (f"{row.number('achieved_pct') / (100 * 8 / 64):.0f}" for row in rows)
        lines.append(
            (
                str(kilobytes),
                *(f"{blocks}, {cell(row, 'achieved_pct')}" for blocks, row in zip(resident, rows, strict=True)),
            )
        )
    head = ("KiB a block:", "carveout 0 %:", "25 %:", "50 %:", "100 %:", "the driver's default:")
    return table(head, lines)


@block("shared_memory: figures")
def shared_memory_figures():
    plain = [row for row in rows_of("shared_memory") if not row.parameter("carveout_pct")]
    off = [miss(row, against="theoretical_pct") for row in plain]
    times = [row.number("time_us") for row in plain]
    skipped = [row for row in run().rows if row["experiment"] == "shared_memory" and row["time_status"] == "skipped"]
    most = max(int(row["dynamic_shared_bytes"]) for row in plain)
    refused = ", ".join(sorted({f"{int(row['dynamic_shared_bytes']):,}" for row in skipped}))
    return bullets(
        f"{len(plain)} sizes without a carveout asked for: {statistics.median(off):.2f} points from theory at the median, "
        f"{max(off):.2f} at most.",
        f"{most:,} B a block run, {refused} are refused and recorded as skipped.",
        f"Time knows little of the sizes ({min(times):.0f} to {max(times):.0f} µs), as each case has its own four waves: the work "
        "in them is what shrinks.",
    )


@block("imbalance_within_block: cases")
def imbalance_within_block_cases():
    lines = []
    shapes = ("slow_2", "slow_16", "uniform_1", "bimodal_1")
    for warps in (2, 4, 8, 16, 32):
        cells = []
        for shape in shapes:
            row = one("imbalance_within_block", warps_per_block=warps, shape=shape)
            empty = row.number("theoretical_pct") / claims.longest_of(shape, warps)
            cells.append(f"{empty:.1f} / {cell(row, 'predicted_pct')} / {cell(row, 'achieved_pct')}")
        lines.append((str(warps), *cells))
    head = ("warps a block:", "one slow, ×2:", "one slow, ×16:", "uniform, 0.5 to 1.5:", "bimodal, 10 % × 8:")
    return table(head, lines)


@block("imbalance_within_block: figures")
def imbalance_within_block_figures():
    rows = rows_of("imbalance_within_block")
    slow = [
        (
            row,
            row.number("theoretical_pct")
            / claims.longest_of(row.parameter("shape"), int(row.parameter("warps_per_block"))),
        )
        for row in rows
        if row.parameter("shape").startswith("slow_") and row.parameter("shape") != "slow_1"
    ]
    large = [
        abs(row.number("achieved_pct") - empty) for row, empty in slow if int(row.parameter("warps_per_block")) >= 8
    ]
    alike = one("imbalance_within_block", warps_per_block=2, shape="slow_1")
    flattered = max(rows, key=lambda row: row.number("achieved_pct") - row.number("achieved_elapsed_pct"))
    far = max(rows, key=miss)
    return bullets(
        f"One slow warp in 8, 16 or 32: within {max(large):.1f} points of what empty places would make it, in {len(large)} cases.",
        f"Equal warps in blocks of two read {cell(alike, 'achieved_pct')} %.",
        f"Prediction: {misses(rows)}; the furthest is {far.parameter('shape')} with {far.parameter('warps_per_block')} warps.",
        f"Furthest apart are achieved and of elapsed for {flattered.parameter('shape')} with "
        f"{flattered.parameter('warps_per_block')} warps: {cell(flattered, 'achieved_pct')} and "
        f"{cell(flattered, 'achieved_elapsed_pct')} %.",
    )


@block("imbalance_between_blocks: cases")
def imbalance_between_blocks_cases():
    lines = []
    for shape in ("equal", "linear_up", "linear_down", "uniform_1", "lognormal_1", "bimodal_1", "heaviest_last"):
        rows = [one("imbalance_between_blocks", shape=shape, waves=waves) for waves in (1, 2, 4, 16)]
        cells = (
            f"{cell(row, 'achieved_pct', 0)} / {cell(row, 'achieved_elapsed_pct', 0)}, {cell(row, 'time_us', 0)} µs"
            for row in rows
        )
        lines.append((shape, *cells))
    return table(("work of a block", "1 wave:", "2 waves:", "4 waves:", "16 waves:"), lines)


@block("imbalance_between_blocks: figures")
def imbalance_between_blocks_figures():
    rows = rows_of("imbalance_between_blocks")

    def time(shape, waves):
        return one("imbalance_between_blocks", shape=shape, waves=waves).number("time_us")

    far = max(rows, key=miss)
    uneven = max(rows, key=lambda row: row.number("achieved_spread_points"))
    return bullets(
        f"Longest first or last (linear_down, linear_up): {time('linear_down', 1):.0f} and {time('linear_up', 1):.0f} µs at one "
        f"wave, {time('linear_down', 2):.0f} and {time('linear_up', 2):.0f} at two, {time('linear_down', 16):.0f} and "
        f"{time('linear_up', 16):.0f} at 16.",
        f"Two draws of the lognormal distribution, 16 waves: {time('lognormal_1', 16):.0f} and {time('lognormal_2', 16):.0f} µs.",
        f"Cutting equal blocks in 16 takes {100 * (time('equal', 16) / time('equal', 1) - 1):.1f} % more time.",
        f"The readings scatter most for {uneven.parameter('shape')} at {uneven.parameter('waves')} waves: "
        f"{cell(uneven, 'achieved_pct')} % with an interquartile range of {cell(uneven, 'achieved_spread_points')} points.",
        f"Prediction: {misses(rows)}; the furthest is {far.parameter('shape')} at {far.parameter('waves')} waves "
        f"({cell(far, 'predicted_pct')} for {cell(far, 'achieved_pct')}). Of elapsed: {misses(rows, elapsed=True)}.",
    )


@block("tail_remedies: cases")
def tail_remedies_cases():
    waves = ("1.05", "1.25", "1.50", "2.10", "4.30")
    lines = []
    for remedy in ("shorter_blocks", "persistent_shorter", "second_stream", "persistent", "narrower_blocks"):
        cells = []
        for count in waves:
            gains = []
            for shape in ("equal", "uniform"):
                plain, cured = (
                    one("tail_remedies", remedy=name, waves=count, shape=shape).number("throughput")
                    for name in ("plain", remedy)
                )
                gains.append(f"{cured / plain:.2f}")
            cells.append(" / ".join(gains))
        lines.append((remedy.replace("_", " "), *cells))
    return table(("remedy", *(f"{count} waves:" for count in waves)), lines)


@block("tail_remedies: figures")
def tail_remedies_figures():
    def of(remedy, waves="1.50", shape="equal"):
        return one("tail_remedies", remedy=remedy, waves=waves, shape=shape)

    narrow = [
        f"{cell(of('plain', waves), 'achieved_pct')} → {cell(of('narrower_blocks', waves), 'achieved_pct')} % at {waves} waves "
        f"(of elapsed {cell(of('plain', waves), 'achieved_elapsed_pct')} → "
        f"{cell(of('narrower_blocks', waves), 'achieved_elapsed_pct')})"
        for waves in ("1.05", "1.50")
    ]
    queue = [
        f"{cell(of('persistent_shorter', waves), 'time_us', 0)} for {cell(of('shorter_blocks', waves), 'time_us', 0)} µs at {waves}"
        for waves in ("1.25", "1.50")
    ]
    rows = rows_of("tail_remedies")
    return bullets(
        f"Narrower blocks, achieved: {'; '.join(narrow)}.",
        f"Persistent with items of a quarter, against shorter blocks: {'; '.join(queue)} waves.",
        f"Second stream at 1.50 waves of equal blocks: {cell(of('second_stream'), 'achieved_pct')} % achieved, two launches in "
        f"{cell(of('second_stream'), 'time_us')} µs, one alone in {cell(of('plain'), 'time_us')}.",
        f"{sum(not row['predicted_pct'] for row in rows)} of {len(rows)} rows have no prediction.",
    )


@block("partial_warps: cases")
def partial_warps_cases():
    lines = []
    for threads in (1, 16, 31, 32, 33, 48, 64):
        held, computed = (
            one("partial_warps", block_threads=threads, kernel=kernel) for kernel in ("hold", "live_values")
        )
        lines.append(
            (
                str(threads),
                f"{computed.number('theoretical_pct'):g}",
                cell(held, "achieved_pct", 2),
                cell(computed, "achieved_pct", 2),
                cell(computed, "issue_active_pct", 2),
                cell(computed, "time_us"),
                cell(computed, "throughput", 2, 1e-12),
            )
        )
    head = (
        "threads a block:",
        "theory:",
        "hold: achieved:",
        "multiply-adds: achieved:",
        "issue slots used, %:",
    )
    return table((*head, "time, µs:", "10¹² multiply-adds/s:"), lines)


@block("partial_warps: figures")
def partial_warps_figures():
    held, computed = (rows_of("partial_warps", kernel=kernel) for kernel in ("hold", "live_values"))
    return bullets(f"Prediction, the staying kernel: {misses(held)}; the multiply-adds: {misses(computed)}.")


def placement_traces():
    return [(row, run().traces(row)) for row in rows_of("placement") if run().traces(row)["trace_sm"]]


@block("placement: cases")
def placement_cases():
    lines = []
    for row, trace in placement_traces():
        shares = Counter(trace["trace_sm"]).values()
        share = str(min(shares)) if min(shares) == max(shares) else f"{min(shares)} to {max(shares)}"
        resident = max(trace["trace_most_blocks"])
        gaps = trace["trace_hand_over_cycles"]
        grid = row.parameter("grid").replace("_", " ")
        lines.append(
            (
                f"{row['block_threads']}, {grid}, {row.parameter('shape').replace('_', ' ')}",
                row["grid_blocks"],
                str(len(set(trace["trace_sm"][: int(row["sm_count"])]))),
                share,
                f"{resident:.0f} ({row['blocks_per_sm']})",
                f"{statistics.median(gaps):.0f}" if gaps else "",
                f"{trace['trace_achieved_pct'][0]:.1f}",
                cell(row, "achieved_pct"),
            )
        )
    sms = run().rows[0]["sm_count"]
    head = ("threads, grid, work", "blocks:", f"SMs of the first {sms}:", "blocks an SM:", "at once (theory):")
    return table((*head, "hand-over, cycles:", "traced occupancy:", "counter:"), lines)


@block("placement: figures")
def placement_figures():
    traces = placement_traces()
    step = claims.clock_step([trace["trace_start_ns"] for _, trace in traces])
    late, spreads, gaps = [], [], []
    for row, trace in traces:
        # Of the first wave: blocks that found a place at once.
        wave = int(row["blocks_per_sm"]) * int(row["sm_count"])
        starts = trace["trace_start_ns"][:wave]
        spreads.append(max(starts) - min(starts))
        earliest = float("inf")
        for start in reversed(starts):
            late.append(start - earliest)
            earliest = min(earliest, start)
        if row.parameter("shape") != "uneven_warps":
            gaps += trace["trace_hand_over_cycles"]
    fifth = statistics.quantiles(gaps, n=20)
    return bullets(
        f"The clock of starts steps {step:.0f} ns. In the first wave no block starts more than {max(late):.0f} ns after one of a "
        f"higher number, and a whole wave is there within {max(spreads):.0f} ns.",
        f"Uneven warps aside, a freed place has a new block after {statistics.median(gaps):.0f} cycles at the median, 5 to 95 %: "
        f"{fifth[0]:.0f} to {fifth[-1]:.0f}.",
    )


# The experiments on how much occupancy is enough, and on blocks and threads that wait for one another.

NOT_RECORDED = "Not recorded yet."


def rate_text(row):
    rate = claims.throughput_of(row)
    return f"{rate * 1e-12:.2f} TB/s" if row["throughput_unit"] == "bytes/s" else f"{rate * 1e-12:.2f}·10¹²/s"


@block("latency_hiding: enough")
def latency_hiding_enough():
    lines = []
    for kernel, what in ("chains", "multiply-adds"), ("reads", "reads"):
        rows = [row for row in rows_of("latency_hiding", kernel=kernel) if row["theoretical_pct"]]
        for group in claims.by_variant(rows).values():
            first = claims.enough(group)
            best = max(group, key=claims.throughput_of)
            size = first.parameter("bytes")
            lines.append(
                (
                    f"{what} of {size} B" if size else what,
                    str(claims.own_in_flight(first)),
                    rate_text(best),
                    f"{first.number('theoretical_pct'):g}",
                    cell(first, "achieved_pct"),
                    f"{claims.little_pct(run(), first, claims.throughput_of(best)):.1f}",
                    f"{max(row.number('theoretical_pct') for row in group):g}",
                )
            )
    if not lines:
        return NOT_RECORDED
    head = ("operation", "in flight in a thread:", "best:", "occupancy for 95 % of it, theory:", "achieved:")
    return table((*head, "by Little's law:", "highest measured:"), lines)


@block("latency_hiding: figures")
def latency_hiding_figures():
    rows = rows_of("latency_hiding")
    copied, chases = claims.copy_of(run()), pick(rows, kernel="chase")
    if not copied or not chases:
        return NOT_RECORDED
    reads = max(
        (row for row in pick(rows, kernel="reads") if row["theoretical_pct"]),
        key=claims.throughput_of,
    )
    fastest = max(pick(rows, kernel="chains"), key=claims.throughput_of)
    latencies = (
        f"{row.parameter('memory')}: {claims.clock_hz(row) / claims.throughput_of(row):.0f} cycles" for row in chases
    )
    return bullets(
        f"Latency of a load by a chain of loads, {', '.join(latencies)}; of a dependent multiply-add "
        f"{claims.latency_seconds(run(), 'multiply_add') * claims.clock_hz(fastest):.2f} cycles.",
        f"Reads: {rate_text(reads)} at best ({reads['variant']}, {cell(reads, 'achieved_pct')} % occupancy). The runtime's copy "
        f"from device to device moves {rate_text(copied)}, what it reads and what it writes counted: "
        f"{100 * claims.throughput_of(reads) / claims.throughput_of(copied):.1f} % of it are read.",
        f"Multiply-adds: {rate_text(fastest)} at best ({fastest['variant']}, {cell(fastest, 'achieved_pct')} % occupancy), "
        f"{100 * claims.throughput_of(fastest) / claims.peak_multiply_adds(fastest):.1f} % of SMs x lanes x the clock measured "
        f"({cell(fastest, 'sm_clock_mhz', 0)} MHz).",
        f"Prediction: {misses([row for row in rows if row['theoretical_pct']])}.",
    )


@block("pipe_saturation: cases")
def pipe_saturation_cases():
    rows = rows_of("pipe_saturation")
    lines = []
    for blocks in sorted({int(row.parameter("blocks_per_sm")) for row in rows}):
        line = [str(blocks)]
        for pipe in "fp32", "xu":
            for chains in (1, 4):
                row = one("pipe_saturation", pipe=pipe, chains=chains, blocks_per_sm=blocks)
                line.append(f"{cell(row, f'{pipe}_pipe_pct')}, {cell(row, 'throughput', 2, 1e-12)}")
        lines.append((line[0], cell(row, "theoretical_pct", 2), *line[1:]))
    if not lines:
        return NOT_RECORDED
    head = ("warps a scheduler:", "theory:", "FP32, 1 chain:", "FP32, 4 chains:", "XU, 1 chain:", "XU, 4 chains:")
    return table(head, lines)


@block("l1_carveout: cases")
def l1_carveout_cases():
    rows = rows_of("l1_carveout")
    carveouts = ("0", "25", "50", "75", "100", "default")
    lines = []
    for kilobytes in sorted({int(row.parameter("kilobytes")) for row in rows}):
        chosen = (one("l1_carveout", kilobytes=kilobytes, carveout_pct=carveout) for carveout in carveouts)
        lines.append((str(kilobytes), *(cell(row, "throughput", 1, 1e-12) for row in chosen)))
    if not lines:
        return NOT_RECORDED
    return table(("KiB read again and again:", *(f"{each}:" for each in carveouts)), lines)


@block("atomics: cases")
def atomics_cases():
    rows = rows_of("atomics")
    counts = sorted({int(row.parameter("addresses")) for row in rows})
    if not rows:
        return NOT_RECORDED
    lines = []
    for name, words in claims.SUMS.items():
        chosen = [one("atomics", sum=name, addresses=count) for count in counts]
        lines.append(
            (words, *(f"{cell(row, 'time_us')}, {cell(row, 'achieved_pct', 0)} %" for row in chosen)),
        )
    return table(("sum by", *(f"{count:,}:" for count in counts)), lines)


@block("grid_sync: grids")
def grid_sync_grids():
    rows = [row for row in rows_of("grid_sync", variant="grid") if row.parameter("blocks_per_sm")]
    lines = [
        (
            row["block_threads"],
            row.parameter("blocks_per_sm"),
            row["grid_blocks"],
            cell(row, "theoretical_pct", 2),
            cell(row, "achieved_pct", 2),
            f"{claims.sync_cost_us(run(), block_threads=row['block_threads'], blocks_per_sm=row.parameter('blocks_per_sm')):.2f}",
        )
        for row in rows
    ]
    if not lines:
        return NOT_RECORDED
    head = ("threads a block:", "blocks an SM:", "blocks:", "theory:", "achieved:", "grid.sync(), µs:")
    return table(head, lines)


@block("grid_sync: groups")
def grid_sync_groups():
    lines = []
    for row in rows_of("grid_sync", kernel="ring"):
        group = row["variant"]
        if group in ("grid", "alone") or (group == "cluster" and row["block_threads"] != "256"):
            continue
        size = f" of {row['cluster_blocks']}" if group == "cluster" else f", {row['block_threads']} threads a block"
        nanoseconds = 1e9 / claims.throughput_of(row)
        cycles = claims.clock_hz(row) / claims.throughput_of(row)
        lines.append(
            (group.replace("_", " of ") + size, cell(row, "achieved_pct"), f"{nanoseconds:.0f}", f"{cycles:.0f}")
        )
    return table(("group", "achieved:", "ns a round:", "cycles:"), lines) if lines else NOT_RECORDED


@block("grid_sync: clusters")
def grid_sync_clusters():
    lines = [
        (
            row["block_threads"],
            row["cluster_blocks"],
            row["grid_blocks"],
            cell(row, "waves", 3),
            cell(row, "achieved_pct", 2),
            cell(row, "achieved_elapsed_pct", 2),
            cell(row, "time_us"),
        )
        for row in rows_of("grid_sync", kernel="hold")
    ]
    if not lines:
        return NOT_RECORDED
    head = (
        "threads a block:",
        "blocks a cluster:",
        "blocks at once:",
        "of a wave:",
        "achieved:",
        "of elapsed:",
        "time, µs:",
    )
    return table(head, lines)
