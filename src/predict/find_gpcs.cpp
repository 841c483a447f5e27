#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "predict/calibration.hpp"

namespace occbench {
namespace {

/// SMs that were visited together.
struct Run {
  std::vector<int> sms;
  bool singleton = false;
};

/// The SMs that had a second block before all had one, as a run; and those that did not, as runs of ascending
/// SMs in the order in which they had their first. Empty if an SM had none.
std::vector<Run> first_runs(int sm_count, std::span<const TracedBlock> blocks) {
  std::vector<int> taken(static_cast<std::size_t>(sm_count));
  std::vector<int> order;
  for (const TracedBlock& block : blocks) {
    if (static_cast<int>(order.size()) == sm_count) break;
    if (block.sm < 0 || block.sm >= sm_count) return {};
    if (taken[static_cast<std::size_t>(block.sm)]++ == 0) order.push_back(block.sm);
  }
  if (static_cast<int>(order.size()) < sm_count) return {};
  std::vector<Run> runs;
  Run singleton{{}, true};
  int previous = sm_count;
  for (const int sm : order) {
    if (taken[static_cast<std::size_t>(sm)] > 1) {
      singleton.sms.push_back(sm);
      continue;
    }
    if (sm < previous) runs.emplace_back();
    runs.back().sms.push_back(sm);
    previous = sm;
  }
  // The two SMs of a TPC side by side, TPCs in the order in which they were dispatched to. The driver numbers
  // the two SMs of a TPC one after the other.
  const std::vector<int> order_of_singletons = singleton.sms;
  std::ranges::stable_sort(singleton.sms, {}, [&](int sm) {
    return std::ranges::find(order_of_singletons, sm / 2, [](int other) { return other / 2; }) -
           order_of_singletons.begin();
  });
  if (!singleton.sms.empty()) runs.push_back(std::move(singleton));
  return runs;
}

using Traces = std::initializer_list<std::span<const TracedBlock>>;

/// Mean cycles from the last end on an SM to the next start there, over some SMs.
std::optional<double> mean_replacement_latency(std::span<const int> sms, Traces traces) {
  double sum = 0;
  int count = 0;
  for (const std::span<const TracedBlock> blocks : traces) {
    for (const int sm : sms) {
      std::vector<double> ends;
      std::vector<double> starts;
      for (const TracedBlock& block : blocks) {
        if (block.sm != sm) continue;
        ends.push_back(block.end_cycles);
        starts.push_back(block.start_cycles);
      }
      std::ranges::sort(ends);
      for (const double start : starts) {
        const auto later = std::ranges::upper_bound(ends, start);
        if (later == ends.begin()) continue;
        sum += start - *std::prev(later);
        ++count;
      }
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

/// The pairs of SMs (TPCs) of a run, one SM where its number is odd.
std::vector<std::span<const int>> pairs_of(const Run& run) {
  std::vector<std::span<const int>> pairs;
  for (std::size_t first = 0; first < run.sms.size(); first += 2) {
    pairs.push_back(std::span(run.sms).subspan(first, std::min<std::size_t>(2, run.sms.size() - first)));
  }
  return pairs;
}

/// What a block replacement takes longer on each TPC than on the nearest. As far as the mean one where none
/// was traced.
std::vector<int> tpc_replacement_latency_cycles(std::span<const Run> runs, Traces traces) {
  constexpr double kStep = 10;
  std::vector<std::optional<double>> all;
  for (const Run& run : runs) {
    for (const std::span<const int> pair : pairs_of(run))
      all.push_back(mean_replacement_latency(pair, traces));
  }
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  double count = 0;
  for (const std::optional<double>& cycles : all) {
    if (!cycles) continue;
    least = std::min(least, *cycles);
    sum += *cycles;
    ++count;
  }
  std::vector<int> longer;
  for (const std::optional<double>& cycles : all) {
    longer.push_back(
        count == 0 ? 0
                   : static_cast<int>(kStep * std::round((cycles.value_or(sum / count) - least) / kStep)));
  }
  return longer;
}

/// Cycles of the SMs' own clock in one of the common clock, by SM; 1 where none were recorded.
class ClockRates {
 public:
  ClockRates(int sm_count, Traces traces) : cycles_(static_cast<std::size_t>(sm_count)) {
    for (const std::span<const TracedBlock> blocks : traces) {
      for (const TracedBlock& block : blocks) {
        if (block.own_cycles <= 0 || block.sm < 0 || block.sm >= sm_count) continue;
        Cycles& cycles = cycles_[static_cast<std::size_t>(block.sm)];
        cycles.own += block.own_cycles;
        cycles.common += block.end_cycles - block.start_cycles;
      }
    }
  }

  double of(std::span<const int> sms) const {
    Cycles sum;
    for (const int sm : sms) {
      sum.own += cycles_[static_cast<std::size_t>(sm)].own;
      sum.common += cycles_[static_cast<std::size_t>(sm)].common;
    }
    return sum.common > 0 ? sum.own / sum.common : 1;
  }

 private:
  struct Cycles {
    double own = 0;
    double common = 0;
  };
  std::vector<Cycles> cycles_;
};

/// How much faster than the mean SM's each GPC's clock is, then those of the pairs of singleton SMs.
std::vector<int> clock_ppm(std::span<const Run> runs, const ClockRates& rates) {
  constexpr double kStep = 10;
  std::vector<double> of_gpcs;
  std::vector<double> of_pairs;
  double sum = 0;
  double sms = 0;
  for (const Run& run : runs) {
    const double rate = rates.of(run.sms);
    sum += rate * static_cast<double>(run.sms.size());
    sms += static_cast<double>(run.sms.size());
    if (!run.singleton) {
      of_gpcs.push_back(rate);
      continue;
    }
    for (const std::span<const int> pair : pairs_of(run)) of_pairs.push_back(rates.of(pair));
  }
  const auto ppm = [&](double rate) {
    return static_cast<int>(kStep * std::round(1e6 / kStep * (rate * sms / sum - 1)));
  };
  std::vector<int> all;
  for (const double rate : of_gpcs) all.push_back(ppm(rate));
  for (const double rate : of_pairs) {
    all.push_back(
        ppm(*std::ranges::min_element(of_gpcs, {}, [&](double of) { return std::abs(of - rate); })));
  }
  return all;
}

}  // namespace

bool find_gpcs(DeviceModel& model, std::span<const TracedBlock> blocks, std::span<const TracedBlock> again) {
  constexpr std::size_t kMostSmsOfGpc = 64;
  const int sm_count = model.topology.sm_count();
  std::vector<Run> runs = first_runs(sm_count, blocks);
  const bool told = std::ranges::count(runs, false, &Run::singleton) > 0 &&
                    std::ranges::all_of(runs, [](const Run& run) { return run.sms.size() <= kMostSmsOfGpc; });
  if (!told) {
    model = DeviceModel::uniform(Topology::even(sm_count), model.parameters);
    return false;
  }
  std::ranges::sort(runs, {}, [](const Run& run) { return std::pair(run.singleton, run.sms.front()); });
  std::vector<int> gpc_sms;
  int singleton_sms = 0;
  for (const Run& run : runs) {
    if (run.singleton) {
      singleton_sms = static_cast<int>(run.sms.size());
    } else {
      gpc_sms.push_back(static_cast<int>(run.sms.size()));
    }
  }
  model.topology = Topology(std::move(gpc_sms), singleton_sms);
  model.gpc_clock_ppm = clock_ppm(runs, ClockRates(sm_count, {blocks, again}));
  model.tpc_replacement_latency_cycles = tpc_replacement_latency_cycles(runs, {blocks, again});
  return std::ranges::any_of(blocks, [](const TracedBlock& block) { return block.own_cycles > 0; });
}

}  // namespace occbench
