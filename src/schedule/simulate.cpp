#include "schedule/simulate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "schedule/contention.hpp"
#include "schedule/event_queue.hpp"
#include "schedule/placement.hpp"
#include "schedule/portable_math.hpp"

namespace occbench {
namespace {

constexpr std::int64_t kMaxGridBlocks = (std::int64_t{1} << 31) - 1;  // gridDim.x (CUDA programming guide)
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A block ended; its SM takes new ones from `time` on.
struct Replacement {
  double time;
  double block_end;
  int sm;
  bool in_turn;  ///< the SM's blocks that ended before it have been done with
};

/// A block that contends and whose end is therefore not known when it starts.
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

template <typename Event>
double next_time(const EventQueue<Event>& events) {
  return events.empty() ? kNever : events.top().time;
}

struct Sm {
  double may_start = 0;     ///< when it can start the next block
  double active_until = 0;  ///< last end of a warp whose end is known
  double active_cycles = 0;
  double done_until = -kNever;  ///< when it is done with the last block that ended
  int blocks_started = 0;
  int resident_blocks = 0;  ///< until the block replacement
  double replacement_latency_cycles = 0;
  double slowness = 1;  ///< what one of its cycles takes of the mean clock's
  int share = 0;        ///< blocks it takes while the device first fills
  int open_blocks = 0;
  double open_since = 0;      ///< when it had none open last
  double quarter_cycles = 0;  ///< active_cycles a quarter of the simulated waves in
  double skipped_cycles = 0;  ///< of waves that are not simulated
};

/// Equal blocks repeat wave after wave: more than this many are not simulated one by one.
constexpr std::int64_t kMostEqualBlocks = 1 << 18;
constexpr std::int64_t kLeastWaves = 16;

/// An SM holds at most so many blocks of clusters, whatever the calculator says (seen on the H200: blocks of
/// 64 threads in clusters of 2, 4, 8 and 16).
constexpr int kMostBlocksOfClusters = 8;

/// Until it is done with blocks of up to so many warps an SM stays active, longer than their warps (seen on
/// the H200: SMs full of blocks of 64 threads do, those of more do not; of 32 threads it makes no
/// difference).
constexpr int kMostWarpsActiveToTheEnd = 2;

/// Where such blocks take all of an SM's block slots, the dispatcher hears of the first end at once and of
/// those that come while the SM is busy with it so much later: of a tail of 60 blocks of 64 threads 56 SMs
/// take one where they had held 32 such blocks, 40 to 50 where they had held 4 to 31 (seen on the H200,
/// results/nvidia-h200/block-scheduling.md, "Refill"). Any more would make no difference there. With blocks
/// of one warp nothing but better tails speaks for it.
constexpr double kLaterEndsOfFullSm = 200;

/// What the last block before an SM gets busy waits of the time that the warps of the next one take to
/// start (seen on the H200: of two blocks of 1,024 threads the first has its last warp some 70 cycles later
/// than one alone, results/nvidia-h200/block-scheduling.md, "The first blocks").
constexpr double kSharedLaunch = 0.25;

/// Blocks of fewer warps let the second SM of a TPC start sooner after the first one: on the H200 32 cycles
/// later with blocks of 2 warps, 60 with 4, 117 with 6 and 70 to 102 with more
/// (results/nvidia-h200/block-scheduling.md, "The first blocks").
constexpr double kWarpsUntilSecondSm = 6;

// Random numbers that have nothing to do with one another.
constexpr std::uint64_t kPollStream = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kGpcStream = 0xbf58476d1ce4e5b9;
constexpr std::uint64_t kClockStream = 0x94d049bb133111eb;
constexpr std::uint64_t kMemoryStream = 0xd1b54a32d192ed03;
constexpr std::uint64_t kTurnStream = 0x2545f4914f6cdd1d;

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
        warp_by_warp_(tasks.differ_within_blocks() || tasks.contend() ||
                      occupancy.warps_per_block % std::max(1, limits.sub_partitions) != 0),
        // Shared memory, barriers and block slots are a block's until it ends; warps give theirs back one by
        // one.
        most_blocks_(warp_by_warp_
                         ? std::min({occupancy.block_limits.blocks, occupancy.block_limits.shared_memory,
                                     occupancy.block_limits.barriers})
                         : occupancy.blocks_per_sm),
        blocks_per_sm_(occupancy.blocks_per_sm),
        dispatch_interval_(profile.initial_dispatch_cycles_per_block),
        end_interval_(profile.warp_retire_cycles * std::min(2, occupancy.warps_per_block)),
        active_to_the_end_(occupancy.warps_per_block <= kMostWarpsActiveToTheEnd),
        later_end_cycles_(active_to_the_end_ && occupancy.blocks_per_sm == limits.max_blocks_per_sm
                              ? kLaterEndsOfFullSm
                              : 0),
        gpcs_are_known_(profile.knows_gpcs_of(sm_count)),
        gpc_sms_(gpcs_of(profile, sm_count)),
        singleton_sms_(static_cast<int>(sm_count - std::accumulate(gpc_sms_.begin(), gpc_sms_.end(), 0))),
        rooms_(gpc_sms_, singleton_sms_, static_cast<int>(seed % gpc_sms_.size())),
        sms_(static_cast<std::size_t>(sm_count)),
        last_ends_(static_cast<std::size_t>(sm_count * occupancy.blocks_per_sm), -kNever),
        slots_(limits, occupancy, sm_count) {
    if (tasks.contend()) {
      contention_.emplace(sm_count * slots_.partitions(), tasks.rates(), profile.bytes_per_cycle,
                          Turns{tasks.lockstep_cycles().value_or(draw_lockstep_cycles(seed)), kTurnsOfThree,
                                seed + kTurnStream});
      const std::int64_t resident = std::min(tasks.grid_blocks(), full_wave_blocks(occupancy, sm_count));
      memory_spread_ =
          memory_spread(tasks.rates().bytes * static_cast<double>(resident * occupancy.warps_per_block),
                        profile.bytes_per_cycle);
    }
    // Clusters go to the SMs with most room, which spreads them.
    const FirstFill fill = cluster_blocks > 1 ? FirstFill{occupancy.blocks_per_sm, {}}
                                              : first_fill(gpc_sms_, singleton_sms_, occupancy.blocks_per_sm,
                                                           tasks.grid_blocks());
    rooms_.fill(fill);
    for (const int sm : fill.rest) ++sm_at(sm).share;
    for (int sm = 0; sm < sm_count; ++sm) {
      sm_at(sm).share += fill.rounds;
      sm_at(sm).may_start =
          profile.sm_delay_cycles * unit_interval(random_bits(~seed, static_cast<std::uint64_t>(sm))) +
          (sm % 2) * profile.second_sm_delay_cycles *
              std::min(1.0, occupancy.warps_per_block / kWarpsUntilSecondSm);
    }
    tell_gpcs_apart();
    // The latest of n even draws from 0 to 1 is the n-th root of one.
    for (std::size_t i = 0; i < latest_warp_.size(); ++i) {
      const double draw = (static_cast<double>(i) + 0.5) / static_cast<double>(latest_warp_.size());
      latest_warp_[i] = portable_exp(portable_log(draw) / warps_per_block_);
    }
    if (tasks.all_equal() && tasks.grid_blocks() > kMostEqualBlocks) {
      wave_blocks_ = full_wave_blocks(occupancy, sm_count) / cluster_blocks * cluster_blocks;
      const std::int64_t simulated = std::max(kMostEqualBlocks, kLeastWaves * wave_blocks_);
      skipped_waves_ = std::max<std::int64_t>(0, (tasks.grid_blocks() - simulated) / wave_blocks_);
    }
  }

  Simulation run() {
    const std::int64_t simulated = tasks_.grid_blocks() - skipped_waves_ * wave_blocks_;
    for (std::int64_t block = 0; block < simulated; block += cluster_blocks_) {
      if (skipped_waves_ > 0) skip_waves(block, simulated);
      if (cluster_blocks_ == 1) {
        wait_until([&] { return rooms_.total() > 0; });
        start(block, rooms_.next());
        continue;
      }
      const std::vector<int>* sms = nullptr;
      wait_until([&] { return !(sms = &rooms_.next_cluster(cluster_blocks_))->empty(); });
      for (std::size_t i = 0; i < sms->size(); ++i) start(block + static_cast<std::int64_t>(i), (*sms)[i]);
    }
    while (next_contention_event() < kNever) {
      now_ = std::max(now_, next_contention_event());
      pass_events();
    }
    while (!replacements_.empty()) replace_block();
    return result();
  }

 private:
  /// SMs of one GPC have in common when their first blocks reach them and how fast their clock runs, those of
  /// one TPC how far away they are. Of the singleton SMs each pair has a clock.
  void tell_gpcs_apart() {
    for (Sm& sm : sms_) sm.replacement_latency_cycles = profile_.replacement_latency_cycles;
    int sm = singleton_sms_;
    std::size_t tpc = 0;
    for (std::size_t gpc = 0; gpc < gpc_sms_.size(); ++gpc) {
      const double late = profile_.gpc_delay_cycles * unit_interval(random_bits(seed_ + kGpcStream, gpc));
      const double slowness = slowness_of(gpc);
      for (int place = 0; place < gpc_sms_[gpc]; ++place, ++sm) {
        if (place > 0 && place % 2 == 0) ++tpc;
        sm_at(sm).may_start += late;
        sm_at(sm).slowness = slowness;
        sm_at(sm).replacement_latency_cycles += extra_replacement_latency(tpc);
      }
      ++tpc;
    }
    for (sm = 0; sm < singleton_sms_; ++sm) {
      const auto pair = static_cast<std::size_t>(sm / 2);
      sm_at(sm).slowness = slowness_of(gpc_sms_.size() + pair);
      sm_at(sm).replacement_latency_cycles += extra_replacement_latency(tpc + pair);
    }
  }

  double extra_replacement_latency(std::size_t tpc) const {
    return gpcs_are_known_ ? profile_.tpc_replacement_latency_cycles[tpc] : 0;
  }

  /// Work that is stretched to see it without overheads lets SMs fall out of step by as many cycles as it
  /// does otherwise: who takes the last blocks stays the same.
  double slowness_of(std::size_t group) const {
    const double known = gpcs_are_known_ ? profile_.gpc_clock_ppm[group] : 0;
    const double chance = 2 * unit_interval(random_bits(seed_ + kClockStream, group)) - 1;
    return 1 / (1 + 1e-6 * (known + chance * profile_.gpc_clock_spread_ppm) / tasks_.stretch());
  }

  void wait_until(auto&& has_room) {
    pass_events();
    while (!has_room()) {
      now_ = std::max(now_, std::min(next_time(replacements_), next_contention_event()));
      dispatch_interval_ = profile_.replacement_dispatch_cycles_per_block;
      pass_events();
    }
  }

  double next_contention_event() const {
    return contention_ ? std::min(next_time(joins_), contention_->next_finish()) : kNever;
  }

  /// Everything that has happened by now, in its order.
  void pass_events() {
    if (!contention_) {
      while (next_time(replacements_) <= now_) replace_block();
      return;
    }
    while (true) {
      const double finish = contention_->next_finish();
      const double join_time = next_time(joins_);
      const double replacement_time = next_time(replacements_);
      if (std::min({finish, join_time, replacement_time}) > now_) return;
      if (finish <= std::min(join_time, replacement_time)) {
        finish_warps();
      } else if (join_time <= replacement_time) {
        join();
      } else {
        replace_block();
      }
    }
  }

  /// What warps that have exited left is noticed when a block ends, on its SM or on the other one of the TPC.
  void replace_block() {
    Replacement ended = replacements_.top();
    replacements_.pop();
    if (!ended.in_turn && wait_for_turn(ended)) {
      replacements_.push(ended);
      return;
    }
    --sm_at(ended.sm).resident_blocks;
    notice_room(ended.sm, ended.block_end);
    const int sibling = ended.sm ^ 1;
    if (warp_by_warp_ && sibling < static_cast<int>(sms_.size())) notice_room(sibling, ended.block_end);
  }

  /// An SM is done with blocks that end side by side one after another.
  bool wait_for_turn(Replacement& ended) {
    Sm& sm = sm_at(ended.sm);
    const double late = std::max(0.0, sm.done_until + end_interval_ - ended.block_end);
    sm.done_until = ended.block_end + late;
    if (late == 0) return false;
    if (active_to_the_end_ && sm.open_blocks == 0) {  // open ones keep it active
      sm.active_cycles += std::max(0.0, sm.done_until - std::max(ended.block_end, sm.active_until));
      sm.active_until = std::max(sm.active_until, sm.done_until);
    }
    // Of as many ends as the SM took blocks at first.
    const bool among_first_ends = sm.blocks_started - sm.resident_blocks < sm.share;
    ended = {ended.time + late + (among_first_ends ? later_end_cycles_ : 0), sm.done_until, ended.sm, true};
    return true;
  }

  void notice_room(int sm, double now) {
    const int blocks = most_blocks_ - sm_at(sm).resident_blocks;
    rooms_.set_room(sm, warp_by_warp_ ? std::min(blocks, slots_.blocks_that_fit(sm, now)) : blocks);
  }

  void start(std::int64_t block, int sm_index) {
    Sm& sm = sm_at(sm_index);
    const double begin = std::max(now_, sm.may_start);
    const double launch = launch_cycles(sm, sm.blocks_started);
    sm.may_start = begin + std::max(launch, profile_.block_launch_cycles);
    now_ += dispatch_interval_;
    ++sm.resident_blocks;

    const double last_start = begin + launch + shared_launch_cycles(sm);
    const double chance = chance_of(sm_index, sm.blocks_started / blocks_per_sm_) - 0.5;
    const double work_begin =
        last_start + std::max(0.0, profile_.launch_overhead_cycles + profile_.jitter_cycles * chance);
    if (contention_) {
      ++sm.blocks_started;
      open(block, sm_index, begin, work_begin);
      return;
    }
    const double end = run(block, sm_index, (begin + last_start) / 2, work_begin);
    last_ends_[static_cast<std::size_t>(sm_index * blocks_per_sm_ + sm.blocks_started++ % blocks_per_sm_)] =
        end;
    sm.active_cycles += std::max(0.0, end - std::max(begin, sm.active_until));
    sm.active_until = std::max(sm.active_until, end);
    replacements_.push({end + sm.replacement_latency_cycles, end, sm_index, false});
  }

  /// Of the warps of the SM's next block those that start while the device first fills and more than half of
  /// the SM's places are taken.
  int busy_warps(const Sm& sm, int blocks_started) const {
    if (blocks_started >= sm.share) return 0;
    return std::clamp((blocks_started + 1) * warps_per_block_ - max_warps_ / 2, 0, warps_per_block_);
  }

  /// From the start of a block's first warp to that of its last, if no other block's start in between.
  double launch_cycles(const Sm& sm, int blocks_started) const {
    const auto busy = static_cast<double>(busy_warps(sm, blocks_started));
    return profile_.warp_launch_cycles * (warps_per_block_ - busy) +
           profile_.busy_sm_warp_launch_cycles * busy;
  }

  /// The last block before it gets busy and the next one start their warps in turn.
  double shared_launch_cycles(const Sm& sm) const {
    const bool gets_busy =
        busy_warps(sm, sm.blocks_started) == 0 && busy_warps(sm, sm.blocks_started + 1) > 0;
    return gets_busy ? kSharedLaunch * launch_cycles(sm, sm.blocks_started + 1) : 0;
  }

  /// Between 0 and 1, by SM and by how often its blocks have been replaced: those side by side share it.
  double chance_of(int sm, int turn) const {
    return unit_interval(
        random_bits(seed_ + static_cast<std::uint64_t>(sm), static_cast<std::uint64_t>(turn)));
  }

  /// Warps that wait for their time to come look at the clock once in as long as all warps of the SM take for
  /// it. A block is late by the latest of its warps.
  double run(std::int64_t block, int sm_index, double begin, double work_begin) {
    const double due = work_begin + tasks_.block_cycles(block) * sm_at(sm_index).slowness;
    const double chance = latest_warp_[random_bits(seed_ + kPollStream, static_cast<std::uint64_t>(block)) %
                                       latest_warp_.size()];
    const double late =
        profile_.poll_cycles_per_warp * waiting_blocks(sm_index, due) * warps_per_block_ * chance;
    // The mean of n even draws of which the latest is known.
    const double early = late * (warps_per_block_ - 1) / (2 * warps_per_block_);
    if (warp_by_warp_) return run_warps(block, sm_index, begin, work_begin + late, early);
    account(begin, due + late - early, warps_per_block_);
    return due + late;
  }

  /// Those of an SM at a time: where several end in short order, none has taken their places yet.
  int waiting_blocks(int sm_index, double now) const {
    const Sm& sm = sm_at(sm_index);
    const int most = std::max(sm.resident_blocks, sm.blocks_started < sm.share ? sm.share : 0);
    const double* const ends = &last_ends_[static_cast<std::size_t>(sm_index * blocks_per_sm_)];
    const double since = now - sm.replacement_latency_cycles;
    int gone = 0;
    for (int block = 0; block < blocks_per_sm_; ++block) gone += (ends[block] > since) & (ends[block] < now);
    return std::max(1, most - gone);
  }

  double run_warps(std::int64_t block, int sm, double begin, double work_begin, double early) {
    slots_.take(sm, begin, slots_of_warps_);
    const double slowness = sm_at(sm).slowness;
    const double block_cycles = tasks_.block_cycles(block);
    double last = begin;
    for (int warp = 0; warp < warps_per_block_; ++warp) {
      const double end =
          work_begin + (warps_differ_ ? tasks_.warp_cycles(block, warp) : block_cycles) * slowness;
      slots_.free_at(sm, slots_of_warps_[static_cast<std::size_t>(warp)], end);
      account(begin, end - early, 1);
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
        const double cycles = warps_differ_ ? tasks_.warp_cycles(open.block, warp) : block_cycles;
        beginning_.push_back({cycles * sm_at(open.sm).slowness * memory_chance(open.block, warp), warp});
      }
      if (beginning_.empty()) continue;
      contention_->begin(joined.time, open.sm * slots_.partitions() + partition, joined.open_block,
                         beginning_);
    }
  }

  /// What a warp that moves bytes takes longer or shorter than it should.
  double memory_chance(std::int64_t block, int warp) const {
    if (memory_spread_ == 0) return 1;
    const std::uint64_t unit =
        static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(warps_per_block_) +
        static_cast<std::uint64_t>(warp);
    return 1 + memory_spread_ * (2 * unit_interval(random_bits(seed_ + kMemoryStream, unit)) - 1);
  }

  void finish_warps() {
    const Contention::Finished finished = contention_->finish_next();
    OpenBlock& open = open_blocks_[static_cast<std::size_t>(finished.block)];
    for (const int warp : finished.warps) {
      slots_.free_at(open.sm, open.slots[static_cast<std::size_t>(warp)], finished.time);
    }
    const int warps = static_cast<int>(finished.warps.size());
    account(open.begin, finished.time, warps);
    open.warps_left -= warps;
    if (open.warps_left > 0) return;
    Sm& sm = sm_at(open.sm);
    if (--sm.open_blocks == 0) {
      sm.active_cycles += std::max(0.0, finished.time - std::max(sm.open_since, sm.active_until));
      sm.active_until = std::max(sm.active_until, finished.time);
    }
    replacements_.push({finished.time + sm.replacement_latency_cycles, finished.time, open.sm, false});
    free_open_blocks_.push_back(finished.block);
  }

  void account(double begin, double end, int warps) {
    resident_cycles_ += (end - begin) * warps;
    timeline_.add(begin + skipped_cycles_, end + skipped_cycles_, warps);
  }

  /// A quarter of the simulated waves in, they have found their steady length; three quarters in, the waves
  /// that are left out are put in at the mean length between, on each SM its own.
  void skip_waves(std::int64_t block, std::int64_t simulated) {
    const std::int64_t quarter = simulated / wave_blocks_ / 4;
    if (block == quarter * wave_blocks_) {
      for (Sm& sm : sms_) sm.quarter_cycles = sm.active_cycles;
      quarter_resident_ = resident_cycles_;
    } else if (block == 3 * quarter * wave_blocks_) {
      const double share = static_cast<double>(skipped_waves_) / static_cast<double>(2 * quarter);
      skipped_resident_ = (resident_cycles_ - quarter_resident_) * share;
      double cycles = 0;
      for (Sm& sm : sms_) {
        sm.skipped_cycles = (sm.active_cycles - sm.quarter_cycles) * share;
        cycles += sm.skipped_cycles / static_cast<double>(sms_.size());
      }
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
      const double cycles = sm.active_cycles + sm.skipped_cycles;
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

  const Sm& sm_at(int index) const {
    return sms_[static_cast<std::size_t>(index)];
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
  double dispatch_interval_;
  double end_interval_;
  bool active_to_the_end_;
  double later_end_cycles_;
  double now_ = 0;
  std::array<double, 256> latest_warp_;  ///< chances of how late the latest warp of a block is, 0 to 1
  bool gpcs_are_known_;                  ///< the profile is of as many SMs: its GPCs are this device's
  std::vector<int> gpc_sms_;
  int singleton_sms_;
  Dispatcher rooms_;
  std::vector<Sm> sms_;
  std::vector<double> last_ends_;  ///< of as many blocks of each SM as it holds
  EventQueue<Replacement> replacements_;
  double resident_cycles_ = 0;
  TimelineBuilder timeline_;

  WarpSlots slots_;  ///< where warps of one block end at different times
  std::vector<WarpSlots::Slot> slots_of_warps_;

  std::optional<Contention> contention_;
  double memory_spread_ = 0;
  std::vector<OpenBlock> open_blocks_;
  std::vector<int> free_open_blocks_;
  EventQueue<Join> joins_;
  std::vector<Contention::Warp> beginning_;

  std::int64_t skipped_waves_ = 0;
  std::int64_t wave_blocks_ = 0;
  double quarter_resident_ = 0;
  double skipped_cycles_ = 0;
  double skipped_resident_ = 0;
};

}  // namespace

Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, int sm_count,
                    const DeviceProfile& profile, const Tasks& tasks, std::uint64_t seed) {
  Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  if (occupancy.blocks_per_sm == 0) throw InputError(why_it_cannot_launch(limits, launch, usage));
  if (launch.cluster_blocks > 1) {
    occupancy.blocks_per_sm = std::min(occupancy.blocks_per_sm, kMostBlocksOfClusters);
    occupancy.block_limits.blocks = std::min(occupancy.block_limits.blocks, kMostBlocksOfClusters);
  }
  if (launch.grid_blocks < 1 || launch.grid_blocks > kMaxGridBlocks) {
    throw InputError(fmt::format("grid_blocks = {} is out of range: CUDA allows 1 to {} blocks",
                                 launch.grid_blocks, kMaxGridBlocks));
  }
  if (launch.grid_blocks % launch.cluster_blocks != 0) {
    throw InputError(
        fmt::format("grid_blocks = {} is no multiple of cluster_blocks = {}: CUDA launches whole clusters",
                    launch.grid_blocks, launch.cluster_blocks));
  }
  const int most_sms = std::ranges::max(gpcs_of(profile, sm_count));
  if (launch.cluster_blocks > 1 && launch.cluster_blocks > most_sms) {
    throw InputError(
        fmt::format("a cluster of {} blocks does not fit: it needs as many SMs of one GPC, and the largest "
                    "has {}",
                    launch.cluster_blocks, most_sms));
  }
  return Scheduler(limits, occupancy, launch.cluster_blocks, sm_count, profile, tasks, seed).run();
}

}  // namespace occbench
