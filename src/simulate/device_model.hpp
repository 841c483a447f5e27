#pragma once

#include <optional>
#include <span>
#include <vector>

namespace occbench {

/// Which SMs of a device share a TPC (texture processing cluster, two SMs) and a GPC (graphics processing
/// cluster), as the block scheduler orders them.
///
/// SMs are numbered here in the order of a full first wave: first those of singleton TPCs, then GPC by GPC.
/// `%smid` numbers them differently. Singleton TPCs are dispatched outside the round robin over GPCs. (On an
/// H200 they are SMs 124 to 131 by `%smid`; NVIDIA's open kernel modules call a GPC of one TPC a singleton
/// virtual GPC, ctrl2080internal.h.)
class Topology {
 public:
  /// A device of one GPC with one SM.
  Topology() : Topology({1}, 0) {}

  /// @param gpc_sms        SMs of each GPC without singleton TPCs, 1 to 64 each, in dispatch order
  /// @param singleton_sms  SMs of singleton TPCs, 0 or more; two share a TPC
  Topology(std::vector<int> gpc_sms, int singleton_sms);

  /// As few GPCs as possible of at most `most_sms_per_gpc` SMs, as even as whole TPCs allow, and no singleton
  /// TPC. For a device whose GPCs are not known.
  static Topology even(int sm_count, int most_sms_per_gpc = kMostSmsPerGpc);

  /// The largest GPC of any GPU up to compute capability 9.0: nine TPCs of two SMs, a full GH100 (NVIDIA H100
  /// whitepaper). Used only for devices whose GPCs are not known.
  static constexpr int kMostSmsPerGpc = 18;

  int sm_count() const {
    return static_cast<int>(gpc_of_sm_.size());
  }
  std::span<const int> gpc_sms() const {
    return gpc_sms_;
  }
  int singleton_sms() const {
    return singleton_sms_;
  }
  /// As max_active_clusters() takes them: each singleton TPC is a GPC of its own.
  std::vector<int> sms_per_gpc() const;

  int gpc_count() const {
    return static_cast<int>(gpc_sms_.size());
  }
  /// 0 to gpc_count() - 1; gpc_count() for SMs of singleton TPCs.
  int gpc_of(int sm) const {
    return gpc_of_sm_[static_cast<std::size_t>(sm)];
  }
  /// The first SM of a GPC; of singleton TPCs for gpc_count().
  int first_sm(int gpc) const {
    return first_sm_[static_cast<std::size_t>(gpc)];
  }

  /// TPCs are numbered GPC by GPC, singleton ones last. The last TPC of an odd-sized GPC has one SM.
  int tpc_count() const {
    return tpc_count_;
  }
  int tpc_of(int sm) const;
  bool is_second_of_tpc(int sm) const {
    return place_in_gpc(sm) % 2 == 1;
  }
  /// The other SM of the TPC; empty if there is none.
  std::optional<int> sibling(int sm) const;

  /// Each GPC and each singleton TPC has its own clock; GPCs come first.
  int clock_domain_count() const {
    return gpc_count() + (singleton_sms_ + 1) / 2;
  }
  int clock_domain_of(int sm) const {
    const int gpc = gpc_of(sm);
    return gpc < gpc_count() ? gpc : gpc + sm / 2;
  }

  bool operator==(const Topology&) const = default;

 private:
  int place_in_gpc(int sm) const {
    return sm - first_sm(gpc_of(sm));
  }

  std::vector<int> gpc_sms_;
  int singleton_sms_;
  int tpc_count_ = 0;
  std::vector<int> gpc_of_sm_;
  std::vector<int> first_sm_;   ///< of each GPC, then of the singleton TPCs
  std::vector<int> first_tpc_;  ///< likewise
};

/// Costs of launching, dispatching and replacing blocks on a device, and rules for contention between its
/// warps. Cycles are those of the SM clock. Each optional rule has a value that switches it off; names,
/// ranges, defaults, off values and sources are in the table of predict/parameters.cpp.
struct DeviceParameters {
  // Dispatch, device-wide.
  double replacement_dispatch_cycles_per_block = 0;  ///< between two blocks that replace others
  double gpcs_between_singletons = 0;                ///< GPCs served between two visits to singleton TPCs
  double even_first_wave = 0;  ///< 1: a grid that leaves room is spread over SMs in a fixed order

  // When SMs start their first block.
  double sm_delay_cycles = 0;  ///< an SM starts up to this much later than another

  // Launching a block.
  double block_launch_cycles = 0;     ///< an SM launches two blocks at least this far apart
  double launch_overhead_cycles = 0;  ///< a warp is resident this much longer than its work takes

  // Retiring a block and replacing it.
  double replacement_latency_cycles = 0;  ///< from the end of a block to the start of its replacement
  double sibling_notices_room =
      0;  ///< 1: room left by exited warps is seen when a block ends on either SM of a TPC

  // Clocks.
  double gpc_clock_spread_ppm = 0;  ///< GPC clocks differ by up to plus or minus this, drawn per launch

  // Issue slots and pipes.
  double always_issuing_share = 2;   ///< warps that alone issue in this share of cycles can always issue
  double lockstep_least_cycles = 0;  ///< always-issuing warps share slots evenly for a time
  double lockstep_most_cycles = 0;   ///< drawn log-uniformly between these two
  double greedy_of_three_share = 0;  ///< share of greedy groups of three, not two, oldest warps after that

  // Device memory.
  double bytes_per_cycle = 0;  ///< bandwidth, device-wide
  double memory_spread = 0;    ///< equal reads take up to this share longer or shorter at full load

  bool operator==(const DeviceParameters&) const = default;
};

/// Everything that the simulation knows about a device.
struct DeviceModel {
  Topology topology;
  std::vector<int> tpc_replacement_latency_cycles;  ///< extra replacement latency, by TPC
  std::vector<int> gpc_clock_ppm;                   ///< how much faster than the mean, by clock domain
  DeviceParameters parameters;

  /// A device of which only the GPCs are known: its TPCs and clocks are equal.
  static DeviceModel uniform(Topology topology, const DeviceParameters& parameters) {
    DeviceModel model{std::move(topology), {}, {}, parameters};
    model.tpc_replacement_latency_cycles.assign(static_cast<std::size_t>(model.topology.tpc_count()), 0);
    model.gpc_clock_ppm.assign(static_cast<std::size_t>(model.topology.clock_domain_count()), 0);
    return model;
  }

  bool operator==(const DeviceModel&) const = default;
};

}  // namespace occbench
