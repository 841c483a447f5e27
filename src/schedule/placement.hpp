#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "occupancy/occupancy.hpp"

namespace occbench {

/// Which SM takes the next block once the device has been full: the one with room for most blocks, and of
/// those the first. Asking and telling both take constant time.
class RoomIndex {
 public:
  RoomIndex(int sm_count, int max_room)
      : words_((sm_count + 63) / 64),
        max_room_(max_room),
        members_(static_cast<std::size_t>(words_) * static_cast<std::size_t>(max_room + 1)),
        counts_(static_cast<std::size_t>(max_room) + 1),
        room_(static_cast<std::size_t>(sm_count)) {
    for (int sm = 0; sm < sm_count; ++sm) insert(sm, 0);
  }

  int room(int sm) const {
    return room_[static_cast<std::size_t>(sm)];
  }

  void set_room(int sm, int room) {
    const int before = room_[static_cast<std::size_t>(sm)];
    member_word(sm, before) &= ~bit(sm);
    --counts_[static_cast<std::size_t>(before)];
    total_ += room - before;
    insert(sm, room);
  }

  /// Blocks that all SMs together have room for.
  int total() const {
    return total_;
  }

  /// -1 if no SM has room.
  int roomiest() const {
    for (int room = max_room_; room > 0; --room) {
      if (counts_[static_cast<std::size_t>(room)] == 0) continue;
      for (int word = 0; word < words_; ++word) {
        const std::uint64_t bits = members_[static_cast<std::size_t>(room * words_ + word)];
        if (bits != 0) return word * 64 + std::countr_zero(bits);
      }
    }
    return -1;
  }

 private:
  static std::uint64_t bit(int sm) {
    return std::uint64_t{1} << (sm % 64);
  }
  std::uint64_t& member_word(int sm, int room) {
    return members_[static_cast<std::size_t>(room * words_ + sm / 64)];
  }
  void insert(int sm, int room) {
    room_[static_cast<std::size_t>(sm)] = room;
    member_word(sm, room) |= bit(sm);
    ++counts_[static_cast<std::size_t>(room)];
  }

  int words_;
  int max_room_;
  std::vector<std::uint64_t> members_;  ///< [room][sm / 64]: the SMs with that room
  std::vector<int> counts_;             ///< SMs with that room
  std::vector<int> room_;
  int total_ = 0;
};

/// Which SM takes the next block while the device first fills: SMs in turn, but a few (the first `eager_sms`)
/// have their turn again whenever the others have taken `eager_period` blocks. A grid that leaves room is
/// spread evenly over TPCs, pairs of SMs: where a pair's share is odd, its first SM has one block more.
class FirstFill {
 public:
  FirstFill(int sm_count, int eager_sms, int eager_period, int blocks_per_sm, std::int64_t grid_blocks);

  /// -1 if every SM has its share.
  int next();

 private:
  bool take(int sm);

  int sm_count_;
  int eager_sms_;
  int eager_period_;
  std::array<int, 2> share_;  ///< of the first and of the second SM of a pair
  std::vector<int> taken_;
  int next_eager_ = 0;  ///< eager_sms: wait for the others
  int next_;
  int since_eager_ = 0;
};

/// The warp slots of all SMs.
///
/// What was seen on the H200 (results/nvidia-h200/block-scheduling.md): an exited warp's slot and registers
/// are free at once, but an SM takes new blocks only when one of its blocks ends. Warps go to the
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
  using Free = std::array<int, kMaxPartitions>;

  std::size_t at(int sm, int partition) const {
    return (static_cast<std::size_t>(sm) * partitions_ + static_cast<std::size_t>(partition)) * slots_;
  }
  Free free_slots(int sm, double now) const;
  /// Takes the slots of a block whose first warp goes to `first` out of `free` and moves `first` on; false,
  /// and nothing changes, if they do not fit.
  bool place_block(Free& free, int& first) const;

  std::size_t partitions_;
  std::size_t slots_;  ///< per sub-partition, as many as registers and warp limit allow
  int warps_per_block_;
  std::vector<double> ends_;
  std::vector<int> next_partition_;  ///< of each SM: where the next block's first warp goes
};

}  // namespace occbench
