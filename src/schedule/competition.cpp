#include "schedule/competition.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace occbench {

// Bandwidth slows all warps alike. So there is one clock that runs slower the more is asked for, on which
// only issue slots matter; every sub-partition is then on its own.

Competition::Competition(int partitions, double issue_rate, double byte_rate, double bytes_per_cycle)
    : most_full_speed_(issue_rate > 0 ? 1 / issue_rate : std::numeric_limits<double>::infinity()),
      byte_rate_(byte_rate),
      bytes_per_cycle_(bytes_per_cycle),
      partitions_(static_cast<std::size_t>(partitions)) {}

double Competition::time_rate() const {
  const double asked = byte_rate_ * speed_;
  return asked > bytes_per_cycle_ ? bytes_per_cycle_ / asked : 1;
}

void Competition::pass_time(double time) {
  clock_ += (time - time_) * time_rate();
  time_ = time;
}

void Competition::update(Partition& partition) {
  const double passed = clock_ - partition.updated;
  for (Group& group : partition.groups) group.done += passed * group.speed;
  partition.updated = clock_;
}

void Competition::schedule(int index) {
  Partition& partition = partitions_[static_cast<std::size_t>(index)];
  double free_speed = most_full_speed_;
  double speed = 0;
  double soonest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < partition.groups.size(); ++i) {
    Group& group = partition.groups[i];
    const auto warps = static_cast<double>(group.left.size());
    group.speed = std::min(1.0, free_speed / warps);
    if (group.speed <= 0) continue;
    free_speed = std::max(0.0, free_speed - warps * group.speed);
    speed += warps * group.speed;
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

void Competition::begin(double time, int partition_index, int block, std::span<const Warp> warps) {
  pass_time(time);
  Partition& partition = partitions_[static_cast<std::size_t>(partition_index)];
  update(partition);
  Group group{block, {warps.begin(), warps.end()}};
  std::ranges::sort(group.left, std::ranges::greater{}, &Warp::cycles);
  partition.groups.push_back(std::move(group));
  schedule(partition_index);
}

void Competition::drop_stale() const {
  while (!next_.empty() &&
         next_.top().version != partitions_[static_cast<std::size_t>(next_.top().partition)].version) {
    next_.pop();
  }
}

double Competition::next_finish() const {
  drop_stale();
  if (next_.empty()) return std::numeric_limits<double>::infinity();
  return time_ + std::max(0.0, next_.top().clock - clock_) / time_rate();
}

Competition::Finished Competition::finish_next() {
  const double time = next_finish();
  const Next next = next_.top();
  time_ = time;
  clock_ = std::max(clock_, next.clock);
  Partition& partition = partitions_[static_cast<std::size_t>(next.partition)];
  update(partition);
  Group& group = partition.groups[partition.next];
  const int block = group.block;
  const double cycles = group.left.back().cycles;
  finished_.clear();
  while (!group.left.empty() && group.left.back().cycles == cycles) {
    finished_.push_back(group.left.back().warp);
    group.left.pop_back();
  }
  if (group.left.empty()) {
    partition.groups.erase(partition.groups.begin() + static_cast<std::ptrdiff_t>(partition.next));
  }
  schedule(next.partition);
  return {time, block, finished_};
}

}  // namespace occbench
