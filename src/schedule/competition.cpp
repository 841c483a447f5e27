#include "schedule/competition.hpp"

#include <algorithm>

namespace occbench {

// Bandwidth slows all warps alike. So there is one clock that runs slower the more is asked for, on which
// only issue slots matter; every sub-partition is then on its own.

Competition::Competition(int partitions, double issue_rate, double byte_rate, double bytes_per_cycle)
    : most_full_speed_(issue_rate > 0 ? 1 / issue_rate : std::numeric_limits<double>::infinity()),
      byte_rate_(byte_rate),
      bytes_per_cycle_(bytes_per_cycle),
      partitions_(static_cast<std::size_t>(partitions)) {}

double Competition::warp_speed(std::size_t place) const {
  return std::clamp(most_full_speed_ - static_cast<double>(place), 0.0, 1.0);
}

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
  for (std::size_t i = 0; i < partition.running.size(); ++i) {
    partition.running[i].left = std::max(0.0, partition.running[i].left - passed * warp_speed(i));
  }
  partition.updated = clock_;
}

std::pair<std::size_t, double> Competition::soonest(const Partition& partition) const {
  std::pair<std::size_t, double> best{0, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < partition.running.size(); ++i) {
    const double speed = warp_speed(i);
    if (speed == 0) break;
    const double cycles = partition.running[i].left / speed;
    if (cycles < best.second) best = {i, cycles};
  }
  return best;
}

void Competition::schedule(int index) {
  Partition& partition = partitions_[static_cast<std::size_t>(index)];
  const double speed = std::min(static_cast<double>(partition.running.size()), most_full_speed_);
  speed_ += speed - partition.speed;
  partition.speed = speed;
  ++partition.version;
  if (!partition.running.empty()) next_.push({clock_ + soonest(partition).second, index, partition.version});
}

void Competition::begin(double time, int partition_index, std::int64_t warp, double cycles) {
  pass_time(time);
  Partition& partition = partitions_[static_cast<std::size_t>(partition_index)];
  update(partition);
  partition.running.push_back({warp, cycles});
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
  const std::size_t place = soonest(partition).first;
  const std::int64_t warp = partition.running[place].warp;
  partition.running.erase(partition.running.begin() + static_cast<std::ptrdiff_t>(place));
  schedule(next.partition);
  return {time, warp};
}

}  // namespace occbench
