#include "simulate/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace occbench {

Contention::Contention(int partitions, const IssueContention::Rules& rules, const MemoryContention& memory)
    : rules_(rules), memory_(memory), partitions_(static_cast<std::size_t>(partitions)) {}

void Contention::schedule(int index) {
  Partition& partition = at(index);
  const double before = partition.warps.speed();
  partition.warps.serve(rules_);
  memory_.add_speed(partition.warps.speed() - before);
  ++partition.version;
  if (!partition.warps.empty()) events_.push({partition.warps.next_clock(), index, partition.version});
}

void Contention::begin(double time, int partition, int block, std::span<const ContendingWarp> warps) {
  memory_.pass_to(time);
  IssueContention& contending = at(partition).warps;
  contending.advance(memory_.clock());
  contending.begin(block, warps, rules_);
  schedule(partition);
}

double Contention::next_finish() {
  while (!events_.empty() && events_.top().version != at(events_.top().partition).version) events_.pop();
  return events_.empty() ? std::numeric_limits<double>::infinity() : memory_.time_at(events_.top().clock);
}

Contention::Finished Contention::finish_next() {
  const double time = next_finish();
  const Event event = events_.top();
  memory_.pass_to(time, event.clock);
  IssueContention& contending = at(event.partition).warps;
  contending.advance(memory_.clock());
  finished_.clear();
  const int block = contending.finish(finished_);
  schedule(event.partition);
  return {time, block, finished_};
}

double draw_lockstep_cycles(std::uint64_t seed, double least, double most) {
  // Fractional parts of multiples of the square root of three.
  constexpr std::uint64_t kRootOfThree = 0xbb67ae8584caa73b;  // times 2^64, modulo 2^64
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const double chance = unit_interval((seed - 1) * kRootOfThree + kHalf);
  return least * portable_exp(portable_log(most / least) * chance);
}

void IssueContention::advance(double clock) {
  const double passed = clock - updated_;
  for (Group& group : groups_) group.done += passed * group.speed;
  updated_ = clock;
}

void IssueContention::begin(int block, std::span<const ContendingWarp> warps, const Rules& rules) {
  if (groups_.empty()) {
    lockstep_until_ = updated_ + rules.lockstep_cycles;
    greedy_ = 0;
  } else if (has_ended_) {
    lockstep_until_ = updated_;
  }
  if (rules.always_issues) {
    // Within a block, the last warp counts as the oldest.
    for (auto warp = warps.rbegin(); warp != warps.rend(); ++warp) groups_.push_back({block, {*warp}});
    return;
  }
  Group group{block, {warps.begin(), warps.end()}};
  std::ranges::sort(group.left, std::ranges::greater{}, &ContendingWarp::cycles);
  groups_.push_back(std::move(group));
}

void IssueContention::serve_blocks_oldest_first(const Rules& rules) {
  // Loop overhead makes 1 / rate slightly more than the whole number of warps that fill the slots.
  // kWholeWarps is the tolerance for this, not a property of a GPU.
  constexpr double kWholeWarps = 0.97;
  std::size_t all_warps = 0;
  for (const Group& group : groups_) all_warps += group.left.size();
  const double served = std::ceil(rules.full_speed_warps * kWholeWarps);
  const double most =
      static_cast<double>(all_warps) < served ? 1 : std::min(1.0, rules.full_speed_warps / served);
  double free_speed = rules.full_speed_warps;
  for (Group& group : groups_) {
    const auto warps = static_cast<double>(group.left.size());
    group.speed = std::min(most, free_speed / warps);
    free_speed = std::max(0.0, free_speed - warps * group.speed);
  }
}

void IssueContention::serve_warps_oldest_first(Rules& rules) {
  const std::size_t warps = groups_.size();
  if (!in_lockstep() && greedy_ == 0)
    greedy_ = rules.draws.unit(Draws::Stream::greedy, rules.drawn++) < rules.greedy_of_three_share ? 3 : 2;
  const std::size_t pairs = std::max<std::size_t>(1, warps - warps % 2);
  const std::size_t served = std::min(warps, in_lockstep() ? pairs : greedy_);
  for (std::size_t i = 0; i < warps; ++i) {
    groups_[i].speed = i < served ? std::min(1.0, rules.full_speed_warps / static_cast<double>(served)) : 0;
  }
}

void IssueContention::serve(Rules& rules) {
  rules.always_issues ? serve_warps_oldest_first(rules) : serve_blocks_oldest_first(rules);
  soonest_ = std::numeric_limits<double>::infinity();
  if (rules.always_issues && in_lockstep()) {
    // At least a cycle, so that time passes.
    soonest_ = std::max(1.0, lockstep_until_ - updated_);
  }
  speed_ = 0;
  next_.reset();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.speed <= 0) continue;
    speed_ += static_cast<double>(group.left.size()) * group.speed;
    const double cycles = std::max(0.0, group.left.back().cycles - group.done) / group.speed;
    if (cycles >= soonest_) continue;
    soonest_ = cycles;
    next_ = i;
  }
}

int IssueContention::finish(std::vector<int>& finished) {
  if (!next_) return groups_.front().block;
  Group& group = groups_[*next_];
  has_ended_ = true;
  const int block = group.block;
  const double cycles = group.left.back().cycles;
  while (!group.left.empty() && group.left.back().cycles == cycles) {
    finished.push_back(group.left.back().warp);
    group.left.pop_back();
  }
  if (group.left.empty()) {
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(*next_));
    if (*next_ < greedy_) --greedy_;
  }
  return block;
}

double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle, double most) {
  if (bytes_per_cycle_asked == 0) return 0;
  return most * std::min(1.0, bytes_per_cycle_asked / (2 * bytes_per_cycle));
}

void MemoryContention::add_speed(double speed) {
  speed_ += speed;
  const double asked = bytes_of_warp_ * speed_;
  if (asked <= 0) {
    rate_ = 1;
    return;
  }
  rate_ = std::min(1.0, bytes_per_cycle_ / asked);
}

double MemoryContention::time_at(double clock) const {
  return time_ + std::max(0.0, clock - clock_) / rate_;
}

void MemoryContention::pass_to(double time) {
  clock_ += (time - time_) * rate_;
  time_ = time;
}

void MemoryContention::pass_to(double time, double clock) {
  time_ = time;
  clock_ = std::max(clock_, clock);
}

}  // namespace occbench
