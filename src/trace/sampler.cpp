#include "trace/sampler.hpp"

#include <algorithm>
#include <utility>

#include "trace/window_file.hpp"

namespace occbench {
namespace {

/// Calls of the program before a window whose launches may still run in it: the driver queues some 1,000 launches, and a launch
/// comes with some 10 other calls of the runtime and the driver.
constexpr std::uint32_t kCallsBefore = 40'000;

/// A kernel with so many sampled launches is known.
constexpr std::int64_t kEnoughLaunches = 16;

/// Processor time of this thread against the time that passes.
constexpr int kShareOfNew = 3;
constexpr int kShareOfFew = 10;
constexpr int kShareOfKnown = 50;
constexpr int kWindowsOfNew = 10;
constexpr std::chrono::seconds kLongestWait{10};
/// Where the program launches nothing.
constexpr std::chrono::milliseconds kIdleWait{20};

/// Shares of the active time of a window: as much as this should be of launches that are known, and no more than that cut off
/// where launches have many samples.
constexpr double kEnoughAttributed = 0.5;
constexpr double kMuchCut = 0.2;
constexpr std::int64_t kManySamples = 400;  ///< of one launch

/// The first windows are such that launches are so many samples apart, by the calls before.
constexpr std::uint64_t kSamplesApart = 40;
constexpr std::chrono::milliseconds kBefore{100};

/// Of kSamplingWindows, for these.
constexpr std::size_t kFinestFirst = 1;
constexpr std::size_t kCoarsestFirst = 3;

/// A window with fewer pauses between launches was too short for them.
constexpr std::size_t kFewPauses = 4;
constexpr int kMorePatience = 8;

}  // namespace

Sampler::Sampler(SampledGpu& gpu, const Of& of, LaunchTable& table, const Captures& captures,
                 std::function<bool(std::chrono::nanoseconds)> wait)
    : gpu_(gpu), of_(of), table_(table), captures_(captures), wait_(std::move(wait)) {}

void Sampler::set_up() {
  const std::uint32_t before = table_.latest();
  wants_times_ = true;
  static_cast<void>(wait_(kBefore));
  wants_times_ = false;
  std::vector<LoggedLaunch> log = table_.log(before + 1, table_.latest(), of_.device);
  std::erase_if(log, [](const LoggedLaunch& launch) { return launch.called_ns == 0; });
  if (log.size() > 1) {
    const std::uint64_t apart_ns = (log.back().called_ns - log.front().called_ns) / log.size();
    window_ = kFinestFirst;
    while (window_ < kCoarsestFirst && kSamplesApart * kSamplingWindows[window_ + 1].interval_ns <= apart_ns)
      ++window_;
  }
  gpu_.configure(kSamplingWindows[window_]);
}

/// Empty where a stream captured meanwhile: which launches ran is not known then.
std::vector<SmSample> Sampler::take_window() {
  if (captures_.any()) return {};
  const std::uint64_t captures = captures_.begun();
  wants_times_ = true;
  first_ = table_.latest() - kCallsBefore;
  bool goes_on = false;
  try {
    gpu_.start();
    goes_on = wait_(std::chrono::nanoseconds(kSamplingWindows[window_].length_ns));
    gpu_.stop();
  } catch (...) {
    wants_times_ = false;
    throw;
  }
  last_ = table_.latest();
  last_wanted_ = table_.latest_wanted();
  wants_times_ = false;
  if (!goes_on) return {};
  std::vector<SmSample> samples = gpu_.read();
  for (SmSample& sample : samples) {
    sample.start_ns -= std::min(of_.began_ns, sample.start_ns);  // the first may begin before
    sample.end_ns -= of_.began_ns;
  }
  return captures_.begun() == captures ? std::move(samples) : std::vector<SmSample>();
}

/// @returns whether all kernels in it are known well
bool Sampler::use(const Attribution& found) {
  has_found_ = table_.add_sampled(found.launches, of_.warps_per_sm) > 0;
  const std::lock_guard lock(mutex_);
  ++totals_.windows;
  if (found.launches.empty() && found.unattributed_ns > 0) ++totals_.thrown_away;
  totals_.attributed_ns += found.attributed_ns;
  totals_.unattributed_ns += found.unattributed_ns;
  return !found.launches.empty() && std::ranges::all_of(found.launches, [&](const SampledLaunch& launch) {
    return table_.sampled_launches(launch.kernel) >= kEnoughLaunches;
  });
}

/// The nearest that was not tried: the finer one first where the window held several launches, and the coarser one where it was
/// too short for them. Where all have been tried in vain, they are tried again, each for longer.
std::size_t Sampler::next_kind(const Attribution& found) {
  constexpr std::size_t kKinds = std::size(kSamplingWindows);
  tried_.insert(window_);
  if (tried_.size() == kKinds) {
    tried_ = {window_};
    patience_ *= kMorePatience;
  }
  const bool is_too_short = found.pauses < kFewPauses;
  for (std::size_t away = 1; away < kKinds; ++away) {
    const std::size_t finer = window_ - away;  // wraps around
    const std::size_t coarser = window_ + away;
    for (const std::size_t kind : {is_too_short ? coarser : finer, is_too_short ? finer : coarser}) {
      if (kind < kKinds && !tried_.contains(kind)) return kind;
    }
  }
  return window_;
}

/// Another kind of window needs a configuration of its own: it is changed where several windows in a row want it.
void Sampler::choose_window(const Attribution& found) {
  const double active_ns = found.attributed_ns + found.unattributed_ns + found.cut_ns;
  std::int64_t samples = 0;
  for (const SampledLaunch& launch : found.launches) samples += launch.samples;
  const auto launches = static_cast<std::int64_t>(found.launches.size());
  const bool is_fit = found.attributed_ns >= kEnoughAttributed * active_ns;
  const bool is_short = is_fit && samples > kManySamples * launches && found.cut_ns > kMuchCut * active_ns;
  if (is_fit) tried_.clear();
  unfit_windows_ = is_fit && !is_short ? 0 : unfit_windows_ + 1;
  if (unfit_windows_ < patience_) return;
  unfit_windows_ = 0;
  const std::size_t next =
      !is_fit ? next_kind(found) : std::min(window_ + 1, std::size(kSamplingWindows) - 1);
  if (next == window_) return;
  window_ = next;
  gpu_.configure(kSamplingWindows[window_]);
}

std::chrono::nanoseconds Sampler::sample() {
  if (table_.latest_wanted() == last_wanted_ && !has_found_) return kIdleWait;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<SmSample> samples = take_window();
  bool is_known = false;
  has_found_ = false;
  if (!samples.empty()) {
    // One beside the latest, where threads launch at once.
    const std::vector<LoggedLaunch> log = table_.log(first_, last_ + 1, of_.device);
    if (!of_.windows.empty()) append_window(of_.windows, kSamplingWindows[window_].interval_ns, samples, log);
    const Attribution found = attribute(samples, log);
    is_known = use(found);
    choose_window(found);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  const int share = totals().windows < kWindowsOfNew ? kShareOfNew : is_known ? kShareOfKnown : kShareOfFew;
  return std::min<std::chrono::nanoseconds>((share - 1) * took, kLongestWait);
}

WindowTotals Sampler::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace occbench
