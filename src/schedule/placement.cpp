#include "schedule/placement.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace occbench {

namespace {

/// Warps that one sub-partition can hold, by the SM's warp limit and by its registers.
int slots_of_partition(const Limits& limits, const Occupancy& occupancy, int partitions) {
  const int by_warps = limits.max_warps_per_sm / partitions;
  if (occupancy.registers_per_block == 0) return by_warps;
  const int registers_per_warp =
      (occupancy.registers_per_block + occupancy.warps_per_block - 1) / occupancy.warps_per_block;
  return std::min(by_warps, limits.registers_per_sm / partitions / registers_per_warp);
}

}  // namespace

Dispatcher::Dispatcher(std::span<const int> gpc_sms, int singleton_sms, int first_gpc)
    : gpcs_(static_cast<int>(gpc_sms.size())), first_gpc_(first_gpc) {
  begin_turns();
  int sm = singleton_sms;
  for (int gpc = 0; gpc < gpcs_; ++gpc) {
    groups_.push_back({sm, 0});
    sm += gpc_sms[static_cast<std::size_t>(gpc)];
  }
  groups_.push_back({0, 0});
  room_.resize(static_cast<std::size_t>(sm));
  group_of_sm_.assign(static_cast<std::size_t>(singleton_sms), gpcs_);
  for (int gpc = 0; gpc < gpcs_; ++gpc) {
    group_of_sm_.insert(group_of_sm_.end(), static_cast<std::size_t>(gpc_sms[static_cast<std::size_t>(gpc)]),
                        gpc);
  }
}

void Dispatcher::begin_turns() {
  turn_ = gpcs_;
  place_ = 0;
  next_gpc_ = first_gpc_;
  since_singleton_ = 1;
}

void Dispatcher::fill(const FirstFill& fill) {
  for (int sm = 0; sm < static_cast<int>(room_.size()); ++sm) add_room(sm, fill.rounds);
  rounds_left_ = total_;
  rest_ = fill.rest;
}

void Dispatcher::add_room(int sm, int blocks) {
  const auto index = static_cast<std::size_t>(sm);
  total_ += blocks;
  room_[index] += blocks;
  Group& group = groups_[static_cast<std::size_t>(group_of_sm_[index])];
  const std::uint64_t bit = std::uint64_t{1} << (sm - group.first_sm);
  group.with_room = room_[index] > 0 ? group.with_room | bit : group.with_room & ~bit;
}

void Dispatcher::set_room(int sm, int room_now) {
  add_room(sm, room_now - room(sm));
  std::erase(rest_, sm);
}

void Dispatcher::begin_rest() {
  begin_turns();
  for (const int sm : rest_) add_room(sm, 1);
  rest_.clear();
}

int Dispatcher::next() {
  if (!rest_.empty() && (rounds_left_ == 0 || total_ == 0)) begin_rest();
  if (total_ == 0) return -1;
  rounds_left_ = std::max(0, rounds_left_ - 1);
  while (true) {
    const Group& group = groups_[static_cast<std::size_t>(turn_)];
    const std::uint64_t left = place_ < 64 ? group.with_room >> place_ : 0;
    if (left != 0) {
      place_ += std::countr_zero(left) + 1;
      const int sm = group.first_sm + place_ - 1;
      add_room(sm, -1);
      return sm;
    }
    end_turn();
  }
}

bool Dispatcher::choose_roomiest(int group, int blocks) {
  constexpr int kMostBlocksOfSingletonCluster = 2;
  chosen_.clear();
  if (group == gpcs_ && blocks > kMostBlocksOfSingletonCluster) return false;
  const Group& of = groups_[static_cast<std::size_t>(group)];
  if (std::popcount(of.with_room) < blocks) return false;
  for (std::uint64_t left = of.with_room; left != 0; left &= left - 1) {
    chosen_.push_back(of.first_sm + std::countr_zero(left));
  }
  std::ranges::stable_sort(chosen_, std::ranges::greater{}, [&](int sm) { return room(sm); });
  chosen_.resize(static_cast<std::size_t>(blocks));
  return true;
}

const std::vector<int>& Dispatcher::next_cluster(int blocks) {
  // Twice round: singleton SMs have their turn in every second cycle at least.
  for (int tried = 0; tried < 2 * (gpcs_ + 1); ++tried) {
    const int group = turn_;
    end_turn();
    if (!choose_roomiest(group, blocks)) continue;
    for (const int sm : chosen_) add_room(sm, -1);
    return chosen_;
  }
  chosen_.clear();
  return chosen_;
}

void Dispatcher::end_turn() {
  constexpr int kGpcsBetweenSingleton = 6;
  place_ = 0;
  if (since_singleton_ >= kGpcsBetweenSingleton) {
    since_singleton_ = 0;
    turn_ = gpcs_;
    return;
  }
  ++since_singleton_;
  turn_ = next_gpc_;
  next_gpc_ = next_gpc_ + 1 < gpcs_ ? next_gpc_ + 1 : 0;
}

FirstFill first_fill(std::span<const int> gpc_sms, int singleton_sms, int blocks_per_sm,
                     std::int64_t grid_blocks) {
  const int sms = std::accumulate(gpc_sms.begin(), gpc_sms.end(), singleton_sms);
  if (grid_blocks / sms >= blocks_per_sm) return {blocks_per_sm, {}};
  FirstFill fill{static_cast<int>(grid_blocks / sms), {}};
  const auto rest = static_cast<std::size_t>(grid_blocks % sms);
  const auto add = [&](int sm) {
    if (fill.rest.size() < rest) fill.rest.push_back(sm);
  };
  for (const int of_pair : {0, 1}) {
    for (int sm = of_pair; sm < singleton_sms; sm += 2) add(sm);
  }
  // Pairs are numbered across GPCs: the first pair of each, then the second of each.
  const int longest = gpc_sms.empty() ? 0 : std::ranges::max(gpc_sms);
  for (const int of_pair : {0, 1}) {
    for (int place = of_pair; place < longest; place += 2) {
      int first_sm = singleton_sms;
      for (const int of_gpc : gpc_sms) {
        if (place < of_gpc) add(first_sm + place);
        first_sm += of_gpc;
      }
    }
  }
  return fill;
}

WarpSlots::WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count)
    : partitions_(static_cast<std::size_t>(std::clamp(limits.sub_partitions, 1, kMaxPartitions))),
      slots_(static_cast<std::size_t>(slots_of_partition(limits, occupancy, static_cast<int>(partitions_)))),
      warps_per_block_(occupancy.warps_per_block),
      ends_(static_cast<std::size_t>(sm_count) * partitions_ * slots_),
      next_partition_(static_cast<std::size_t>(sm_count)) {}

int WarpSlots::blocks_that_fit(int sm, double now) const {
  // After n blocks the sub-partition that is `turn` after the first one has ceil((n * warps - turn) /
  // partitions) warps more.
  const auto first = static_cast<std::size_t>(next_partition_[static_cast<std::size_t>(sm)]);
  std::size_t blocks = std::numeric_limits<std::size_t>::max();
  for (std::size_t turn = 0; turn < partitions_; ++turn) {
    const double* ends = ends_.data() + at(sm, static_cast<int>((first + turn) % partitions_));
    std::size_t free = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) free += ends[slot] <= now;
    blocks = std::min(blocks, (partitions_ * free + turn) / static_cast<std::size_t>(warps_per_block_));
  }
  return static_cast<int>(blocks);
}

void WarpSlots::take(int sm, double now, std::vector<Slot>& of_warps) {
  const int partitions = static_cast<int>(partitions_);
  int& next = next_partition_[static_cast<std::size_t>(sm)];
  const int first = next;
  next = (next + warps_per_block_) % partitions;
  of_warps.resize(static_cast<std::size_t>(warps_per_block_));
  for (int partition = 0; partition < partitions; ++partition) {
    const std::size_t base = at(sm, partition);
    int slot = 0;
    for (int warp = (partition - first + partitions) % partitions; warp < warps_per_block_;
         warp += partitions) {
      while (ends_[base + static_cast<std::size_t>(slot)] > now) ++slot;
      ends_[base + static_cast<std::size_t>(slot)] = std::numeric_limits<double>::infinity();
      of_warps[static_cast<std::size_t>(warp)] = {partition, slot++};
    }
  }
}

}  // namespace occbench
