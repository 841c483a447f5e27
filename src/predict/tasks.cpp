#include "predict/tasks.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "predict/numbers.hpp"

namespace occbench {
namespace {

std::int64_t parse_cycles(std::string_view text, std::string_view source, std::size_t line) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) {
    throw InputError(
        fmt::format("{}:{}: '{}' is not a number of cycles; write one number a line", source, line, text));
  }
  const double cycles = std::floor(value + 0.5);
  // Blocks that take no time never make the SMs busy: the simulation would not end.
  if (!(cycles >= 1 && cycles <= kMaxUnitCycles)) {
    throw InputError(fmt::format("{}:{}: {} cycles are out of range: 1 to {}, once rounded", source, line,
                                 text, kMaxUnitCycles));
  }
  return static_cast<std::int64_t>(cycles);
}

}  // namespace

Durations parse_durations(std::string_view text, std::string_view source, bool per_warp) {
  Durations durations{{}, per_warp, std::string(source)};
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    durations.cycles.push_back(parse_cycles(trimmed(text.substr(begin, end - begin)), source, line));
    begin = end + 1;
  }
  if (durations.cycles.empty()) {
    throw InputError(fmt::format("{}:1: no durations; write one number of cycles a line", source));
  }
  return durations;
}

Tasks::Tasks(const Work& work, std::int64_t grid_blocks, int warps_per_block)
    : source_(work),
      source_units_(work.unit_count(grid_blocks, warps_per_block)),
      per_warp_(work.per_warp),
      grid_blocks_(grid_blocks),
      warps_per_block_(warps_per_block),
      rates_(work.rates()),
      lockstep_cycles_(work.lockstep_cycles),
      poll_cycles_per_warp_(work.poll_cycles_per_warp) {
  if (std::holds_alternative<EqualWork>(work.distribution)) everywhere_ = unit_cycles(0);
}

Tasks::Tasks(Durations durations, std::int64_t grid_blocks, int warps_per_block)
    : source_units_(durations.per_warp ? grid_blocks * warps_per_block : grid_blocks),
      per_warp_(durations.per_warp),
      grid_blocks_(grid_blocks),
      warps_per_block_(warps_per_block),
      poll_cycles_per_warp_(durations.poll_cycles_per_warp) {
  const auto given = static_cast<std::int64_t>(durations.cycles.size());
  if (given != 1 && given != source_units_) {
    throw InputError(fmt::format("{}:{}: {} durations for a grid of {} {}; give one for each, or one for all",
                                 durations.source, std::min(given, source_units_) + 1, given, source_units_,
                                 durations.per_warp ? "warps" : "blocks"));
  }
  source_ = std::make_shared<const Durations>(std::move(durations));
  if (given == 1) everywhere_ = unit_cycles(0);
}

double Tasks::unit_cycles(std::int64_t unit) const {
  if (const Work* const work = std::get_if<Work>(&source_)) {
    return static_cast<double>(work->cycles_of(unit, source_units_));
  }
  const std::vector<std::int64_t>& cycles = std::get<1>(source_)->cycles;
  return static_cast<double>(cycles[cycles.size() == 1 ? 0 : static_cast<std::size_t>(unit)]);
}

double Tasks::block_cycles(std::int64_t block) const {
  if (everywhere_) return *everywhere_ * stretch_;
  if (!per_warp_) return unit_cycles(block) * stretch_;
  double sum = 0;
  double longest = 0;
  for (int warp = 0; warp < warps_per_block_; ++warp) {
    const double cycles = unit_cycles(block * warps_per_block_ + warp);
    sum += cycles;
    longest = std::max(longest, cycles);
  }
  return (within_blocks_ ? sum / warps_per_block_ : longest) * stretch_;
}

double Tasks::warp_cycles(std::int64_t block, int warp) const {
  if (!differ_within_blocks()) return block_cycles(block);
  return unit_cycles(block * warps_per_block_ + warp) * stretch_;
}

double Tasks::mean_cycles() const {
  if (everywhere_) return *everywhere_ * stretch_;
  const std::int64_t units = per_warp_ ? grid_blocks_ * warps_per_block_ : grid_blocks_;
  double sum = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) sum += unit_cycles(unit);
  return sum / static_cast<double>(units) * stretch_;
}

Tasks Tasks::even_everywhere() const {
  Tasks tasks = *this;
  tasks.everywhere_ = mean_cycles() / stretch_;
  return tasks;
}

Tasks Tasks::even_within_blocks() const {
  Tasks tasks = *this;
  tasks.within_blocks_ = true;
  return tasks;
}

Tasks Tasks::alone() const {
  Tasks tasks = *this;
  tasks.rates_ = {};
  return tasks;
}

Tasks Tasks::stretched(double factor) const {
  Tasks tasks = *this;
  tasks.stretch_ *= factor;
  return tasks;
}

Tasks Tasks::first_blocks(std::int64_t grid_blocks) const {
  Tasks tasks = *this;
  tasks.grid_blocks_ = std::min(grid_blocks, grid_blocks_);
  return tasks;
}

}  // namespace occbench
