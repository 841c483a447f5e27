#include "schedule/contention.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "schedule/portable_math.hpp"

namespace occbench {

// Bandwidth slows all warps alike. So there is one clock that runs slower the more is asked for, on which
// only issue slots matter; every sub-partition is then on its own.

namespace {

/// A loop's own instructions make 1 / rate a little more than the whole number of warps that fill the slots.
constexpr double kWholeWarps = 0.97;

}  // namespace

double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle) {
  constexpr double kMost = 0.1;
  if (bytes_per_cycle_asked == 0) return 0;
  return kMost * std::min(1.0, bytes_per_cycle_asked / (2 * bytes_per_cycle));
}

double draw_lockstep_cycles(std::uint64_t seed) {
  constexpr double kLeast = 30'000;
  constexpr double kMost = 500'000;
  // Multiples of the square root of three, less their whole parts.
  constexpr std::uint64_t kRootOfThree = 0xbb67ae8584caa73b;  // times 2^64, modulo 2^64
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const double chance = unit_interval((seed - 1) * kRootOfThree + kHalf);
  return kLeast * portable_exp(portable_log(kMost / kLeast) * chance);
}

Contention::Contention(int partitions, const Rates& alone, double bytes_per_cycle, const Turns& turns)
    : most_full_speed_(1 / std::max(alone.issue, alone.pipe)),
      in_turns_(alone.always_issues()),
      turns_(turns),
      byte_rate_(alone.bytes),
      bytes_per_cycle_(bytes_per_cycle),
      partitions_(static_cast<std::size_t>(partitions)) {}

// Requests queue before the memory is full: without that active cycles of reads were up to 24 % off where
// they ask for about as much as it can move (results/nvidia-h200/block-scheduling.md, "Bandwidth").
double Contention::time_rate() const {
  const double asked = byte_rate_ * speed_;
  if (asked <= 0) return 1;
  const double load = asked / bytes_per_cycle_;
  return portable_exp(-portable_log(1 + load * load * load) / 3);
}

void Contention::pass_time(double time) {
  clock_ += (time - time_) * time_rate();
  time_ = time;
}

void Contention::update(Partition& partition) {
  const double passed = clock_ - partition.updated;
  for (Group& group : partition.groups) group.done += passed * group.speed;
  partition.updated = clock_;
}

void Contention::serve_oldest_first(std::vector<Group>& groups) const {
  std::size_t all_warps = 0;
  for (const Group& group : groups) all_warps += group.left.size();
  const double in_turn = std::ceil(most_full_speed_ * kWholeWarps);
  const double most =
      static_cast<double>(all_warps) < in_turn ? 1 : std::min(1.0, most_full_speed_ / in_turn);
  double free_speed = most_full_speed_;
  for (Group& group : groups) {
    const auto warps = static_cast<double>(group.left.size());
    group.speed = std::min(most, free_speed / warps);
    free_speed = std::max(0.0, free_speed - warps * group.speed);
  }
}

void Contention::serve_in_turns(Partition& partition) {
  const std::size_t warps = partition.groups.size();
  const bool lockstep = is_in_lockstep(partition);
  if (!lockstep && partition.in_turn == 0) {
    partition.in_turn = unit_interval(random_bits(turns_.seed, turns_drawn_++)) < turns_.of_three ? 3 : 2;
  }
  const std::size_t pairs = std::max<std::size_t>(1, warps - warps % 2);
  const std::size_t served = std::min(warps, lockstep ? pairs : partition.in_turn);
  for (std::size_t i = 0; i < warps; ++i) {
    partition.groups[i].speed =
        i < served ? std::min(1.0, most_full_speed_ / static_cast<double>(served)) : 0;
  }
}

void Contention::schedule(int index) {
  Partition& partition = partitions_[static_cast<std::size_t>(index)];
  in_turns_ ? serve_in_turns(partition) : serve_oldest_first(partition.groups);
  double speed = 0;
  double soonest = std::numeric_limits<double>::infinity();
  if (in_turns_ && is_in_lockstep(partition)) {
    // At least a cycle, so that time passes.
    soonest = std::max(1.0, partition.lockstep_until - partition.updated);
  }
  partition.next.reset();
  for (std::size_t i = 0; i < partition.groups.size(); ++i) {
    const Group& group = partition.groups[i];
    if (group.speed <= 0) continue;
    speed += static_cast<double>(group.left.size()) * group.speed;
    const double cycles = std::max(0.0, group.left.back().cycles - group.done) / group.speed;
    if (cycles >= soonest) continue;
    soonest = cycles;
    partition.next = i;
  }
  speed_ += speed - partition.speed;
  partition.speed = speed;
  ++partition.version;
  if (!partition.groups.empty()) next_.push({clock_ + soonest, index, partition.version});
}

void Contention::begin(double time, int partition_index, int block, std::span<const Warp> warps) {
  pass_time(time);
  Partition& partition = partitions_[static_cast<std::size_t>(partition_index)];
  update(partition);
  if (partition.groups.empty()) {
    partition.lockstep_until = clock_ + turns_.lockstep_cycles;
    partition.in_turn = 0;
  } else if (partition.has_ended) {
    partition.lockstep_until = clock_;
  }
  if (in_turns_) {
    // Of one block, the last warp is served as the oldest is.
    for (auto warp = warps.rbegin(); warp != warps.rend(); ++warp)
      partition.groups.push_back({block, {*warp}});
  } else {
    Group group{block, {warps.begin(), warps.end()}};
    std::ranges::sort(group.left, std::ranges::greater{}, &Warp::cycles);
    partition.groups.push_back(std::move(group));
  }
  schedule(partition_index);
}

void Contention::drop_stale() const {
  while (!next_.empty() &&
         next_.top().version != partitions_[static_cast<std::size_t>(next_.top().partition)].version) {
    next_.pop();
  }
}

double Contention::next_finish() const {
  drop_stale();
  if (next_.empty()) return std::numeric_limits<double>::infinity();
  return time_ + std::max(0.0, next_.top().clock - clock_) / time_rate();
}

int Contention::finish(Partition& partition, std::size_t index) {
  Group& group = partition.groups[index];
  partition.has_ended = true;
  const int block = group.block;
  const double cycles = group.left.back().cycles;
  while (!group.left.empty() && group.left.back().cycles == cycles) {
    finished_.push_back(group.left.back().warp);
    group.left.pop_back();
  }
  if (group.left.empty()) {
    partition.groups.erase(partition.groups.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < partition.in_turn) --partition.in_turn;
  }
  return block;
}

Contention::Finished Contention::finish_next() {
  const double time = next_finish();
  const Next next = next_.top();
  time_ = time;
  clock_ = std::max(clock_, next.clock);
  Partition& partition = partitions_[static_cast<std::size_t>(next.partition)];
  update(partition);
  finished_.clear();
  const int block = partition.next ? finish(partition, *partition.next) : partition.groups.front().block;
  schedule(next.partition);
  return {time, block, finished_};
}

}  // namespace occbench
