#pragma once

#include <cstdint>
#include <vector>

#include "simulate/device_model.hpp"

namespace occbench {

/// The SMs' parts of the first wave.
struct FirstWave {
  int rounds;             ///< blocks that each SM takes
  std::vector<int> rest;  ///< SMs that take one more after those
};

/// A grid smaller than one wave is spread evenly over SMs in whole rounds. The rest goes to singleton TPCs,
/// then to the first SMs of all other TPCs, then to their second SMs.
/// @param even  off: each SM has room for `blocks_per_sm` blocks from the start, for any grid
FirstWave first_wave(const Topology& topology, int blocks_per_sm, std::int64_t grid_blocks, bool even = true);

/// Chooses the SM of the next block: GPCs are visited in a fixed cycle, and at each visit every SM of the GPC
/// that has room takes one block. Singleton TPCs are visited between GPCs. The order was seen on an H200
/// (docs/prediction.md, "Dispatch order"; Gilman et al. 2020 describe Pascal to Turing).
class Dispatcher {
 public:
  /// @param first_gpc                visited after the first visit to singleton TPCs
  /// @param gpcs_between_singletons  GPCs between two visits to singleton TPCs, one fewer before the second
  Dispatcher(const Topology& topology, int first_gpc, int gpcs_between_singletons);

  /// Sets the SMs' room; call it before the first block.
  void begin(const FirstWave& wave);

  /// Sets an SM's room from now on; its part of the first wave no longer applies.
  void set_room(int sm, int room);

  /// Blocks that all SMs together have room for.
  int total() const {
    return total_ + static_cast<int>(rest_.size());
  }

  /// Dispatches a block and returns its SM; -1 if no SM has room.
  int next();

  /// Dispatches a cluster of `blocks` blocks and returns its SMs, one per block, all of one GPC, those with
  /// most room first. Each visit dispatches one cluster. Singleton TPCs take clusters of at most two blocks; the
  /// model does not require both SMs to be of one TPC. Empty if no GPC has enough SMs with room.
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
  void begin_cycle();
  void begin_rest();
  void end_visit();
  bool choose_roomiest(int group, int blocks);

  const Topology& topology_;
  std::vector<int> chosen_;    ///< SMs for the next cluster
  std::vector<Group> groups_;  ///< GPCs, then the singleton TPCs as one
  std::vector<int> room_;
  int total_ = 0;          ///< sum of room_
  int rounds_left_ = 0;    ///< blocks of the first wave's rounds that have not been taken
  std::vector<int> rest_;  ///< SMs that take one more after them
  int first_gpc_;
  int gpcs_between_singletons_;
  int visited_ = 0;  ///< group
  int place_ = 0;    ///< in its group: the SMs before it have been visited
  int next_gpc_ = 0;
  int since_singletons_ = 0;
};

}  // namespace occbench
