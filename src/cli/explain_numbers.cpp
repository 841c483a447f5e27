#include "cli/explain_numbers.hpp"

#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/findings_text.hpp"
#include "cli/size_option.hpp"
#include "diagnose/diagnose.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/rules.hpp"
#include "record/columns.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr int kMostSms = 1024;
constexpr const char* kNumbersGroup = "A launch by numbers";

void require(bool good, std::string_view option, const std::string& why) {
  if (!good) throw InputError(fmt::format("{}: {}", option, why));
}

void require_in_range(const NumbersOption& numbers, const Limits& limits) {
  const auto& [launch, usage] = numbers.configuration;
  const std::optional<int> sm_count = sm_count_of(numbers.gpu);
  require(sm_count.has_value(), "--sm-count", "give the number of SMs, as `occbench devices` shows it");
  require(*sm_count >= 1 && *sm_count <= kMostSms, "--sm-count",
          fmt::format("{} is no number of SMs from 1 to {}", *sm_count, kMostSms));
  require(launch.block_threads > 0, "--block-size", "give the threads per block, at least 1");
  require(launch.grid_blocks > 0, "--grid",
          fmt::format("give the blocks in the grid, at least 1 (grid_blocks = {})", launch.grid_blocks));
  require(usage.registers_per_thread > 0, "--registers",
          "give the registers per thread, as a profiler or -Xptxas -v shows them");
  const auto percent = [](const std::optional<double>& value) {
    return !value || (*value >= 0 && *value <= 100);
  };
  require(percent(numbers.achieved_pct), "--achieved",
          fmt::format("{} is no percentage from 0 to 100", numbers.achieved_pct.value_or(0)));
  for (const auto& [option, value] : {std::pair("--time-us", numbers.time_us),
                                      std::pair("--sm-cycles-active-avg", numbers.sm_cycles_active_avg),
                                      std::pair("--resident-blocks", numbers.resident_blocks)}) {
    require(!value || *value > 0, option, fmt::format("{} is not above 0", value.value_or(0)));
  }
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
  set_measured_losses(record, limits);
  return record;
}

/// Blocks that are neither short nor long, as those of the recorded suite: the longer equal ones are, the more of the last
/// wave goes to the GPCs whose clocks are faster.
constexpr double kCyclesOfBlock = 200'000;

LaunchFacts facts_of_numbers(const CaseRecord& record) {
  LaunchFacts facts = facts_of(record);
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
  if (const Real& achieved = record.readings.counters.achieved_pct)
    fmt::print(out, "achieved {:.4g} %, {:.3g} points below theory\n", *achieved,
               theory.theoretical_pct - *achieved);
  if (findings.empty()) fmt::print(out, "  Nothing to speak of is lost.\n");
  print_findings(findings, out);
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
  const auto add = [&](const char* name, auto& value, const char* meaning) {
    parser.add_option(name, value, meaning)->group(kNumbersGroup);
  };
  declare_gpu_option(parser, numbers.gpu, kNumbersGroup);
  add("--block-size", launch.block_threads, "threads per block");
  add("--grid", launch.grid_blocks, "blocks in the grid");
  add("--registers", usage.registers_per_thread, "registers per thread");
  add_size_option(parser, "--static-smem", usage.static_shared_bytes, "static shared memory per block")
      ->group(kNumbersGroup);
  add_size_option(parser, "--dynamic-smem", launch.dynamic_shared_bytes, "dynamic shared memory per block")
      ->group(kNumbersGroup);
  add("--carveout", launch.carveout_pct, "preferred shared-memory carveout, %");
  add("--cluster", launch.cluster_blocks, "blocks per cluster");
  add("--barriers", usage.barriers, "named barriers per block");
  add("--achieved", numbers.achieved_pct, "achieved occupancy that was read, %");
  add("--time-us", numbers.time_us,
      "time of the launch, microseconds: evidence in the JSON, changes no cause and no points");
  add("--sm-cycles-active-avg", numbers.sm_cycles_active_avg, "sm__cycles_active.avg");
  add("--resident-blocks", numbers.resident_blocks, "sm__ctas_active.avg.per_cycle_active");
}

void explain_numbers(const NumbersOption& numbers, bool json, std::ostream& out) {
  const Limits& limits = limits_of(capability_of(numbers.gpu));
  require_in_range(numbers, limits);
  const auto& [launch, usage] = numbers.configuration;
  if (theoretical_occupancy(limits, launch, usage).blocks_per_sm == 0)
    throw InputError("this cannot be launched: " + why_it_cannot_launch(limits, launch, usage));
  CaseRecord record = record_of(numbers, limits);
  const LaunchFacts facts = facts_of_numbers(record);
  const std::vector<Finding> findings = diagnose(facts);
  record.explanation = explanation_of(facts, findings);
  if (json) {
    print_json(record, findings, out);
  } else {
    print_text(record, limits, findings, out);
  }
}

}  // namespace occbench
