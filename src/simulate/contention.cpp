#include "simulate/contention.hpp"

#include <limits>

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

}  // namespace occbench
