#include "cli/calc_advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/recorded.hpp"
#include "cli/text_table.hpp"
#include "occupancy/cliffs.hpp"

namespace occbench {
namespace {

/// Registers that a recorded pair of rows may be away from the step that it stands for.
constexpr std::int64_t kNearEnough = 8;

std::string arrow(const Change& change) {
  if (change.axis == Axis::carveout_pct) return to_string(change);
  return fmt::format("{}: {} -> {}", to_string(change), change.from, change.to);
}

std::string price_of(const Change& change) {
  switch (change.axis) {
    case Axis::registers_per_thread:
      return fmt::format(
          "the compiler may spill to local memory; cap it with __maxnreg__({0}) or -maxrregcount={0}, and "
          "compare time and spills (rows of register_cap)",
          change.to);
    case Axis::shared_bytes_per_block:
      return "a block stages less data";
    case Axis::block_threads:
      return "the grid needs another number of blocks for the same threads";
    case Axis::carveout_pct:
      return "what shared memory gains the L1 cache loses";
    case Axis::barriers:
      return "fewer groups of warps can wait apart";
  }
  return "";
}

/// The body of a recorded kernel: "latency", "throughput"; empty where it has none.
std::string body_of(const CaseRecord& record) {
  const std::string* const body = find_parameter(record.identity, "body");
  return body == nullptr ? "" : *body;
}

/// A case of register_cliff whose time and registers are known, and that its kernel's own registers limit.
bool is_unpadded(const CaseRecord& record) {
  return record.times.time_us && record.compiled && record.launch &&
         find_parameter(record.identity, "padded_as") == nullptr &&
         find_parameter(record.identity, "grid") == nullptr;
}

int registers_of(const CaseRecord& record) {
  return record.compiled->usage.registers_per_thread;
}

/// A recorded kernel with about as many registers as before a change and after it.
struct RecordedStep {
  const CaseRecord* before;
  const CaseRecord* after;
  std::int64_t distance;
};

/// @param recorded  unpadded cases
std::optional<RecordedStep> nearest_step(std::span<const CaseRecord> recorded, std::string_view body,
                                         int block_threads, const Change& change) {
  std::optional<RecordedStep> best;
  const auto fits = [&](const CaseRecord& record) {
    return body_of(record) == body && record.launch->block_threads == block_threads;
  };
  for (const CaseRecord& before : recorded) {
    for (const CaseRecord& after : recorded) {
      if (!fits(before) || !fits(after) || registers_of(after) >= registers_of(before)) continue;
      const std::int64_t distance =
          std::abs(registers_of(before) - change.from) + std::abs(registers_of(after) - change.to);
      if (distance <= kNearEnough && (!best || distance < best->distance))
        best = RecordedStep{&before, &after, distance};
    }
  }
  return best;
}

/// @param recorded  unpadded cases
int nearest_block_size(std::span<const CaseRecord> recorded, int wanted) {
  int nearest = 0;
  for (const CaseRecord& record : recorded) {
    const int threads = record.launch->block_threads;
    if (nearest == 0 || std::abs(threads - wanted) < std::abs(nearest - wanted)) nearest = threads;
  }
  return nearest;
}

/// What fewer registers did to time where that was recorded; empty where nothing near it was.
/// @param recorded  unpadded cases
std::string recorded_price(const Change& change, int block_threads, std::span<const CaseRecord> recorded) {
  if (change.axis != Axis::registers_per_thread) return "";
  const int nearest = nearest_block_size(recorded, block_threads);
  std::set<std::string> bodies;
  for (const CaseRecord& record : recorded) bodies.insert(body_of(record));
  std::vector<std::string> parts;
  std::string gpu;
  for (const std::string& body : bodies) {
    const std::optional<RecordedStep> step = nearest_step(recorded, body, nearest, change);
    if (!step) continue;
    const auto& [before, after, distance] = *step;
    gpu = before->provenance.gpu;
    const long change_pct = std::lround(100 * (*after->times.time_us / *before->times.time_us - 1));
    parts.push_back(fmt::format("{} -> {} registers, {}-bound kernel: {}", registers_of(*before),
                                registers_of(*after), body,
                                change_pct == 0 ? "the same time" : fmt::format("{:+} % time", change_pct)));
  }
  if (parts.empty()) return "";
  return fmt::format("recorded on {}, register_cliff, {} threads per block: {}", gpu, nearest,
                     fmt::join(parts, ", "));
}

std::string outcome_text(double pct, int blocks) {
  return fmt::format("gives {}, {} per SM", percent_text(pct), counted(blocks, "block"));
}

/// @param sizes  not empty
std::string best_sizes_text(std::span<const Step> sizes) {
  std::vector<std::string> threads;
  std::vector<std::string> blocks;
  for (const Step& size : sizes) {
    threads.push_back(std::to_string(size.change.to));
    blocks.push_back(counted(size.blocks_per_sm, "block"));
  }
  return fmt::format("{} threads per block, {} now, give {}, {} per SM; price: {}",
                     fmt::join(threads, " or "), sizes.front().change.from,
                     percent_text(sizes.front().theoretical_pct), fmt::join(blocks, " or "),
                     price_of(sizes.front().change));
}

void add_next_step(const Question& question, const Occupancy& occupancy, std::span<const CaseRecord> recorded,
                   std::vector<std::string>& sentences) {
  const std::string now = percent_text(occupancy.theoretical_pct);
  const std::optional<Step> step = next_step(*question.limits, question.configuration);
  if (step && step->change.axis == Axis::block_threads) {
    sentences.push_back(best_sizes_text(best_block_sizes(*question.limits, question.configuration)));
  } else if (step) {
    sentences.push_back(fmt::format("{} {}; price: {}", arrow(step->change),
                                    outcome_text(step->theoretical_pct, step->blocks_per_sm),
                                    price_of(step->change)));
    const std::string shown =
        recorded_price(step->change, question.configuration.launch.block_threads, recorded);
    if (!shown.empty()) sentences.push_back(shown);
  } else if (const auto pair = cheapest_pair(*question.limits, question.configuration)) {
    sentences.push_back(fmt::format("no single change raises {}; {} and {} together {}; price: {}, and {}",
                                    now, arrow(pair->first), arrow(pair->second),
                                    outcome_text(pair->theoretical_pct, pair->blocks_per_sm),
                                    price_of(pair->first), price_of(pair->second)));
  } else {
    sentences.push_back(fmt::format("nothing to gain: no one or two changes raise {}", now));
  }
}

/// Resources whose saving alone raises nothing.
std::string what_gains_nothing(const Question& question, const Occupancy& occupancy,
                               const std::vector<Cliffs>& all) {
  std::vector<std::string_view> idle;
  const auto consider = [&](Axis axis, std::string_view saving) {
    if (value_on(axis, question.configuration) == 0) return;
    const auto found = std::ranges::find(all, axis, &Cliffs::axis);
    if (found == all.end() || !found->up) idle.push_back(saving);
  };
  consider(Axis::registers_per_thread, "fewer registers");
  consider(Axis::shared_bytes_per_block, "less shared memory");
  if (idle.empty()) return "";
  std::string limiters = to_string(occupancy.limiters);
  std::ranges::replace(limiters, '_', ' ');
  return fmt::format("{} alone gain{} nothing: limited by {}", fmt::join(idle, " or "),
                     idle.size() == 1 && idle.front().starts_with("less") ? "s" : "", limiters);
}

}  // namespace

std::vector<std::string> what_to_do(const Question& question, std::span<const CaseRecord> recorded) {
  const auto& [launch, usage] = question.configuration;
  const Occupancy occupancy = theoretical_occupancy(*question.limits, launch, usage);
  if (occupancy.theoretical_pct >= 100) return {"nothing to gain: 100 %"};
  const std::vector<Cliffs> all = cliffs(*question.limits, question.configuration);
  std::vector<std::string> sentences;
  add_next_step(question, occupancy, recorded, sentences);
  const std::string idle = what_gains_nothing(question, occupancy, all);
  if (!idle.empty()) sentences.push_back(idle);
  return sentences;
}

std::vector<CaseRecord> recorded_register_cliff() {
  const auto file = recorded_suite();
  if (!file) return {};
  std::vector<CaseRecord> cases = read_case_records(*file);
  std::erase_if(cases, [](const CaseRecord& each) {
    return each.identity.experiment != "register_cliff" || !is_unpadded(each);
  });
  return cases;
}

}  // namespace occbench
