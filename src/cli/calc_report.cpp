#include "cli/calc_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "cli/text_table.hpp"
#include "occupancy/cliffs.hpp"
#include "occupancy/runtime_answers.hpp"

namespace occbench {
namespace {

std::string bytes(std::int64_t value) {
  return fmt::format("{} B", value);
}

std::string repeated(std::string_view symbol, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += symbol;
  return text;
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

std::string change_text(const Change& change) {
  if (change.axis == Axis::carveout_pct) return to_string(change);
  return fmt::format("{} ({} → {})", to_string(change), change.from, change.to);
}

std::string cliff_lines(const Question& question, const Occupancy& occupancy) {
  const std::vector<Cliffs> all = cliffs(*question.limits, question.configuration);
  std::string up;
  std::string down;
  for (const Cliffs& on_axis : all) {
    const auto add = [&](std::string& text, const std::optional<Step>& step) {
      if (!step) return;
      text += fmt::format("  {:<62}{}\n", change_text(step->change),
                          outcome(occupancy, step->theoretical_pct, step->blocks_per_sm));
    };
    add(up, on_axis.up);
    add(down, on_axis.down);
  }
  if (up.empty() && occupancy.theoretical_pct < 100) {
    if (const auto pair = cheapest_pair(*question.limits, question.configuration)) {
      up = fmt::format("  no single change; the cheapest two together:{:18}{}\n  {}\n  {}\n", "",
                       outcome(occupancy, pair->theoretical_pct, pair->blocks_per_sm),
                       change_text(pair->first), change_text(pair->second));
    }
  }
  std::string text;
  if (!up.empty()) text += "\nnearest step up\n" + up;
  if (!down.empty()) text += "\nnearest step down\n" + down;
  return text;
}

constexpr int kCurveWidth = 64;
constexpr int kCurveHeight = 8;

std::string_view curve_title(Axis axis) {
  switch (axis) {
    case Axis::block_threads:
      return "threads per block";
    case Axis::registers_per_thread:
      return "registers per thread";
    default:
      return "shared memory per block, bytes";
  }
}

// One column of a curve: eighths of a character cell from the bottom, at most kCurveHeight * 8.
std::string cell(double pct, int row) {
  static constexpr std::array<std::string_view, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int height = static_cast<int>(std::lround(pct / 100 * kCurveHeight * 8));
  return std::string(kEighths[static_cast<std::size_t>(std::clamp(height - 8 * row, 0, 8))]);
}

std::string draw_curve(const Question& question, Axis axis) {
  const std::vector<CurvePoint> points = curve(*question.limits, question.configuration, axis);
  const std::int64_t first = points.front().value;
  const std::int64_t last = points.back().value;
  const std::int64_t current = value_on(axis, question.configuration);
  const auto value_at = [&](int column) { return first + (last - first) * column / (kCurveWidth - 1); };
  const auto point_at = [&](std::int64_t value) {
    // The curve's points are the largest values of its steps.
    return *std::ranges::lower_bound(points, std::min(value, last), {}, &CurvePoint::value);
  };
  const auto column_of = [&](std::int64_t value) {
    return static_cast<int>((std::clamp(value, first, last) - first) * (kCurveWidth - 1) / (last - first));
  };

  std::string text = fmt::format("\noccupancy over {}\n", curve_title(axis));
  for (int row = kCurveHeight - 1; row >= 0; --row) {
    const bool labelled = row % 2 == 1;
    text += labelled ? fmt::format("{:>5} % ┤", 100 * (row + 1) / kCurveHeight) : fmt::format("{:>8}│", "");
    for (int column = 0; column < kCurveWidth; ++column)
      text += cell(point_at(value_at(column)).theoretical_pct, row);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  text += fmt::format("{:>5} % └{}\n", 0, repeated("─", kCurveWidth));
  text += fmt::format("{:>9}{:<{}}{}\n", "", first,
                      kCurveWidth - static_cast<int>(std::to_string(last).size()), last);
  text += fmt::format("{:>9}{:>{}}▲ {}: {}\n", "", "", column_of(current), current,
                      percent_text(point_at(current).theoretical_pct));
  return text;
}

}  // namespace

std::string calc_report(const Question& question) {
  const Occupancy occupancy =
      theoretical_occupancy(*question.limits, question.configuration.launch, question.configuration.usage);
  return headline(question, occupancy) + resources(question, occupancy) + device_lines(question, occupancy) +
         cliff_lines(question, occupancy);
}

std::string calc_curves(const Question& question) {
  std::string text;
  for (const Axis axis : kCurveAxes) text += draw_curve(question, axis);
  return text;
}

}  // namespace occbench
