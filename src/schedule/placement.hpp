#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "occupancy/occupancy.hpp"

namespace occbench {

/// What SMs take while the device first fills.
struct FirstFill {
  int rounds;             ///< blocks that each SM takes, by turns
  std::vector<int> rest;  ///< SMs that take one more, when all have taken those and turns begin again
};

/// A grid that leaves room is spread evenly over SMs. What is left of whole rounds goes to the singleton SMs,
/// the first ones of their pairs (TPCs) and then the second ones, to the first SMs of all other pairs, and
/// then to the second ones.
FirstFill first_fill(std::span<const int> gpc_sms, int singleton_sms, int blocks_per_sm,
                     std::int64_t grid_blocks);

/// Which SM takes the next block: GPCs have their turn in a fixed cycle, and in its turn each SM of a GPC
/// that has room takes one. A few SMs (the first `singleton_sms`) are a group of their own that has its turn
/// between the others', after five of them at first and then after every six (seen on the H200,
/// results/nvidia-h200/block-scheduling.md). Asking and telling take constant time.
class Dispatcher {
 public:
  /// @param gpc_sms    SMs of each GPC, at most 64, without the singleton ones; together they are all SMs
  /// @param first_gpc  whose turn it is after the singleton SMs'
  Dispatcher(std::span<const int> gpc_sms, int singleton_sms, int first_gpc);

  /// Before the first block: what SMs have room for.
  void fill(const FirstFill& fill);

  /// What an SM has room for from now on; it is no longer held to what it was to take while the device first
  /// fills.
  void set_room(int sm, int room);

  /// Blocks that all SMs together have room for.
  int total() const {
    return total_ + static_cast<int>(rest_.size());
  }

  /// Takes a block; -1 if no SM has room.
  int next();

  /// Takes a cluster of `blocks` blocks: the SMs, one for each, all of one GPC, those with most room; one
  /// cluster a turn. Singleton SMs take clusters of two only. Empty if no GPC has as many SMs with room.
  const std::vector<int>& next_cluster(int blocks);

 private:
  struct Group {
    int first_sm;
    std::uint64_t with_room;  ///< a bit for each of its SMs
  };

  int room(int sm) const {
    return room_[static_cast<std::size_t>(sm)];
  }
  void add_room(int sm, int blocks);
  void begin_turns();
  void begin_rest();
  void end_turn();
  bool choose_roomiest(int group, int blocks);

  std::vector<int> chosen_;    ///< SMs for the next cluster
  std::vector<Group> groups_;  ///< the last one: singleton SMs
  std::vector<int> group_of_sm_;
  std::vector<int> room_;
  int total_ = 0;          ///< of room_
  int rounds_left_ = 0;    ///< blocks of the first fill's rounds that have not been taken
  std::vector<int> rest_;  ///< SMs that are to take one more after them
  int gpcs_;
  int first_gpc_;
  int turn_;   ///< group
  int place_;  ///< in its group: the SMs before it have had their turn
  int next_gpc_;
  int since_singleton_;
};

/// The warp slots of all SMs.
///
/// What was seen on the H200 (results/nvidia-h200/block-scheduling.md): an exited warp's slot and registers
/// are free at once, but an SM takes new blocks only when a block ends on it or on the other SM of its TPC.
/// Warps go to the
/// sub-partitions in turn, and each block begins where the one before it on that SM ended: while the
/// sub-partitions whose turn it is are full, it waits, whatever is free in the others.
class WarpSlots {
 public:
  WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count);

  /// Blocks that fit into the slots that are free on an SM at `now`.
  int blocks_that_fit(int sm, double now) const;

  /// Where a warp is resident.
  struct Slot {
    int partition;
    int index;  ///< within its sub-partition
  };

  /// Gives the warps of a block slots that are free at `now`; there must be room. The slots stay taken until
  /// `free_at`.
  void take(int sm, double now, std::vector<Slot>& of_warps);

  /// A warp's slot is free from `time` on.
  void free_at(int sm, Slot slot, double time) {
    ends_[at(sm, slot.partition) + static_cast<std::size_t>(slot.index)] = time;
  }

  int partitions() const {
    return static_cast<int>(partitions_);
  }

 private:
  static constexpr int kMaxPartitions = 4;

  std::size_t at(int sm, int partition) const {
    return (static_cast<std::size_t>(sm) * partitions_ + static_cast<std::size_t>(partition)) * slots_;
  }

  std::size_t partitions_;
  std::size_t slots_;  ///< per sub-partition, as many as registers and warp limit allow
  int warps_per_block_;
  std::vector<double> ends_;
  std::vector<int> next_partition_;  ///< of each SM: where the next block's first warp goes
};

}  // namespace occbench
