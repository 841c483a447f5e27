#include "cli/calc_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "cli/text_table.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/runtime_answers.hpp"

namespace occbench {
namespace {

std::string bytes(std::int64_t value) {
  return fmt::format("{} B", value);
}

std::string bar(double pct, int width) {
  const int filled = static_cast<int>(std::lround(pct / 100 * width));
  return repeated("█", filled) + repeated("░", width - filled);
}

std::string headline(const Question& question, const Occupancy& occupancy) {
  const auto& [launch, usage] = question.configuration;
  std::string text = fmt::format(
      "Compute capability {}: {} threads per block, {} registers per thread, {} of shared memory\n\n",
      to_string(question.limits->compute_capability), launch.block_threads, usage.registers_per_thread,
      bytes(usage.static_shared_bytes + launch.dynamic_shared_bytes));
  text += fmt::format("theoretical occupancy {}  {}  {} of {} warps per SM\n",
                      percent_text(occupancy.theoretical_pct), bar(occupancy.theoretical_pct, 32),
                      occupancy.warps_per_sm(), question.limits->max_warps_per_sm);
  if (occupancy.blocks_per_sm == 0) {
    return text + fmt::format("cannot launch: {}\n", why_it_cannot_launch(*question.limits, launch, usage));
  }
  return text + fmt::format("{} per SM\n", counted(occupancy.blocks_per_sm, "block"));
}

struct ResourceLine {
  Limiter limiter;
  std::string_view name;
  std::string asked;
  std::string allocated;
  std::string of_sm;
  std::string idle;
};

std::vector<ResourceLine> resource_lines(const Question& question, const Occupancy& occupancy) {
  const Limits& limits = *question.limits;
  const auto& [launch, usage] = question.configuration;
  const Idle idle = idle_resources(limits, launch, occupancy);
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  std::vector<ResourceLine> lines = {
      {Limiter::warps, "warps", text(occupancy.warps_per_block), text(occupancy.warps_per_block),
       text(limits.max_warps_per_sm), text(idle.warps)},
      {Limiter::blocks, "block slots", "1", "1", text(limits.max_blocks_per_sm), text(idle.blocks)},
      {Limiter::registers, "registers", text(std::int64_t{usage.registers_per_thread} * launch.block_threads),
       text(occupancy.registers_per_block), text(limits.registers_per_sm), text(idle.registers)},
      {Limiter::shared_memory, "shared memory",
       bytes(usage.static_shared_bytes + launch.dynamic_shared_bytes),
       bytes(occupancy.shared_bytes_per_block), bytes(occupancy.shared_bytes_per_sm),
       bytes(idle.shared_bytes)}};
  if (limits.max_barriers_per_sm > 0) {
    lines.push_back({Limiter::barriers, "barriers", text(usage.barriers), text(usage.barriers),
                     text(limits.max_barriers_per_sm),
                     text(limits.max_barriers_per_sm - occupancy.blocks_per_sm * usage.barriers)});
  }
  return lines;
}

std::string resources(const Question& question, const Occupancy& occupancy) {
  std::vector<std::vector<std::string>> lines = {
      {"", "a block asks", "and gets", "the SM has", "left idle", "blocks that fit", ""}};
  for (const ResourceLine& line : resource_lines(question, occupancy)) {
    const int blocks = occupancy.block_limits.of(line.limiter);
    lines.push_back({std::string(line.name), line.asked, line.allocated, line.of_sm, line.idle,
                     blocks == kUnlimited ? "any" : std::to_string(blocks),
                     occupancy.limiters.contains(line.limiter) ? "◀ limits" : ""});
  }
  return fmt::format("\n{}", text_table(lines, "<>>>>><"));
}

std::string rule_lines(const Question& question) {
  std::vector<std::vector<std::string>> lines;
  for (const AppliedRule& rule : applied_rules(*question.limits, question.configuration)) {
    std::string resource(to_string(rule.resource));
    std::ranges::replace(resource, '_', ' ');
    lines.push_back({"  " + resource, to_string(rule)});
  }
  return "\nrules applied\n" + text_table(lines, "<");
}

std::string device_lines(const Question& question, const Occupancy& occupancy) {
  const Limits& limits = *question.limits;
  const auto& [launch, usage] = question.configuration;
  std::string text = "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<22}{}\n", name, value);
  };
  if (question.sm_count && occupancy.blocks_per_sm > 0) {
    line("full wave", fmt::format("{} blocks on {} SMs, also the largest cooperative grid",
                                  full_wave_blocks(occupancy, *question.sm_count), *question.sm_count));
    if (launch.grid_blocks > 0) {
      line("grid", fmt::format("{} blocks: {:.4g} waves", launch.grid_blocks,
                               *waves(occupancy, launch.grid_blocks, *question.sm_count)));
    }
  }
  if (!question.sms_per_gpc.empty()) {
    line("active clusters",
         fmt::format("{} of {} blocks",
                     max_active_clusters(occupancy, launch.cluster_blocks, question.sms_per_gpc),
                     launch.cluster_blocks));
  }
  const BestBlockSize best = best_block_size(limits, launch, usage, limits.max_threads_per_block);
  if (best.block_threads > 0) {
    line("best block size",
         fmt::format(
             "{} threads, {} per SM: {}", best.block_threads, counted(best.blocks_per_sm, "block"),
             percent_text(100.0 * best.blocks_per_sm * best.block_threads / limits.max_threads_per_sm())));
  }
  if (occupancy.blocks_per_sm > 0) {
    if (const auto most = available_dynamic_shared_bytes(limits, launch, usage, occupancy.blocks_per_sm)) {
      line("dynamic shared memory", fmt::format("up to {} per block with {} per SM", bytes(*most),
                                                counted(occupancy.blocks_per_sm, "block")));
    }
    const int threads = occupancy.blocks_per_sm * launch.block_threads;
    line("threads per FP32 lane", fmt::format("{:.4g}: {} resident threads, {} lanes per SM",
                                              threads_per_lane(limits, threads), threads, limits.fp32_lanes));
  }
  return text;
}

std::string outcome(const Occupancy& now, double pct, int blocks) {
  return fmt::format("{} → {:<8} {} → {} blocks", number_text(now.theoretical_pct), percent_text(pct),
                     now.blocks_per_sm, blocks);
}

std::string cliff_lines(const Question& question, const Occupancy& occupancy) {
  const std::vector<Cliffs> all = cliffs(*question.limits, question.configuration);
  std::string up;
  std::string down;
  for (const Cliffs& on_axis : all) {
    const auto add = [&](std::string& text, const std::optional<Step>& step) {
      if (!step) return;
      text += fmt::format("  {:<62}{}\n", to_string(step->change),
                          outcome(occupancy, step->theoretical_pct, step->blocks_per_sm));
    };
    add(up, on_axis.up);
    add(down, on_axis.down);
  }
  std::string text;
  if (!up.empty()) text += "\nnearest step up\n" + up;
  if (!down.empty()) text += "\nnearest step down\n" + down;
  return text;
}

}  // namespace

std::string calc_report(const Question& question) {
  const Occupancy occupancy =
      theoretical_occupancy(*question.limits, question.configuration.launch, question.configuration.usage);
  std::string text = headline(question, occupancy) + resources(question, occupancy) + rule_lines(question) +
                     device_lines(question, occupancy) + "\nwhat to do\n";
  for (const std::string& sentence : what_to_do(advise_on_theory(*question.limits, question.configuration)))
    text += fmt::format("  {}\n", sentence);
  return text + cliff_lines(question, occupancy);
}

}  // namespace occbench
