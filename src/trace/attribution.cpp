#include "trace/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace occbench {
namespace {

/// Samples' and calls' clocks may differ by so much (records and samples: 0.8 us, H100).
constexpr std::uint64_t kClockToleranceNs = 2000;

/// A launch on an idle GPU runs so long after its call (6 to 25 us, H100).
constexpr std::uint64_t kLaunchLatencyNs = 30'000;

/// Shorter gaps are there between launches that follow one another at once (0.5 to 2 us, H100).
constexpr std::uint64_t kIdleNs = 5000;

/// The share of the active time of whole stretches that has to be of known launches.
constexpr double kLeastAttributed = 0.8;

/// Samples that a launch must have of which a neighbour shares one.
constexpr std::int64_t kLeastSamples = 3;

/// A stretch of samples in which some SM was active.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< one behind its last sample
  std::uint64_t start_ns = 0;
  std::uint64_t idle_since_ns = 0;  ///< before it
  std::uint64_t blocks = 0;
  double active_ns = 0;
};

bool is_idle(const SmSample& sample) {
  return sample.active_cycles <= 0 && sample.blocks <= 0;
}

double active_ns(const SmSample& sample) {
  if (sample.elapsed_cycles <= 0) return 0;
  const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
  return length * std::min(sample.longest_cycles / sample.elapsed_cycles, 1.0);
}

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
    run.blocks += static_cast<std::uint64_t>(std::llround(samples[i].blocks));
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
  Aligner(std::span<const Run> runs, std::span<const LoggedLaunch> launches) : runs_(runs), launches_(launches) {
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

/// The samples of a run, shared among its launches by their blocks. @returns those that have enough of them to themselves
std::vector<SampledLaunch> share_out(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  std::vector<SampledLaunch> shares(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) shares[i].kernel = launches[i].kernel;
  std::vector<bool> is_mixed(launches.size(), false);  // with a launch that began and ended in the same sample
  std::size_t current = 0;
  std::uint64_t seen = 0;                          // blocks
  std::uint64_t until_next = launches[0].blocks;  // of the launches up to the current one
  for (const SmSample& sample : samples) {
    seen += static_cast<std::uint64_t>(std::llround(sample.blocks));
    const std::size_t before = current;
    while (seen > until_next && current + 1 < launches.size()) until_next += launches[++current].blocks;
    if (current > before + 1) is_mixed[current] = true;
    SampledLaunch& launch = shares[current];
    ++launch.samples;
    launch.warp_cycles += sample.warp_cycles;
    launch.active_cycles += sample.active_cycles;
    launch.longest_cycles += sample.longest_cycles;
    launch.elapsed_cycles += sample.elapsed_cycles;
    launch.active_ns += active_ns(sample);
  }
  if (launches.size() == 1) return shares;
  std::vector<SampledLaunch> good;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!is_mixed[i] && shares[i].samples >= kLeastSamples && shares[i].active_cycles > 0) good.push_back(shares[i]);
  }
  return good;
}

bool are_of_one_stream(std::span<const LoggedLaunch> launches) {
  return std::ranges::all_of(launches, [&](const LoggedLaunch& one) { return one.stream == launches[0].stream; });
}

}  // namespace

Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  Attribution result;
  std::vector<Run> runs = runs_of(samples);
  const auto cut_off = [&](auto run) {
    result.cut_ns += run->active_ns;
    runs.erase(run);
  };
  if (!runs.empty() && runs.back().end == samples.size()) cut_off(runs.end() - 1);
  if (!runs.empty() && runs.front().begin == 1) cut_off(runs.begin());
  result.runs = runs.size();
  for (const Run& run : runs) result.unattributed_ns += run.active_ns;
  const std::optional<Alignment> found = Aligner(runs, launches).best();
  if (!found) return result;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [first, count] = found->parts[i];
    if (count == 0) continue;
    const auto of_run = launches.subspan(first, count);
    // Those of several streams may have run side by side.
    if (!are_of_one_stream(of_run)) continue;
    for (const SampledLaunch& launch :
         share_out(samples.subspan(runs[i].begin, runs[i].end - runs[i].begin), of_run)) {
      result.attributed_ns += launch.active_ns;
      result.unattributed_ns -= launch.active_ns;
      result.launches.push_back(launch);
    }
  }
  result.unattributed_ns = std::max(result.unattributed_ns, 0.0);
  return result;
}

}  // namespace occbench
