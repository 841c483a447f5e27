#include "trace/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "trace/chain.hpp"
#include "trace/sample_values.hpp"

namespace occbench {
namespace {

/// A launch on an idle GPU runs so long after its call (6 to 25 us, H100).
constexpr std::uint64_t kLaunchLatencyNs = 30'000;

/// Shorter gaps are there between launches that follow one another at once (0.5 to 2 us, H100).
constexpr std::uint64_t kIdleNs = 5000;

/// The share of the active time of whole stretches that has to be of known launches.
constexpr double kLeastAttributed = 0.8;

/// Samples that a launch must have of which a neighbour shares one.
constexpr std::int64_t kLeastSamples = 3;

/// In a pause between launches SMs are active for less of a sample.
constexpr double kPause = 0.5;

/// A stretch of samples in which some SM was active.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< one behind its last sample
  std::uint64_t start_ns = 0;
  std::uint64_t idle_since_ns = 0;  ///< before it
  std::uint64_t blocks = 0;
  double active_ns = 0;
};

std::vector<Run> runs_of(std::span<const SmSample> samples) {
  std::vector<Run> runs;
  bool was_idle = true;
  std::uint64_t idle_since = samples.empty() ? 0 : samples[0].end_ns;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    if (is_idle(samples[i])) {
      if (!was_idle) idle_since = samples[i].start_ns;
      was_idle = true;
      continue;
    }
    if (was_idle) runs.push_back({i, i, samples[i].start_ns, idle_since, 0, 0});
    was_idle = false;
    Run& run = runs.back();
    run.end = i + 1;
    run.blocks += blocks_of(samples[i]);
    run.active_ns += active_ns(samples[i]);
  }
  return runs;
}

/// Which launches each run is of, from one place in their order on.
struct Alignment {
  struct Part {
    std::size_t first = 0;  ///< of the launches
    std::size_t count = 0;  ///< 0: of none that are known
  };
  std::vector<Part> parts;
  double matched_ns = 0;
  int late = 0;  ///< runs on a GPU that was idle though their launch had been called for

  bool is_as_good_as(const Alignment& other) const {
    return matched_ns == other.matched_ns && late == other.late;
  }
  bool is_worse_than(const Alignment& other) const {
    return matched_ns < other.matched_ns || (matched_ns == other.matched_ns && late > other.late);
  }
};

class Aligner {
 public:
  Aligner(std::span<const Run> runs, std::span<const LoggedLaunch> launches)
      : runs_(runs), launches_(launches) {
    for (const LoggedLaunch& launch : launches) sums_.push_back(sums_.back() + launch.blocks);
    for (const Run& run : runs) all_ns_ += run.active_ns;
  }

  /// The one that matches most, and of these the one with fewest late runs; none if another is as good and says otherwise,
  /// or none matches enough.
  std::optional<Alignment> best() const {
    std::optional<Alignment> best;
    bool is_alone = true;
    for (std::size_t first = 0; first < launches_.size(); ++first) {
      std::optional<Alignment> candidate = from(first);
      if (!candidate || (best && candidate->is_worse_than(*best))) continue;
      if (best && candidate->is_as_good_as(*best)) {
        is_alone = is_alone && say_the_same(*best, *candidate);
        continue;
      }
      best = std::move(candidate);
      is_alone = true;
    }
    return is_alone ? best : std::nullopt;
  }

 private:
  /// Launches from `first` on whose blocks are just these; 0 if there are none.
  std::size_t launches_with(std::size_t first, std::uint64_t blocks) const {
    const auto found = std::lower_bound(sums_.begin() + static_cast<std::ptrdiff_t>(first), sums_.end(),
                                        sums_[first] + blocks);
    if (found == sums_.end() || *found != sums_[first] + blocks) return 0;
    return static_cast<std::size_t>(found - sums_.begin()) - first;
  }

  bool can_run(const Run& run, std::size_t launch) const {
    return launches_[launch].called_ns <= run.start_ns + kClockToleranceNs;
  }
  /// On an idle GPU it would have run at once, if it waits for no other stream.
  bool is_late(const Run& run, std::size_t launch) const {
    return run.start_ns - run.idle_since_ns >= kIdleNs &&
           launches_[launch].called_ns + kLaunchLatencyNs < run.start_ns;
  }

  /// None where too little matches.
  std::optional<Alignment> from(std::size_t first) const {
    Alignment alignment;
    double missed_ns = 0;
    std::size_t next = first;
    for (const Run& run : runs_) {
      std::size_t count = run.blocks == 0 ? 0 : launches_with(next, run.blocks);
      if (count > 0 && !can_run(run, next)) count = 0;
      if (count > 0 && is_late(run, next)) ++alignment.late;
      alignment.parts.push_back({next, count});
      (count > 0 ? alignment.matched_ns : missed_ns) += run.active_ns;
      if (missed_ns > (1 - kLeastAttributed) * all_ns_) return std::nullopt;
      next += count;
    }
    return alignment;
  }

  bool say_the_same(const Alignment& one, const Alignment& other) const {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const auto [first, count] = one.parts[run];
      const auto [other_first, other_count] = other.parts[run];
      if (count != other_count) return false;
      for (std::size_t i = 0; i < count; ++i) {
        const LoggedLaunch& launch = launches_[first + i];
        const LoggedLaunch& other_launch = launches_[other_first + i];
        if (launch.kernel != other_launch.kernel || launch.blocks != other_launch.blocks) return false;
      }
    }
    return true;
  }

  std::span<const Run> runs_;
  std::span<const LoggedLaunch> launches_;
  std::vector<std::uint64_t> sums_{0};  ///< blocks of the launches before each
  double all_ns_ = 0;
};

void add_sample(SampledLaunch& launch, const SmSample& sample) {
  ++launch.samples;
  launch.warp_cycles += sample.warp_cycles;
  launch.active_cycles += sample.active_cycles;
  launch.longest_cycles += sample.longest_cycles;
  launch.active_ns += active_ns(sample);
}

/// The samples of a run, shared among its launches by their blocks. @returns those that have enough of them to themselves
/// @param first, last launches that are whole; others are of the run in part
std::vector<SampledLaunch> share_out(std::span<const SmSample> samples, std::span<const std::uint64_t> blocks,
                                     std::span<const LoggedLaunch> launches, std::size_t first,
                                     std::size_t last) {
  std::vector<SampledLaunch> shares(launches.size());
  std::vector<bool> is_mixed(launches.size(),
                             false);  // with a launch that began and ended in the same sample
  std::size_t current = 0;
  std::uint64_t seen = 0;                // blocks
  std::uint64_t until_next = blocks[0];  // of the launches up to the current one
  for (const SmSample& sample : samples) {
    seen += blocks_of(sample);
    const std::size_t before = current;
    while (seen > until_next && current + 1 < launches.size()) until_next += blocks[++current];
    if (current > before + 1) is_mixed[current] = true;
    add_sample(shares[current], sample);
  }
  std::vector<SampledLaunch> good;
  for (std::size_t i = first; i < last; ++i) {
    shares[i].kernel = launches[i].kernel;
    const bool is_alone = launches.size() == 1 || (!is_mixed[i] && shares[i].samples >= kLeastSamples);
    if (is_alone && shares[i].active_cycles > 0) good.push_back(shares[i]);
  }
  return good;
}

bool are_of_one_stream(std::span<const LoggedLaunch> launches) {
  return std::ranges::all_of(launches,
                             [&](const LoggedLaunch& one) { return one.stream == launches[0].stream; });
}

/// Launches that ran in a run, in order; of the first one, perhaps, the beginning is missing, of the last one the end.
struct RunLaunches {
  std::size_t first = 0;  ///< of the launches
  std::size_t count = 0;
  std::uint64_t missing = 0;  ///< blocks of the first launch that were launched before
  bool first_is_whole = true;
  bool last_is_whole = true;
};

class Attributor {
 public:
  Attributor(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches)
      : samples_(samples), launches_(launches) {}

  Attribution result() {
    std::vector<Run> runs = runs_of(samples_);
    for (const Run& run : runs) result_.unattributed_ns += run.active_ns;
    std::optional<Run> first_cut;
    std::optional<Run> last_cut;
    if (!runs.empty() && runs.front().begin == 1) {
      first_cut = runs.front();
      runs.erase(runs.begin());
    }
    if (!runs.empty() && runs.back().end == samples_.size()) {
      last_cut = runs.back();
      runs.pop_back();
    }
    if (const std::optional<Alignment> found = Aligner(runs, launches_).best(); found && !runs.empty()) {
      const Alignment::Part first = found->parts.front();
      const Alignment::Part last = found->parts.back();
      if (first_cut && first.count > 0) add(*first_cut, before(*first_cut, first.first));
      for (std::size_t i = 0; i < runs.size(); ++i)
        add(runs[i], {found->parts[i].first, found->parts[i].count, 0, true, true});
      if (last_cut && last.count > 0) add(*last_cut, after(*last_cut, last.first + last.count));
    }
    for (const std::optional<Run>& cut : {first_cut, last_cut}) {
      if (cut) take_as_cut(*cut);
    }
    return std::move(result_);
  }

 private:
  /// What is left of a run that the window cuts is nobody's fault.
  void take_as_cut(const Run& run) {
    const double rest = std::min(std::max(run.active_ns - of_cut_[run.begin], 0.0), result_.unattributed_ns);
    result_.cut_ns += rest;
    result_.unattributed_ns -= rest;
  }

  void add(const Run& run, const RunLaunches& of_run) {
    if (of_run.count == 0) return;
    const auto launches = launches_.subspan(of_run.first, of_run.count);
    // Those of several streams may have run side by side.
    if (!are_of_one_stream(launches)) return;
    std::vector<std::uint64_t> blocks;
    for (const LoggedLaunch& launch : launches) blocks.push_back(launch.blocks);
    blocks.front() -= of_run.missing;
    const std::size_t first = of_run.first_is_whole ? 0 : 1;
    const std::size_t last = of_run.last_is_whole ? launches.size() : launches.size() - 1;
    for (const SampledLaunch& launch :
         share_out(samples_.subspan(run.begin, run.end - run.begin), blocks, launches, first, last)) {
      result_.attributed_ns += launch.active_ns;
      result_.unattributed_ns -= launch.active_ns;
      of_cut_[run.begin] += launch.active_ns;
      result_.launches.push_back(launch);
    }
    result_.unattributed_ns = std::max(result_.unattributed_ns, 0.0);
  }

  /// The launches of a run whose end is that of the launch before `next`.
  RunLaunches before(const Run& run, std::size_t next) const {
    RunLaunches found{next, 0, 0, false, true};
    std::uint64_t blocks = 0;
    while (blocks < run.blocks && found.first > 0) {
      blocks += launches_[--found.first].blocks;
      ++found.count;
    }
    if (blocks < run.blocks) return {};
    found.missing = blocks - run.blocks;
    return found;
  }

  /// The launches of a run that begins with the launch `next`.
  RunLaunches after(const Run& run, std::size_t next) const {
    RunLaunches found{next, 0, 0, true, false};
    for (std::uint64_t blocks = 0; blocks < run.blocks; ++found.count) {
      if (found.first + found.count == launches_.size()) return {};
      blocks += launches_[found.first + found.count].blocks;
    }
    return found;
  }

  std::span<const SmSample> samples_;
  std::span<const LoggedLaunch> launches_;
  Attribution result_;
  std::map<std::size_t, double> of_cut_;  ///< attributed, by the begin of a run
};

/// Samples in which SMs waited for blocks.
std::vector<bool> pauses_of(std::span<const SmSample> samples) {
  double most_active = 0;
  for (const SmSample& sample : samples) most_active = std::max(most_active, active_share(sample));
  std::vector<bool> pauses;
  for (const SmSample& sample : samples) pauses.push_back(active_share(sample) < kPause * most_active);
  return pauses;
}

std::size_t stretches_of(const std::vector<bool>& values) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) count += values[i] && (i == 0 || !values[i - 1]) ? 1 : 0;
  return count;
}

/// Launches by where they end (chain.hpp).
class ChainAttributor {
 public:
  ChainAttributor(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches)
      : samples_(samples), launches_(launches) {
    for (const SmSample& sample : samples)
      counts_.push_back(counts_.empty() ? 0 : counts_.back() + blocks_of(sample));
  }

  Attribution result(const std::vector<bool>& pauses) {
    for (const Chain& chain : find_chains(samples_, launches_)) {
      for (std::size_t i = 0; i < chain.size(); ++i) {
        if (is_apart(chain, i)) add(chain[i]);
      }
    }
    for (std::size_t i = 1; i < samples_.size(); ++i) result_.unattributed_ns += active_ns(samples_[i]);
    result_.unattributed_ns = std::max(result_.unattributed_ns - result_.attributed_ns, 0.0);
    // Before the first pause and after the last one.
    const auto first = std::ranges::find(pauses, true) - pauses.begin();
    const auto last = pauses.rend() - std::find(pauses.rbegin(), pauses.rend(), true);
    for (std::ptrdiff_t i = 1; i < std::ssize(samples_); ++i) {
      if (i < first || i >= last) result_.cut_ns += active_ns(samples_[static_cast<std::size_t>(i)]);
    }
    result_.cut_ns = std::min(result_.cut_ns, result_.unattributed_ns);
    result_.unattributed_ns -= result_.cut_ns;
    return std::move(result_);
  }

 private:
  /// The sample with the first block after these.
  std::size_t sample_after(std::uint64_t blocks) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(counts_, blocks) - counts_.begin());
  }

  /// Of a launch beside it, it is of the same stream, or an idle sample is between.
  bool is_apart(const Chain& chain, std::size_t at) const {
    const LoggedLaunch& launch = launches_[chain[at].launch];
    if (launch.kernel == LoggedLaunch::kMemory || !chain[at].is_clean) return false;
    const auto is_behind = [&](std::size_t other, std::uint64_t boundary) {
      const LoggedLaunch& beside = launches_[chain[other].launch];
      return beside.kernel == LoggedLaunch::kMemory || beside.stream == launch.stream ||
             is_idle(samples_[sample_after(boundary) - 1]);
    };
    return (at == 0 || is_behind(at - 1, chain[at].begin)) &&
           (at + 1 == chain.size() || is_behind(at + 1, chain[at].end));
  }

  void add(const ChainLink& link) {
    const std::size_t begin = sample_after(link.begin);
    std::size_t end = sample_after(link.end);
    const bool is_cut = end == samples_.size() && !is_idle(samples_.back());
    while (end > begin && is_idle(samples_[end - 1])) --end;
    const bool is_alone = is_idle(samples_[begin - 1]) && end < samples_.size() && is_idle(samples_[end]);
    if (is_cut || (!is_alone && static_cast<std::int64_t>(end - begin) < kLeastSamples)) return;
    SampledLaunch launch;
    launch.kernel = launches_[link.launch].kernel;
    for (std::size_t i = begin; i < end; ++i) add_sample(launch, samples_[i]);
    if (launch.active_cycles <= 0) return;
    result_.attributed_ns += launch.active_ns;
    result_.launches.push_back(launch);
  }

  std::span<const SmSample> samples_;
  std::span<const LoggedLaunch> launches_;
  std::vector<std::uint64_t> counts_;  ///< of blocks, at the end of each sample; the first has none
  Attribution result_;
};

}  // namespace

Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  std::vector<LoggedLaunch> kernels;
  std::ranges::copy_if(launches, std::back_inserter(kernels), [](const LoggedLaunch& launch) {
    return launch.kernel != LoggedLaunch::kMemory && launch.blocks > 0;
  });
  const std::vector<bool> pauses = pauses_of(samples);
  Attribution by_stretches = Attributor(samples, kernels).result();
  Attribution by_chains = ChainAttributor(samples, launches).result(pauses);
  Attribution& best = by_chains.attributed_ns > by_stretches.attributed_ns ? by_chains : by_stretches;
  best.pauses = stretches_of(pauses);
  return std::move(best);
}

}  // namespace occbench
