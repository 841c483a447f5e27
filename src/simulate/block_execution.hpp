#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "simulate/contention.hpp"
#include "simulate/draws.hpp"
#include "simulate/event_queue.hpp"
#include "simulate/residency.hpp"
#include "simulate/sm.hpp"
#include "simulate/warp_slots.hpp"
#include "simulate/workload.hpp"

namespace occbench {

/// A block that an SM has launched.
struct RunningBlock {
  std::int64_t block;
  int sm;
  Sm::Launched launched;
  double work_begin;  ///< its warps begin their work
};

/// The last warp of a block has ended.
struct EndedBlock {
  double time;
  int sm;
};

/// What the blocks of a launch share while they run.
struct Execution {
  const Workload& workload;
  const Draws& draws;
  const SmRules& rules;
  std::vector<Sm>& sms;
  WarpSlots& slots;
  Residency& residency;

  Sm& sm(int index) const {
    return sms[static_cast<std::size_t>(index)];
  }
};

/// Blocks whose warps lack nothing: their ends are known when they begin.
class IndependentBlocks {
 public:
  /// @param by_warp  warps give their slots back one by one
  IndependentBlocks(const Execution& execution, bool by_warp);

  /// Runs a block; gives when it ends.
  double run(const RunningBlock& running);

 private:
  double lateness(const RunningBlock& running, double due) const;
  int polling_blocks(const RunningBlock& running, double now) const;
  double run_warps(const RunningBlock& running, double begin, double late, double early);

  Execution execution_;
  bool by_warp_;
  std::array<double, 256> latest_warp_{};  ///< chances of how late the latest warp of a block is, 0 to 1
  std::vector<double> last_ends_;          ///< of as many blocks of each SM as it holds
  std::vector<WarpSlots::Slot> slots_of_warps_;
};

/// Blocks whose warps contend: each end depends on who else is there.
class ContendingBlocks {
 public:
  /// @param resident_blocks  that the device holds at once
  ContendingBlocks(const Execution& execution, const DeviceParameters& parameters,
                   std::int64_t resident_blocks);

  void run(const RunningBlock& running);

  /// When the next thing happens if no block begins before; infinity if none runs.
  double next_event() const {
    return std::min(next_begin_, next_finish_);
  }

  /// Passes it; the blocks that have ended are appended to `ended`.
  void pass_event(std::vector<EndedBlock>& ended);

 private:
  struct Open {
    RunningBlock running;
    int warps_left;
    std::vector<WarpSlots::Slot> slots;  ///< of its warps
  };
  /// An open block's warps begin their work.
  struct WorkBegin {
    double time;
    int open;
  };
  struct OnSm {
    int blocks = 0;
    double since = 0;  ///< when it had none last
  };

  double memory_chance(const RunningBlock& running, int warp) const;
  void find_next_begin();
  void begin_work();
  void finish_warps(std::vector<EndedBlock>& ended);

  Execution execution_;
  Contention contention_;
  double memory_spread_;
  std::vector<Open> open_;
  std::vector<int> free_;  ///< entries of open_
  std::vector<OnSm> on_sm_;
  EventQueue<WorkBegin> beginning_;
  std::vector<ContendingWarp> warps_;
  double next_begin_ = std::numeric_limits<double>::infinity();
  double next_finish_ = std::numeric_limits<double>::infinity();
};

}  // namespace occbench
