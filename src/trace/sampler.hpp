#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "entries/entries.hpp"
#include "measure/pm_sampling.hpp"
#include "trace/attribution.hpp"
#include "trace/captures.hpp"
#include "trace/context_counter.hpp"
#include "trace/launch_table.hpp"

namespace occbench {

/// A GPU whose SMs can be sampled; see SmSampler. Everything throws CountersUnavailable. The owner of the GPU's counters calls: a program
/// thread that counts a launch, behind its closed gate, or the sampling thread.
class SampledGpu {
 public:
  virtual ~SampledGpu() = default;

  virtual void configure(const SamplingWindow& window) = 0;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual std::vector<SmSample> read() = 0;
  /// Until it is configured again. It never throws.
  virtual void give_back() noexcept = 0;
};

/// Kinds of windows, finest first: some 3,000 to 5,000 samples each. A window must be longer than launches that it should see whole. Its
/// samples must be short compared with the gaps between them.
inline constexpr SamplingWindow kSamplingWindows[] = {
    {250, 700'000},      {500, 2'000'000},     {1'000, 4'000'000},
    {4'000, 16'000'000}, {16'000, 64'000'000}, {64'000, 256'000'000},
};

/// Samples one GPU in windows and finds the program's launches in them. Its own thread calls it while the program runs.
class Sampler {
 public:
  struct Of {
    int device = 0;
    int warps_per_sm = 0;        ///< that one can hold
    std::uint64_t began_ns = 0;  ///< zero of calls' times, on the samples' clock
    /// Each window is appended to this text file, for a timeline and for tests of the attribution; empty = no file. Times are in ns since
    /// BEGAN, on CUPTI's clock. Lines: `window INTERVAL DEVICE WARPS_PER_SM BEGAN`; per launch `call CALLED KERNEL BLOCKS STREAM` (KERNEL
    /// is - for a memory fill or copy); per sample `sample START LENGTH BLOCKS WARP_CYCLES ACTIVE_CYCLES LONGEST_CYCLES ELAPSED_CYCLES`;
    /// per run of idle samples `idle START END COUNT`; per launch found `launch KERNEL START LENGTH WARP_CYCLES ACTIVE_CYCLES`.
    std::filesystem::path windows{};
    std::function<void(const std::string& line)>
        says{};  ///< messages to the user; required if `windows` is set
  };
  /// @param wait waits this long; false = the program ends, and so must the window
  Sampler(SampledGpu& gpu, const Of& of, LaunchTable& table, const Captures& captures,
          std::function<bool(std::chrono::nanoseconds)> wait);

  /// Configures the first kind of windows: some tenths of a second. @throws CountersUnavailable, as sample()
  void set_up();

  /// One window, if the program launches. @returns the wait before the next. The thread uses at most half a processor while kernels are
  /// new, and a sixth while some have few samples. It uses a fiftieth once the kernels of 95 % of the time have enough
  std::chrono::nanoseconds sample();

  /// Whether calls must be marked with their time now.
  bool wants_times() const {
    return wants_times_.load(std::memory_order_relaxed);
  }
  WindowTotals totals() const;

 private:
  /// Consecutive windows that must want another kind.
  static constexpr int kPatience = 2;

  std::vector<SmSample> take_window();
  void use(const Attribution& found);
  void keep_window(std::span<const SmSample> samples, std::span<const LoggedLaunch> log,
                   const Attribution& found);
  void choose_window(const Attribution& found, std::span<const SmSample> samples, double launches);
  std::size_t wanted_kind(const Attribution& found, std::span<const SmSample> samples, double launches);
  bool is_worth_a_window();

  SampledGpu& gpu_;
  Of of_;
  LaunchTable& table_;
  const Captures& captures_;
  const std::function<bool(std::chrono::nanoseconds)> wait_;
  std::atomic<bool> wants_times_{false};
  std::size_t window_ = 1;  ///< of kSamplingWindows
  int unfit_windows_ = 0;   ///< consecutive; or wanted another kind
  int patience_ = kPatience;
  int fit_windows_ = 0;  ///< consecutive; the next could be coarser
  int fit_patience_ = 4;
  bool is_fit_ = false;                                     ///< the last window
  std::size_t finest_tried_ = std::size(kSamplingWindows);  ///< kind in vain since the last reset
  std::int64_t windows_with_launches_ = 0;
  bool is_known_ = false;  ///< the running kernels are, by the last window with attributed launches
  std::chrono::steady_clock::time_point last_window_{};
  std::uint32_t first_ = 0;  ///< correlations that the last window could hold
  std::uint32_t last_ = 0;
  std::uint32_t last_wanted_ = 0;
  bool has_found_ = false;  ///< a wanted launch in the last window
  mutable std::mutex mutex_;
  WindowTotals totals_{};
};

struct SmsOfGpu {
  int count = 0;
  int warps_per_sm = 0;  ///< that one can hold
};

/// In readings by samples: blocks launched. They are the launch's own if nothing else ran.
inline constexpr const char* kBlocksLaunched = "gr__ctas_launched.sum";

/// Counters of a launch that ran alone in the samples, by CUPTI's names. `sm__cycles_active.max` sums each sample's most active SM. For a
/// launch in several samples it is at least the active cycles of any one SM.
/// @param before_ns  before the launch's call; `after_ns` is after its end, both on the samples' clock
/// @returns nothing unless the GPU was idle for a whole sample before it and one after it, with no sample missing between
std::optional<std::map<std::string, double>> counters_alone(std::span<const SmSample> samples,
                                                            const SmsOfGpu& on, std::uint64_t before_ns,
                                                            std::uint64_t after_ns);

/// A context whose launches are counted by sampling its GPU while each runs alone. If the GPU cannot be sampled, CUPTI's range profiler
/// counts. It makes each later launch of a context 0.5 to 1 us longer until the context is gone (H100, CUDA 13.0).
class AloneContext : public CountedContext {
 public:
  /// Finest first, each for launches of up to half its length. Two intervals pass before and after a launch, so that whole samples are
  /// idle.
  static constexpr SamplingWindow kWindows[] = {
      {100'000, 20'000'000}, {400'000, 200'000'000}, {6'400'000, 3'200'000'000}};

  /// @param ranges also says when the context is idle
  AloneContext(std::unique_ptr<CountedContext> ranges, SampledGpu& gpu, const SmsOfGpu& on,
               std::function<std::uint64_t()> time_ns)
      : ranges_(std::move(ranges)), gpu_(gpu), on_(on), time_ns_(std::move(time_ns)) {}

  void set_up() override;
  void tear_down() noexcept override {
    ranges_->tear_down();
  }
  std::size_t most_ranges() const override {
    return by_ranges_ ? ranges_->most_ranges() : 1;
  }
  void mark() override {
    ranges_->mark();
  }
  bool reached() override {
    return ranges_->reached();
  }
  void start() override {
    if (by_ranges_) ranges_->start();
  }
  void push(const std::string& range, std::uint64_t expected_ns) override;
  void pop() override;
  void abandon() override;
  CounterReadings stop(std::size_t ranges) override;

 private:
  void wait() const;

  const std::unique_ptr<CountedContext> ranges_;
  SampledGpu& gpu_;
  const SmsOfGpu on_;
  const std::function<std::uint64_t()> time_ns_;
  bool by_ranges_ = false;
  std::size_t window_ = 0;
  std::size_t window_of_unknown_ = 0;  ///< for launches whose time is not known
  bool is_unknown_ = false;            ///< that of the launch
  std::uint64_t before_ns_ = 0;
  std::optional<std::map<std::string, double>> counted_;
};

}  // namespace occbench
