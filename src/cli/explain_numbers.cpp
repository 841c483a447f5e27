#include "cli/explain_numbers.hpp"

#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/findings_text.hpp"
#include "cli/options.hpp"
#include "diagnose/diagnose.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/rules.hpp"
#include "record/columns.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr const char* kNumbersGroup = "A launch by numbers";

void require(bool good, std::string_view option, const std::string& why) {
  if (!good) throw InputError(fmt::format("{}: {}", option, why));
}

void require_in_range(const NumbersOption& numbers, const Limits& limits) {
  const auto& [launch, usage] = numbers.configuration;
  static_cast<void>(named_gpu(numbers.gpu));  // one GPU, not what several begin with
  const std::optional<int> sm_count = sm_count_of(numbers.gpu);
  require(sm_count.has_value(), "--sm-count", "give the number of SMs, as `occbench devices` shows it");
  require(launch.block_threads > 0, "--block-size", "give the threads per block, at least 1");
  require(launch.grid_blocks > 0, "--grid",
          fmt::format("give the blocks in the grid, at least 1 (grid_blocks = {})", launch.grid_blocks));
  require(usage.registers_per_thread > 0, "--registers",
          "give the registers per thread, as a profiler or -Xptxas -v shows them");
  require(!numbers.resident_blocks || *numbers.resident_blocks <= limits.max_blocks_per_sm,
          "--resident-blocks",
          fmt::format("{} is more than the {} blocks that an SM can hold",
                      numbers.resident_blocks.value_or(0), limits.max_blocks_per_sm));
  check_static_shared(limits, usage);
}

CaseRecord record_of(const NumbersOption& numbers, const Limits& limits) {
  const auto& [launch, usage] = numbers.configuration;
  CaseRecord record;
  record.provenance.compute_capability = limits.compute_capability;
  if (const Gpu* const gpu = named_gpu(numbers.gpu)) record.provenance.gpu = gpu->driver_name;
  record.provenance.sm_count = sm_count_of(numbers.gpu);
  record.launch = launch;
  record.compiled = Compiled{.usage = usage, .code_architecture = {}};
  record.theory =
      theory_of(theoretical_occupancy(limits, launch, usage), launch, *record.provenance.sm_count);
  CounterValues& counters = record.readings.counters;
  counters.achieved_pct = numbers.achieved_pct;
  counters.sm_cycles_active_avg = numbers.sm_cycles_active_avg;
  counters.resident_blocks = numbers.resident_blocks;
  record.times.time_us = numbers.time_us;
  return record;
}

/// Blocks that are neither short nor long, as those of the recorded suite: the longer equal ones are, the more of the last
/// wave goes to the GPCs whose clocks are faster.
constexpr double kCyclesOfBlock = 200'000;

LaunchFacts facts_of_numbers(const CaseRecord& record, const Gpu* gpu) {
  LaunchFacts facts = facts_of(record);
  // At its highest clock: a block is then no longer than it can have been.
  if (gpu != nullptr && record.times.time_us)
    facts.most_cycles_active = *record.times.time_us * gpu->clock_mhz;
  const double waves = record.theory->waves.value_or(0);
  if (waves <= 1 || waves == std::floor(waves)) return facts;
  facts.tail_of_equal_blocks =
      predict(launch_on_device(record), Work::equal(kCyclesOfBlock), profile_of(record), std::nullopt)
          .losses.tail;
  return facts;
}

void print_text(const CaseRecord& record, const Limits& limits, const std::vector<Finding>& findings,
                std::ostream& out) {
  const Theory& theory = *record.theory;
  fmt::print(out, "theory {:.4g} %: an SM holds {} block{}, limited by {}\n", theory.theoretical_pct,
             *theory.blocks_per_sm, *theory.blocks_per_sm == 1 ? "" : "s", to_string(theory.limiters));
  for (const AppliedRule& rule : applied_rules(limits, {*record.launch, record.compiled->usage}))
    fmt::print(out, "  {}\n", to_string(rule));
  fmt::print(out, "grid {}: {:.3g} waves of {}\n", grouped(record.launch->grid_blocks),
             theory.waves.value_or(0), grouped(*theory.blocks_per_sm * *record.provenance.sm_count));
  const Real& achieved = record.readings.counters.achieved_pct;
  if (achieved) fmt::print(out, "achieved {:.4g} %\n", *achieved);
  if (findings.empty()) fmt::print(out, "  Nothing to speak of is lost.\n");
  print_findings(findings, theory.theoretical_pct, achieved, out);
}

void print_json(const CaseRecord& record, const std::vector<Finding>& findings, std::ostream& out) {
  const Row row = row_of(record);
  const nlohmann::ordered_json all = row_to_json(row);
  nlohmann::ordered_json object;
  for (const Column& column : columns()) {
    if (!cell_text(row, column).empty()) object[std::string(column.name)] = all.at(std::string(column.name));
  }
  object["findings"] = findings_json(findings);
  fmt::print(out, "{}\n", json_text(object));
}

}  // namespace

void declare_numbers_option(CLI::App& parser, NumbersOption& numbers) {
  Launch& launch = numbers.configuration.launch;
  Usage& usage = numbers.configuration.usage;
  const auto add = [&](const char* name, auto& value, const char* meaning, auto... range) {
    add_number(parser, name, value, meaning, range...)->group(kNumbersGroup);
  };
  declare_gpu_option(parser, numbers.gpu, kNumbersGroup);
  add_shape_option(parser, "--block-size", launch.block_threads, launch.block_shape, kMostBlockShape,
                   "threads per block")
      ->group(kNumbersGroup);
  add_shape_option(parser, "--grid", launch.grid_blocks, launch.grid_shape, kMostGridShape,
                   "blocks in the grid")
      ->group(kNumbersGroup);
  add("--registers", usage.registers_per_thread, "registers per thread");
  add_size_option(parser, "--static-smem", usage.static_shared_bytes, "static shared memory per block")
      ->group(kNumbersGroup);
  add_size_option(parser, "--dynamic-smem", launch.dynamic_shared_bytes, "dynamic shared memory per block")
      ->group(kNumbersGroup);
  add("--carveout", launch.carveout_pct, "preferred shared-memory carveout, %");
  add("--cluster", launch.cluster_blocks, "blocks per cluster");
  add("--barriers", usage.barriers, "named barriers per block");
  add("--achieved", numbers.achieved_pct, "achieved occupancy that was read, %", 0, 100);
  add("--time-us", numbers.time_us,
      "time of the launch, microseconds: what a remedy can save of it; with --gpu also whether blocks are "
      "short",
      kLeastMeasured, kMostMeasured);
  add("--sm-cycles-active-avg", numbers.sm_cycles_active_avg, "sm__cycles_active.avg", kLeastMeasured,
      kMostMeasured);
  add("--resident-blocks", numbers.resident_blocks, "sm__ctas_active.avg.per_cycle_active", kLeastMeasured,
      kMostMeasured);
}

void explain_numbers(const NumbersOption& numbers, bool json, std::ostream& out) {
  const Limits& limits = limits_of(capability_of(numbers.gpu));
  require_in_range(numbers, limits);
  const auto& [launch, usage] = numbers.configuration;
  if (theoretical_occupancy(limits, launch, usage).blocks_per_sm == 0)
    throw InputError("this cannot be launched: " + why_it_cannot_launch(limits, launch, usage));
  CaseRecord record = record_of(numbers, limits);
  const LaunchFacts facts = facts_of_numbers(record, named_gpu(numbers.gpu));
  const std::vector<Finding> findings = diagnose(facts);
  record.explanation = explanation_of(facts, findings);
  if (json) {
    print_json(record, findings, out);
  } else {
    print_text(record, limits, findings, out);
  }
}

}  // namespace occbench
