#include "trace/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "files/output.hpp"

namespace occbench {
namespace {

/// Calls before a window whose launches may still run in it. The driver queues some 1,000 launches; a launch comes with some 10 other calls
/// of the runtime and the driver.
constexpr std::uint32_t kCallsBefore = 40'000;

/// A kernel with this many sampled launches is known. So is a window if such kernels take this share of its launches' time.
constexpr std::int64_t kEnoughLaunches = 16;
constexpr double kEnoughKnown = 0.95;

/// Elapsed time over this thread's processor time.
constexpr int kShareOfNew = 2;
constexpr int kShareOfFew = 6;
constexpr int kShareOfKnown = 50;
constexpr std::int64_t kWindowsOfNew = 20;
constexpr std::chrono::seconds kLongestWait{10};
/// While the program launches nothing.
constexpr std::chrono::milliseconds kIdleWait{10};
/// A program is launching if it launches in two such intervals in a row.
constexpr std::chrono::milliseconds kLaunching{10};
/// Or if it launches this many kernels in one.
constexpr std::size_t kManyAtOnce = 64;
/// A program that launches rarely gets a window after this time.
constexpr std::chrono::seconds kSeldom{2};

/// Shares of a window's active time: at least this should be attributed, and at most this cut off.
constexpr double kEnoughAttributed = 0.9;
constexpr double kMostCut = 0.5;
/// A window of fewer launches is too short.
constexpr double kFewLaunches = 4;
/// Samples per launch if the next follows at once and shares one of them. If SMs are mostly idle: samples per launch and the pause after
/// it, all its own.
constexpr double kSamplesEach = 40;
constexpr double kSamplesApart = 16;
constexpr double kMostlyIdle = 0.5;
constexpr std::size_t kCoarsestOfIdle = 3;  ///< of kSamplingWindows: a program that warms up is idle too
/// Factor on patience_ before other kinds are tried again.
constexpr int kMorePatience = 8;

constexpr std::size_t kKinds = std::size(kSamplingWindows);

/// The coarsest kind with samples that are no longer than this.
std::size_t kind_of(double interval_ns) {
  std::size_t kind = 0;
  while (kind + 1 < kKinds && static_cast<double>(kSamplingWindows[kind + 1].interval_ns) <= interval_ns)
    ++kind;
  return kind;
}

/// How many launches a window holds if they are like the log's (the latest have times); 0 if not known.
double expected_launches(std::span<const SmSample> samples, std::span<const LoggedLaunch> log) {
  const bool has_times = std::ranges::any_of(log, [](const LoggedLaunch& one) { return one.called_ns > 0; });
  double blocks_of_log = 0;
  double launches = 0;
  for (const LoggedLaunch& launch : log) {
    if (launch.kernel == LoggedLaunch::kMemory || (has_times && launch.called_ns == 0)) continue;
    blocks_of_log += static_cast<double>(launch.blocks);
    ++launches;
  }
  double blocks = 0;
  for (const SmSample& sample : samples.subspan(1)) blocks += sample.blocks;
  return blocks_of_log > 0 ? blocks * launches / blocks_of_log : 0;
}

/// As in Sampler::Of. Nothing waits for the disk. @throws std::exception if the disk is full or the file cannot be written
void append_window(const Sampler::Of& of, std::uint64_t interval_ns, std::span<const SmSample> samples,
                   std::span<const LoggedLaunch> launches, std::span<const SampledLaunch> found) {
  std::string text =
      fmt::format("window {} {} {} {}\n", interval_ns, of.device, of.warps_per_sm, of.began_ns);
  for (const LoggedLaunch& launch : launches) {
    const std::string kernel =
        launch.kernel == LoggedLaunch::kMemory ? "-" : fmt::format("{}", launch.kernel);
    text += fmt::format("call {} {} {} {}\n", launch.called_ns, kernel, launch.blocks, launch.stream);
  }
  for (std::size_t i = 0; i < samples.size();) {
    const SmSample& first = samples[i];
    std::size_t end = i;
    while (end < samples.size() && is_idle(samples[end])) ++end;
    if (end > i) {
      text += fmt::format("idle {} {} {}\n", first.start_ns, samples[end - 1].end_ns, end - i);
      i = end;
      continue;
    }
    text += fmt::format("sample {} {} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\n", first.start_ns,
                        first.end_ns - first.start_ns, first.blocks, first.warp_cycles, first.active_cycles,
                        first.longest_cycles, first.elapsed_cycles);
    ++i;
  }
  for (const SampledLaunch& launch : found) {
    text += fmt::format("launch {} {} {} {:.0f} {:.0f}\n", launch.kernel, launch.start_ns,
                        launch.end_ns - launch.start_ns, launch.warp_cycles, launch.active_cycles);
  }
  create_text(of.windows, "");
  AppendFile(of.windows, WrittenTo::system).append(text);  // no torn window
}

}  // namespace

Sampler::Sampler(SampledGpu& gpu, const Of& of, LaunchTable& table, const Captures& captures,
                 std::function<bool(std::chrono::nanoseconds)> wait)
    : gpu_(gpu), of_(of), table_(table), captures_(captures), wait_(std::move(wait)) {}

void Sampler::set_up() {
  gpu_.configure(kSamplingWindows[window_]);
}

/// Empty if a stream captures at its begin, or if it is not known whether some launches ran.
std::vector<SmSample> Sampler::take_window() {
  if (captures_.any()) return {};
  const std::uint64_t doubted = captures_.doubted();
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
  return captures_.doubted() == doubted ? std::move(samples) : std::vector<SmSample>();
}

void Sampler::use(const Attribution& found) {
  const bool is_thrown_away = found.launches.empty() && found.unattributed_ns > 0;
  has_found_ = table_.add_sampled(found.launches, of_.warps_per_sm) > 0;
  if (has_found_ || is_thrown_away) ++windows_with_launches_;
  double all_ns = 0;
  double known_ns = 0;
  for (const SampledLaunch& launch : found.launches) {
    const auto ns = static_cast<double>(launch.end_ns - launch.start_ns);
    all_ns += ns;
    if (table_.sampled_launches(launch.kernel) >= kEnoughLaunches) known_ns += ns;
  }
  if (all_ns > 0) is_known_ = known_ns >= kEnoughKnown * all_ns;
  const std::lock_guard lock(mutex_);
  ++totals_.windows;
  if (is_thrown_away) ++totals_.thrown_away;
  totals_.attributed_ns += found.attributed_ns;
  totals_.unattributed_ns += found.unattributed_ns;
}

/// For the timeline, which ends if it cannot be written. Sampling goes on.
void Sampler::keep_window(std::span<const SmSample> samples, std::span<const LoggedLaunch> log,
                          const Attribution& found) {
  if (of_.windows.empty()) return;
  try {
    append_window(of_, kSamplingWindows[window_].interval_ns, samples, log, found.launches);
  } catch (const std::exception& failure) {
    of_.says(fmt::format("the timeline of GPU {} ends here: {}", of_.device, failure.what()));
    of_.windows.clear();
  }
}

/// The kind of the next window, by this window's samples.
std::size_t Sampler::wanted_kind(const Attribution& found, std::span<const SmSample> samples,
                                 double launches) {
  const double active_ns = found.attributed_ns + found.unattributed_ns + found.cut_ns;
  if (active_ns <= 0) return window_;
  is_fit_ = found.attributed_ns >= kEnoughAttributed * (active_ns - found.cut_ns);
  const auto length_ns = static_cast<double>(samples.back().end_ns - samples[1].start_ns);
  const bool is_idle = active_ns < (1 - kMostlyIdle) * length_ns;
  if (!is_idle && (launches < kFewLaunches || found.cut_ns > kMostCut * active_ns)) {
    finest_tried_ = kKinds;
    return std::min(window_ + 1, kKinds - 1);
  }
  if (launches < kFewLaunches) return window_;
  if (!is_fit_) finest_tried_ = std::min(finest_tried_, window_);
  const std::size_t kind = is_idle ? std::min(kind_of(length_ns / launches / kSamplesApart), kCoarsestOfIdle)
                                   : kind_of(active_ns / launches / kSamplesEach);
  // If launches could not be told apart, finer samples may help: for a while, because programs change.
  const std::size_t finest = finest_tried_ == 0 ? 0 : finest_tried_ - 1;
  fit_windows_ = is_fit_ && kind > finest ? fit_windows_ + 1 : 0;
  if (fit_windows_ >= fit_patience_) {
    fit_windows_ = 0;
    fit_patience_ *= 2;
    ++finest_tried_;
  }
  return std::min(kind, finest);
}

/// Another kind of window needs a new configuration. It changes if several windows in a row want it, or if one has nothing usable.
void Sampler::choose_window(const Attribution& found, std::span<const SmSample> samples, double launches) {
  const std::size_t wanted = wanted_kind(found, samples, launches);
  if (wanted == window_) {
    unfit_windows_ = is_fit_ ? 0 : unfit_windows_ + 1;
    // The finest do not help: the others are tried again, rarely.
    if (window_ > 0 || unfit_windows_ < patience_) return;
    finest_tried_ = kKinds;
    patience_ *= kMorePatience;
    return;
  }
  if (++unfit_windows_ < kPatience && !found.launches.empty()) return;
  unfit_windows_ = 0;
  window_ = wanted;
  gpu_.configure(kSamplingWindows[window_]);
}

/// Whether a window would find launches: queued ones may run on, and a launching program may launch again.
bool Sampler::is_worth_a_window() {
  if (has_found_) return true;
  if (table_.latest_wanted() == last_wanted_) return false;
  const bool is_seldom = std::chrono::steady_clock::now() - last_window_ >= kSeldom;
  for (int time = 0; time < 2; ++time) {
    const std::uint32_t before = table_.latest();
    const std::uint32_t wanted_before = table_.latest_wanted();
    if (!wait_(kLaunching) || table_.latest_wanted() == wanted_before) return false;
    if (is_seldom || table_.log(before + 1, table_.latest(), of_.device).size() >= kManyAtOnce) return true;
  }
  return true;
}

std::chrono::nanoseconds Sampler::sample() {
  if (!is_worth_a_window()) return kIdleWait;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<SmSample> samples = take_window();
  has_found_ = false;
  if (samples.size() > 1) {
    // One beside the latest, if threads launch at once.
    const std::vector<LoggedLaunch> log = table_.log(first_, last_ + 1, of_.device);
    const Attribution found = attribute(samples, log);
    keep_window(samples, log, found);
    use(found);
    choose_window(found, samples, expected_launches(samples, log));
  }
  last_window_ = std::chrono::steady_clock::now();
  const auto took = last_window_ - begin;
  const int share = windows_with_launches_ < kWindowsOfNew ? kShareOfNew
                    : is_known_                            ? kShareOfKnown
                                                           : kShareOfFew;
  return std::min<std::chrono::nanoseconds>((share - 1) * took, kLongestWait);
}

WindowTotals Sampler::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

/// Share of a launch's sampled time with an active SM, above which device memory's work is the launch's: a choice.
constexpr double kLeastActive = 0.5;

std::optional<std::map<std::string, double>> counters_alone(std::span<const SmSample> samples,
                                                            const SmsOfGpu& on, std::uint64_t before_ns,
                                                            std::uint64_t after_ns) {
  // The first spans the time before.
  if (!samples.empty()) samples = samples.subspan(1);
  const auto is_before = [&](const SmSample& one) { return one.end_ns <= before_ns; };
  const auto first_behind = std::ranges::partition_point(samples, is_before);
  if (first_behind == samples.begin()) return std::nullopt;
  samples = {first_behind - 1, samples.end()};
  const SmSample& before = samples.front();
  const bool idle_before = is_idle(before) && before.start_ns < before.end_ns;
  const bool idle_after = samples.back().start_ns >= after_ns && is_idle(samples.back());
  const auto gap = std::ranges::adjacent_find(
      samples, [](const SmSample& one, const SmSample& next) { return one.end_ns != next.start_ns; });
  if (!idle_before || !idle_after || gap != samples.end()) return std::nullopt;
  double blocks = 0;
  double warp_cycles = 0;
  double active_cycles = 0;
  double longest_cycles = 0;
  double elapsed_cycles = 0;
  double tensor_cycles = 0;
  double dram_pct_ns = 0;
  double seen_ns = 0;
  bool sees_units = true;
  std::uint64_t ns = 0;
  for (const SmSample& one : samples) {
    if (is_idle(one)) continue;
    sees_units = sees_units && one.tensor_cycles && one.dram_busy_pct;
    tensor_cycles += one.tensor_cycles.value_or(0);
    dram_pct_ns += one.dram_busy_pct.value_or(0) * static_cast<double>(one.end_ns - one.start_ns);
    seen_ns += active_ns(one);
    blocks += one.blocks;
    warp_cycles += one.warp_cycles;
    active_cycles += one.active_cycles;
    longest_cycles += one.longest_cycles;
    elapsed_cycles += one.elapsed_cycles;
    ns += one.end_ns - one.start_ns;
  }
  if (active_cycles <= 0 || ns == 0) return std::nullopt;
  std::map<std::string, double> counters{
      {kBlocksLaunched, blocks},
      {"sm__warps_active.avg.pct_of_peak_sustained_active",
       100 * warp_cycles / (on.warps_per_sm * active_cycles)},
      {"sm__warps_active.sum", warp_cycles},
      {"sm__cycles_active.avg", active_cycles / on.count},
      {"sm__cycles_active.max", longest_cycles},
      {"sm__cycles_elapsed.avg.per_second", 1e9 * elapsed_cycles / static_cast<double>(ns)},
  };
  if (sees_units) {
    counters.emplace("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                     100 * tensor_cycles * on.count / active_cycles);
    // In the rest of the samples, memory may work for others.
    if (seen_ns >= kLeastActive * static_cast<double>(ns))
      counters.emplace("dram__throughput.avg.pct_of_peak_sustained_elapsed",
                       std::min(100.0, dram_pct_ns / seen_ns));
  }
  return counters;
}

void AloneContext::set_up() {
  by_ranges_ = false;
  try {
    gpu_.configure(kWindows[window_]);
  } catch (const CountersUnavailable& failure) {
    if (failure.status() == CountersStatus::denied || failure.status() == CountersStatus::busy) throw;
    gpu_.give_back();
    by_ranges_ = true;
    ranges_->set_up();
  }
}

void AloneContext::wait() const {
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * kWindows[window_].interval_ns));
}

void AloneContext::push(const std::string& range, std::uint64_t expected_ns) {
  if (by_ranges_) return ranges_->push(range, expected_ns);
  is_unknown_ = expected_ns == 0;
  std::size_t wanted = is_unknown_ ? window_of_unknown_ : 0;
  while (wanted + 1 < std::size(kWindows) && kWindows[wanted].length_ns < 2 * expected_ns) ++wanted;
  if (wanted != window_) gpu_.configure(kWindows[window_ = wanted]);
  counted_.reset();
  gpu_.start();
  wait();
  before_ns_ = time_ns_();
}

void AloneContext::pop() {
  if (by_ranges_) return ranges_->pop();
  const std::uint64_t after_ns = time_ns_();
  wait();
  gpu_.stop();
  const std::vector<SmSample> samples = gpu_.read();
  const bool was_too_short = samples.size() < 2 || samples.back().start_ns < after_ns;
  if (was_too_short && is_unknown_) window_of_unknown_ = std::min(window_ + 1, std::size(kWindows) - 1);
  counted_ = counters_alone(samples, on_, before_ns_, after_ns);
}

void AloneContext::abandon() {
  if (by_ranges_) return ranges_->abandon();
  gpu_.stop();
}

CounterReadings AloneContext::stop(std::size_t ranges) {
  if (by_ranges_) return ranges_->stop(ranges);
  CounterReadings readings{{kBlocksLaunched, std::vector<double>(ranges, std::nan(""))}};
  if (!counted_) return readings;
  for (const auto& [metric, value] : *counted_) readings[metric] = std::vector<double>(ranges, value);
  return readings;
}

}  // namespace occbench
