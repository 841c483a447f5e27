#include "cli/calc_answer.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/runtime_answers.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
Json optional_json(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json limit_json(int blocks) {
  return blocks == kUnlimited ? Json() : Json(blocks);
}

Json change_json(const Change& change, int blocks_per_sm, double theoretical_pct) {
  return {{"axis", to_string(change.axis)},
          {"from", change.from},
          {"to", change.to},
          {"blocks_per_sm", blocks_per_sm},
          {"theoretical_pct", theoretical_pct},
          {"change", to_string(change)}};
}

void check_at_least(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least)
    throw InputError(fmt::format("{} = {} is out of range: at least {}", what, value, least));
}

}  // namespace

void check_question(const Question& question) {
  check_at_least("grid_blocks", question.configuration.launch.grid_blocks, 0);
  check_at_least("sm_count", question.sm_count.value_or(1), 1);
  for (const int sms : question.sms_per_gpc) check_at_least("SMs of a GPC", sms, 1);
  check_static_shared(*question.limits, question.configuration.usage);
}

Json row_head(const std::string& experiment, const std::string& name) {
  return {{"schema", kSchema}, {"experiment", experiment}, {"case", name}};
}

Json question_json(const Question& question) {
  const auto& [launch, usage] = question.configuration;
  return {
      {"gpu", question.gpu.empty() ? Json() : Json(question.gpu)},
      {"compute_capability", to_string(question.limits->compute_capability)},
      {"sm_count", optional_json(question.sm_count)},
      {"block_threads", launch.block_threads},
      {"grid_blocks", launch.grid_blocks > 0 ? Json(launch.grid_blocks) : Json()},
      {"cluster_blocks", launch.cluster_blocks},
      {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
      {"carveout_pct", optional_json(launch.carveout_pct)},
      {"registers_per_thread", question.registers_given ? Json(usage.registers_per_thread) : Json()},
      {"static_shared_bytes", usage.static_shared_bytes},
      {"barriers", usage.barriers},
  };
}

Json answer_json(const Question& question) {
  const Limits& limits = *question.limits;
  const auto& [launch, usage] = question.configuration;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const Idle idle = idle_resources(limits, launch, occupancy);
  const bool launches = occupancy.blocks_per_sm > 0;
  const bool know_device = launches && question.sm_count.has_value();

  Json answer;
  answer["blocks_per_sm"] = occupancy.blocks_per_sm;
  answer["limiter"] = to_string(occupancy.limiters);
  answer["waves"] = know_device && launch.grid_blocks > 0
                        ? optional_json(waves(occupancy, launch.grid_blocks, *question.sm_count))
                        : Json();
  answer["theoretical_pct"] = occupancy.theoretical_pct;
  answer["warps_per_sm"] = occupancy.warps_per_sm();
  answer["threads_per_sm"] = occupancy.blocks_per_sm * launch.block_threads;
  for (const Limiter limiter : kAllLimiters) {
    answer[fmt::format("block_limit_{}", to_string(limiter))] =
        limit_json(occupancy.block_limits.of(limiter));
  }
  const auto of_registers = [&](int count) { return question.registers_given ? Json(count) : Json(); };
  answer["registers_per_block"] = of_registers(occupancy.registers_per_block);
  answer["shared_bytes_per_block"] = occupancy.shared_bytes_per_block;
  answer["shared_bytes_per_sm"] = occupancy.shared_bytes_per_sm;
  answer["idle_warps"] = idle.warps;
  answer["idle_threads"] = idle.threads;
  answer["idle_blocks"] = idle.blocks;
  answer["idle_registers"] = of_registers(idle.registers);
  answer["idle_shared_bytes"] = idle.shared_bytes;
  answer["fp32_lanes"] = limits.fp32_lanes;
  answer["threads_per_lane"] = threads_per_lane(limits, occupancy.blocks_per_sm * launch.block_threads);
  answer["full_wave_blocks"] = know_device ? Json(full_wave_blocks(occupancy, *question.sm_count)) : Json();
  answer["active_clusters"] =
      question.sms_per_gpc.empty()
          ? Json()
          : Json(max_active_clusters(occupancy, launch.cluster_blocks, question.sms_per_gpc));
  answer["best_block_threads"] =
      best_block_size(limits, launch, usage, limits.max_threads_per_block).block_threads;
  answer["available_dynamic_shared_bytes"] =
      launches ? optional_json(available_dynamic_shared_bytes(limits, launch, usage, occupancy.blocks_per_sm))
               : Json();
  answer["opt_in_bytes"] =
      launches && must_opt_in(limits, launch, usage) ? Json(launch.dynamic_shared_bytes) : Json();
  answer["assumed"] = question.registers_given ? Json() : Json(kRegistersAssumed);
  answer["cannot_launch"] = launches ? Json() : Json(why_it_cannot_launch(limits, launch, usage));
  return answer;
}

std::vector<std::string> what_to_do(const TheoryAdvice& advice) {
  std::vector<std::string> all = sentences(advice);
  const Step* const step = !advice.highest.empty() ? &advice.highest.front()
                           : advice.beyond         ? &*advice.beyond
                                                   : nullptr;
  if (step == nullptr || advice.theoretical_pct == 0) return all;
  all.push_back(
      fmt::format("Time: {} takes at most {:.0f} % less, if warps wait for latency; none is saved where "
                  "memory, issue slots or a "
                  "pipe are saturated, or registers are spilled.",
                  percent_text(step->theoretical_pct), most_time_saved_pct(advice, *step)));
  return all;
}

std::vector<Json> steps_json(const TheoryAdvice& advice) {
  std::vector<Json> steps;
  const auto add = [&](const char* kind, const Change& change, int blocks, double pct) {
    steps.push_back(change_json(change, blocks, pct));
    steps.back()["kind"] = kind;
  };
  const auto add_step = [&](const char* kind, const Step& step) {
    add(kind, step.change, step.blocks_per_sm, step.theoretical_pct);
  };
  for (const Step& step : advice.highest) add_step("highest", step);
  if (advice.below) add_step("below", *advice.below);
  if (advice.beyond) add_step("beyond", *advice.beyond);
  if (const auto& pair = advice.pair) {
    for (const Change& change : {pair->first, pair->second})
      add("together", change, pair->blocks_per_sm, pair->theoretical_pct);
  }
  return steps;
}

std::vector<Json> cliffs_json(const Question& question) {
  std::vector<Json> steps;
  const auto add = [&](const char* direction, const std::optional<Step>& step) {
    if (!step) return;
    steps.push_back(change_json(step->change, step->blocks_per_sm, step->theoretical_pct));
    steps.back()["direction"] = direction;
  };
  for (const Cliffs& on_axis : cliffs(*question.limits, question.configuration)) {
    add("up", on_axis.up);
    add("down", on_axis.down);
  }
  return steps;
}

std::vector<Json> curves_json(const Question& question) {
  std::vector<Json> points;
  for (const Axis axis : kCurveAxes) {
    for (const CurvePoint& point : curve(*question.limits, question.configuration, axis)) {
      const auto& [launch, usage] = with(axis, point.value, question.configuration);
      const Limiters limiters = theoretical_occupancy(*question.limits, launch, usage).limiters;
      points.push_back({{"axis", to_string(axis)},
                        {"value", point.value},
                        {"current", point.current ? 1 : 0},
                        {"blocks_per_sm", point.blocks_per_sm},
                        {"warps_per_sm", point.warps_per_sm},
                        {"limiter", to_string(limiters)},
                        {"theoretical_pct", point.theoretical_pct}});
    }
  }
  return points;
}

std::vector<Json> rules_json(const Question& question) {
  std::vector<Json> rules;
  for (const AppliedRule& rule : applied_rules(*question.limits, question.configuration)) {
    rules.push_back({{"resource", to_string(rule.resource)},
                     {"blocks", limit_json(rule.blocks)},
                     {"limits", rule.limits},
                     {"rule", to_string(rule)}});
  }
  return rules;
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return real_text(value.get<double>());
  return value.dump();
}

std::string flat_csv(std::span<const Json> objects) {
  std::string text;
  if (objects.empty()) return text;
  std::vector<std::string> cells;
  for (const auto& [name, value] : objects.front().items()) cells.push_back(name);
  text += csv_record(cells);
  for (const Json& object : objects) {
    cells.clear();
    for (const Json& value : object) cells.push_back(cell_text(value));
    text += csv_record(cells);
  }
  return text;
}

std::string flat_json(std::span<const Json> objects) {
  std::string text = "[";
  for (const Json& object : objects) {
    text += text.size() == 1 ? "\n  " : ",\n  ";
    text += json_text(object, -1);
  }
  return text + "\n]\n";
}

}  // namespace occbench
