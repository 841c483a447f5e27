#pragma once

#include <cstdint>
#include <vector>

#include "simulate/device_model.hpp"

namespace occbench {

/// What SMs take of the first wave.
struct FirstWave {
  int rounds;             ///< blocks that each SM takes
  std::vector<int> rest;  ///< SMs that take one more after those
};

/// A grid that leaves room is spread evenly over SMs: as many whole rounds as there are, and what is left
/// goes to singleton TPCs, to the first SMs of all other TPCs, and then to their second ones.
/// @param even  off: each SM has room for `blocks_per_sm` from the start, whatever the grid
FirstWave first_wave(const Topology& topology, int blocks_per_sm, std::int64_t grid_blocks, bool even = true);

/// Which SM takes the next block: GPCs are visited in a fixed cycle, and at each visit every SM of the GPC
/// that has room takes one block. Singleton TPCs are visited between GPCs. The order was seen on an H200
/// (docs/prediction.md, "Dispatch order"; Gilman et al. 2020 describe Pascal to Turing). Asking and telling
/// take constant time.
class Dispatcher {
 public:
  /// @param first_gpc                whose visit comes after the singleton TPCs' first one
  /// @param gpcs_between_singletons  GPCs between two visits to singleton TPCs, one fewer before the second
  Dispatcher(const Topology& topology, int first_gpc, int gpcs_between_singletons);

  /// Before the first block: what SMs have room for.
  void begin(const FirstWave& wave);

  /// What an SM has room for from now on; its part in the first wave no longer holds.
  void set_room(int sm, int room);

  /// Blocks that all SMs together have room for.
  int total() const {
    return total_ + static_cast<int>(rest_.size());
  }

  /// Takes a block; -1 if no SM has room.
  int next();

  /// Takes a cluster of `blocks` blocks: the SMs, one for each, all of one GPC, those with most room first;
  /// one cluster a visit. A singleton TPC takes clusters of its two SMs at most. Empty if no GPC has as many
  /// SMs with room.
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
  int total_ = 0;          ///< of room_
  int rounds_left_ = 0;    ///< blocks of the first wave's rounds that have not been taken
  std::vector<int> rest_;  ///< SMs that are to take one more after them
  int first_gpc_;
  int gpcs_between_singletons_;
  int visited_ = 0;  ///< group
  int place_ = 0;    ///< in its group: the SMs before it have been visited
  int next_gpc_ = 0;
  int since_singletons_ = 0;
};

}  // namespace occbench
