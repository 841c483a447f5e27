#include "schedule/simulate.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "schedule/competition.hpp"
#include "schedule/placement.hpp"
#include "schedule/portable_math.hpp"

namespace occbench {
namespace {

constexpr std::int64_t kMaxGridBlocks = (std::int64_t{1} << 31) - 1;  // gridDim.x (CUDA programming guide)
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A block ended; its SM takes new ones from `time` on.
struct HandOver {
  double time;
  double block_end;
  int sm;
};

/// A block that competes and whose end is therefore not known when it starts.
struct OpenBlock {
  double begin;
  std::int64_t block;
  int sm;
  int warps_left;
  std::vector<WarpSlots::Slot> slots;  ///< of its warps
};

/// An open block's warps begin their work.
struct Join {
  double time;
  int open_block;
};

struct Later {
  template <typename Event>
  bool operator()(const Event& a, const Event& b) const {
    return a.time > b.time;
  }
};
template <typename Event>
using EventQueue = std::priority_queue<Event, std::vector<Event>, Later>;

template <typename Event>
double next_time(const EventQueue<Event>& events) {
  return events.empty() ? kNever : events.top().time;
}

struct Sm {
  double may_start = 0;     ///< when it can start the next block
  double active_until = 0;  ///< last end of a warp whose end is known
  double active_cycles = 0;
  std::int64_t blocks_started = 0;
  int resident_blocks = 0;  ///< until the hand-over
  int open_blocks = 0;
  double open_since = 0;  ///< when it had none open last
};

/// Equal blocks repeat wave after wave: more than this many are not simulated one by one.
constexpr std::int64_t kMostEqualBlocks = 1 << 18;
constexpr std::int64_t kLeastWaves = 16;

class Scheduler {
 public:
  Scheduler(const Limits& limits, const Occupancy& occupancy, int cluster_blocks, int sm_count,
            const DeviceProfile& profile, const Tasks& tasks, std::uint64_t seed)
      : profile_(profile),
        tasks_(tasks),
        seed_(seed),
        cluster_blocks_(cluster_blocks),
        max_warps_(limits.max_warps_per_sm),
        warps_per_block_(occupancy.warps_per_block),
        warps_differ_(tasks.differ_within_blocks()),
        // Where blocks fill whole rows of sub-partitions and end as one, counting blocks comes to the same.
        warp_by_warp_(tasks.differ_within_blocks() || tasks.compete() ||
                      occupancy.warps_per_block % std::max(1, limits.sub_partitions) != 0),
        // Shared memory, barriers and block slots are a block's until it ends; warps give theirs back one by
        // one.
        most_blocks_(warp_by_warp_
                         ? std::min({occupancy.block_limits.blocks, occupancy.block_limits.shared_memory,
                                     occupancy.block_limits.barriers})
                         : occupancy.blocks_per_sm),
        blocks_per_sm_(occupancy.blocks_per_sm),
        start_interval_(profile.sm_start_cycles_per_block),
        dispatch_interval_(profile.fill_cycles_per_block),
        first_fill_(sm_count, profile.eager_sms, profile.eager_period, occupancy.blocks_per_sm,
                    tasks.grid_blocks()),
        rooms_(sm_count, most_blocks_),
        sms_(static_cast<std::size_t>(sm_count)),
        slots_(limits, occupancy, sm_count) {
    if (tasks.compete()) {
      competition_.emplace(sm_count * slots_.partitions(), tasks.issue_rate(), tasks.byte_rate(),
                           profile.bytes_per_cycle);
    }
    for (int sm = 0; sm < sm_count; ++sm) {
      rooms_.set_room(sm, occupancy.blocks_per_sm);
      sm_at(sm).may_start =
          profile.sm_spread_cycles * unit_interval(random_bits(~seed, static_cast<std::uint64_t>(sm)));
    }
    if (tasks.all_equal() && tasks.grid_blocks() > kMostEqualBlocks) {
      wave_blocks_ = full_wave_blocks(occupancy, sm_count);
      const std::int64_t simulated = std::max(kMostEqualBlocks, kLeastWaves * wave_blocks_);
      skipped_waves_ = std::max<std::int64_t>(0, (tasks.grid_blocks() - simulated) / wave_blocks_);
    }
  }

  Simulation run() {
    const std::int64_t simulated = tasks_.grid_blocks() - skipped_waves_ * wave_blocks_;
    for (std::int64_t block = 0; block < simulated; ++block) {
      if (skipped_waves_ > 0) skip_waves(block, simulated);
      if (block % cluster_blocks_ == 0) wait_for_room(cluster_blocks_);
      int sm = filling_ ? first_fill_.next() : -1;
      if (sm < 0) sm = rooms_.roomiest();
      start(block, sm);
    }
    while (next_competition_event() < kNever) {
      now_ = std::max(now_, next_competition_event());
      pass_events();
    }
    return result();
  }

 private:
  void wait_for_room(int blocks) {
    pass_events();
    while (rooms_.total() < blocks) {
      now_ = std::max(now_, std::min(next_time(hand_overs_), next_competition_event()));
      dispatch_interval_ = profile_.refill_cycles_per_block;
      start_interval_ =
          std::max(profile_.sm_start_cycles_per_block, profile_.sm_start_cycles_per_warp * warps_per_block_);
      pass_events();
    }
  }

  double next_competition_event() const {
    return competition_ ? std::min(next_time(joins_), competition_->next_finish()) : kNever;
  }

  /// Everything that has happened by now, in its order.
  void pass_events() {
    if (!competition_) {
      while (next_time(hand_overs_) <= now_) hand_over();
      return;
    }
    while (true) {
      const double finish = competition_->next_finish();
      const double join_time = next_time(joins_);
      const double hand_over_time = next_time(hand_overs_);
      if (std::min({finish, join_time, hand_over_time}) > now_) return;
      if (finish <= std::min(join_time, hand_over_time)) {
        finish_warps();
      } else if (join_time <= hand_over_time) {
        join();
      } else {
        hand_over();
      }
    }
  }

  void hand_over() {
    filling_ = false;
    const HandOver ended = hand_overs_.top();
    hand_overs_.pop();
    const int blocks = most_blocks_ - --sm_at(ended.sm).resident_blocks;
    rooms_.set_room(ended.sm, warp_by_warp_
                                  ? std::min(blocks, slots_.blocks_that_fit(ended.sm, ended.block_end))
                                  : blocks);
  }

  void start(std::int64_t block, int sm_index) {
    Sm& sm = sm_at(sm_index);
    const double begin = std::max(now_, sm.may_start);
    sm.may_start = begin + start_interval_;
    now_ += dispatch_interval_;
    ++sm.resident_blocks;
    rooms_.set_room(sm_index, rooms_.room(sm_index) - 1);

    const double chance = chance_of(sm_index, sm.blocks_started++ / blocks_per_sm_);
    const double work_begin = begin + profile_.warp_overhead_cycles + profile_.jitter_cycles * chance;
    if (competition_) {
      open(block, sm_index, begin, work_begin);
      return;
    }
    const double end =
        warp_by_warp_ ? run_warps(block, sm_index, begin, work_begin) : run_block(block, begin, work_begin);
    sm.active_cycles += std::max(0.0, end - std::max(begin, sm.active_until));
    sm.active_until = std::max(sm.active_until, end);
    hand_overs_.push({end + profile_.hand_over_cycles, end, sm_index});
  }

  /// Between 0 and 1, by SM and by how often its blocks have been replaced: those side by side share it.
  double chance_of(int sm, std::int64_t turn) const {
    return unit_interval(
        random_bits(seed_ + static_cast<std::uint64_t>(sm), static_cast<std::uint64_t>(turn)));
  }

  double run_block(std::int64_t block, double begin, double work_begin) {
    const double end = work_begin + tasks_.block_cycles(block);
    account(begin, end, warps_per_block_);
    return end;
  }

  double run_warps(std::int64_t block, int sm, double begin, double work_begin) {
    slots_.take(sm, begin, slots_of_warps_);
    const double block_cycles = tasks_.block_cycles(block);
    double last = begin;
    for (int warp = 0; warp < warps_per_block_; ++warp) {
      const double end = work_begin + (warps_differ_ ? tasks_.warp_cycles(block, warp) : block_cycles);
      slots_.free_at(sm, slots_of_warps_[static_cast<std::size_t>(warp)], end);
      account(begin, end, 1);
      last = std::max(last, end);
    }
    return last;
  }

  void open(std::int64_t block, int sm_index, double begin, double work_begin) {
    int index = static_cast<int>(open_blocks_.size());
    if (free_open_blocks_.empty()) {
      open_blocks_.emplace_back();
    } else {
      index = free_open_blocks_.back();
      free_open_blocks_.pop_back();
    }
    OpenBlock& open = open_blocks_[static_cast<std::size_t>(index)];
    open.begin = begin;
    open.block = block;
    open.sm = sm_index;
    open.warps_left = warps_per_block_;
    slots_.take(sm_index, begin, open.slots);
    Sm& sm = sm_at(sm_index);
    if (sm.open_blocks++ == 0) sm.open_since = begin;
    joins_.push({work_begin, index});
  }

  void join() {
    const Join joined = joins_.top();
    joins_.pop();
    const OpenBlock& open = open_blocks_[static_cast<std::size_t>(joined.open_block)];
    const double block_cycles = tasks_.block_cycles(open.block);
    for (int partition = 0; partition < slots_.partitions(); ++partition) {
      beginning_.clear();
      for (int warp = 0; warp < warps_per_block_; ++warp) {
        if (open.slots[static_cast<std::size_t>(warp)].partition != partition) continue;
        beginning_.push_back({warps_differ_ ? tasks_.warp_cycles(open.block, warp) : block_cycles, warp});
      }
      if (beginning_.empty()) continue;
      competition_->begin(joined.time, open.sm * slots_.partitions() + partition, joined.open_block,
                          beginning_);
    }
  }

  void finish_warps() {
    const Competition::Finished finished = competition_->finish_next();
    OpenBlock& open = open_blocks_[static_cast<std::size_t>(finished.block)];
    for (const int warp : finished.warps) {
      slots_.free_at(open.sm, open.slots[static_cast<std::size_t>(warp)], finished.time);
    }
    const int warps = static_cast<int>(finished.warps.size());
    account(open.begin, finished.time, warps);
    open.warps_left -= warps;
    if (open.warps_left > 0) return;
    Sm& sm = sm_at(open.sm);
    if (--sm.open_blocks == 0) sm.active_cycles += finished.time - sm.open_since;
    hand_overs_.push({finished.time + profile_.hand_over_cycles, finished.time, open.sm});
    free_open_blocks_.push_back(finished.block);
  }

  void account(double begin, double end, int warps) {
    resident_cycles_ += (end - begin) * warps;
    timeline_.add(begin + skipped_cycles_, end + skipped_cycles_, warps);
  }

  /// Half of the simulated waves in, they have found their steady length; three quarters in, the waves that
  /// are left out are put in at that length.
  void skip_waves(std::int64_t block, std::int64_t simulated) {
    const std::int64_t quarter = simulated / wave_blocks_ / 4;
    if (block == 2 * quarter * wave_blocks_) {
      half_time_ = now_;
      half_resident_ = resident_cycles_;
    } else if (block == 3 * quarter * wave_blocks_) {
      const double share = static_cast<double>(skipped_waves_) / static_cast<double>(quarter);
      skipped_resident_ = (resident_cycles_ - half_resident_) * share;
      const double cycles = (now_ - half_time_) * share;
      timeline_.add(now_, now_ + cycles, skipped_resident_ / cycles);
      skipped_cycles_ = cycles;
    }
  }

  Simulation result() const {
    Simulation simulation;
    double sum = 0;
    double least = kNever;
    double most = 0;
    for (const Sm& sm : sms_) {
      const double cycles = sm.active_cycles + skipped_cycles_;
      sum += cycles;
      least = std::min(least, cycles);
      most = std::max(most, cycles);
    }
    const double resident = resident_cycles_ + skipped_resident_;
    const auto count = static_cast<double>(sms_.size());
    simulation.achieved_pct = 100 * resident / (sum * max_warps_);
    simulation.elapsed_pct = 100 * resident / (most * count * max_warps_);
    simulation.cycles_active_min = least;
    simulation.cycles_active_mean = sum / count;
    simulation.cycles_active_max = most;
    simulation.timeline = timeline_.finish();
    return simulation;
  }

  Sm& sm_at(int index) {
    return sms_[static_cast<std::size_t>(index)];
  }

  const DeviceProfile& profile_;
  const Tasks& tasks_;
  std::uint64_t seed_;
  int cluster_blocks_;
  int max_warps_;
  int warps_per_block_;
  bool warps_differ_;
  bool warp_by_warp_;
  int most_blocks_;
  int blocks_per_sm_;
  double start_interval_;
  double dispatch_interval_;
  double now_ = 0;
  FirstFill first_fill_;
  bool filling_ = true;
  RoomIndex rooms_;
  std::vector<Sm> sms_;
  EventQueue<HandOver> hand_overs_;
  double resident_cycles_ = 0;
  TimelineBuilder timeline_;

  WarpSlots slots_;  ///< where warps of one block end at different times
  std::vector<WarpSlots::Slot> slots_of_warps_;

  std::optional<Competition> competition_;
  std::vector<OpenBlock> open_blocks_;
  std::vector<int> free_open_blocks_;
  EventQueue<Join> joins_;
  std::vector<Competition::Warp> beginning_;

  std::int64_t skipped_waves_ = 0;
  std::int64_t wave_blocks_ = 0;
  double half_time_ = 0;
  double half_resident_ = 0;
  double skipped_cycles_ = 0;
  double skipped_resident_ = 0;
};

}  // namespace

Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, int sm_count,
                    const DeviceProfile& profile, const Tasks& tasks, std::uint64_t seed) {
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  if (occupancy.blocks_per_sm == 0) throw InputError(why_it_cannot_launch(limits, launch, usage));
  if (launch.grid_blocks < 1 || launch.grid_blocks > kMaxGridBlocks) {
    throw InputError(fmt::format("grid_blocks = {} is out of range: CUDA allows 1 to {} blocks",
                                 launch.grid_blocks, kMaxGridBlocks));
  }
  if (launch.grid_blocks % launch.cluster_blocks != 0) {
    throw InputError(
        fmt::format("grid_blocks = {} is no multiple of cluster_blocks = {}: CUDA launches whole clusters",
                    launch.grid_blocks, launch.cluster_blocks));
  }
  if (full_wave_blocks(occupancy, sm_count) < launch.cluster_blocks) {
    throw InputError(fmt::format("a cluster of {} blocks does not fit: the device holds {} blocks at once",
                                 launch.cluster_blocks, full_wave_blocks(occupancy, sm_count)));
  }
  return Scheduler(limits, occupancy, launch.cluster_blocks, sm_count, profile, tasks, seed).run();
}

}  // namespace occbench
