#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trace/context_counter.hpp"
#include "trace/driver.hpp"

namespace occbench {

/// Short, so that tests are.
inline constexpr CountingTimes kShortTimes{.before = Patience(60),
                                           .after = Patience(40),
                                           .longest_hold = Patience(300),
                                           .session = Patience(0),
                                           .polling = Patience(10),
                                           .end = Patience(100)};

/// A GPU that does what a test says: is idle or not, fails a call or not, reads of each range what was
/// launched in it.
class FakeGpu {
 public:
  std::atomic<bool> idle{true};
  std::chrono::milliseconds stopping{0};  ///< what the end of a session takes
  std::atomic<int> launched_in_range{0};  ///< kernels that ran while a range was open
  std::atomic<int> recorded_in_range{0};  ///< of these in all ranges, those that CUPTI recorded
  std::atomic<bool> range_open{false};
  std::atomic<bool> capture_broken{false};  ///< something waited while a stream captured
  std::function<bool()> is_capturing = [] { return false; };
  std::atomic<bool> records_stuck{false};  ///< CUPTI changes nothing about them
  std::chrono::milliseconds resuming{0};   ///< what it takes until there are records again
  std::function<void()> flush = [] {};     ///< CUPTI hands its records over
  std::function<void()> kernel = [] {};    ///< what a kernel does
  std::function<void()> while_sampling = [] {};
  std::function<void()> while_configuring = [] {};  ///< windows
  std::function<std::vector<SmSample>()> read_samples = [] { return std::vector<SmSample>(); };
  std::function<std::vector<SmSample>()> read_alone = [] { return std::vector<SmSample>(); };
  std::atomic<bool> given_back{false};   ///< the sampling hardware
  std::vector<std::uint64_t> intervals;  ///< that samples were taken at

  /// The call that fails, by its number from 0 among all; -1 = none.
  int failing = -1;
  std::string failing_call;  ///< fails each time, as do those whose names begin so
  CountersStatus status = CountersStatus::failed;

  void called(const char* name) {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(name);
    if (is_capturing()) capture_broken = true;
    const bool always_fails = !failing_call.empty() && std::string_view(name).starts_with(failing_call);
    if (static_cast<int>(calls_.size()) - 1 == failing || always_fails) {
      throw CountersUnavailable(status, std::string(name) + " failed");
    }
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::size_t count(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(calls_, name));
  }

  /// A kernel runs.
  void launch(void* context) {
    if (range_open) ++launched_in_range;
    if (range_open && keeps_records(context)) ++recorded_in_range;
    kernel();
  }

  bool keeps_records(void* context) const {
    const std::lock_guard lock(mutex_);
    return !without_records_.contains(context) && !without_records_.contains(nullptr);
  }
  bool keep_records(void* context, bool kept) {
    if (records_stuck) return false;
    if (kept) std::this_thread::sleep_for(resuming);
    const std::lock_guard lock(mutex_);
    if (kept) {
      without_records_.erase(context);
    } else {
      without_records_.insert(context);
    }
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::set<void*> without_records_;
};

inline constexpr std::uint64_t kSampledFrom = 1'000'000;

/// Samples of 1 us: runs of so many blocks, with a gap around each; warps fill a quarter of the SMs, 16 of 64.
inline std::vector<SmSample> samples_of(const std::vector<double>& runs, int samples_each = 8,
                                        std::uint64_t began = kSampledFrom) {
  std::vector<SmSample> samples;
  const auto add = [&](double blocks, double cycles) {
    const std::uint64_t start = began + 1000 * samples.size();
    samples.push_back({start, start + 1000, blocks, 16 * cycles, cycles, cycles / 132, 1000});
  };
  for (int i = 0; i < 3; ++i) add(0, 0);
  for (const double blocks : runs) {
    for (int i = 0; i < samples_each; ++i) add(i == 0 ? blocks : 0, 132 * 900);
    for (int i = 0; i < 10; ++i) add(0, 0);
  }
  return samples;
}

/// Samples that a test says, window after window; none after these. Calls for one launch alone are told apart.
class FakeSampledGpu : public SampledGpu {
 public:
  explicit FakeSampledGpu(FakeGpu& gpu) : gpu_(gpu) {}

  void configure(const SamplingWindow& window) override {
    alone_ = std::ranges::any_of(AloneContext::kWindows, [&](const SamplingWindow& one) {
      return one.interval_ns == window.interval_ns && one.length_ns == window.length_ns;
    });
    gpu_.called(alone_ ? "configure alone" : "configure");
    if (!alone_) gpu_.while_configuring();
    gpu_.intervals.push_back(window.interval_ns);
  }
  void start() override {
    gpu_.called(alone_ ? "start alone" : "start sampling");
    if (!alone_) gpu_.while_sampling();
  }
  void stop() override {
    gpu_.called(alone_ ? "stop alone" : "stop sampling");
  }
  std::vector<SmSample> read() override {
    gpu_.called(alone_ ? "read alone" : "read samples");
    return alone_ ? gpu_.read_alone() : gpu_.read_samples();
  }
  void give_back() noexcept override {
    gpu_.given_back = true;
  }

 private:
  FakeGpu& gpu_;
  bool alone_ = false;
};

class FakeContext : public CountedContext {
 public:
  explicit FakeContext(FakeGpu& gpu) : gpu_(gpu) {}

  void set_up() override {
    gpu_.called("set_up");
  }
  void tear_down() noexcept override {
    try {
      gpu_.called("tear_down");
    } catch (const std::exception&) {
    }
  }
  void mark() override {
    gpu_.called("mark");
  }
  bool reached() override {
    return gpu_.idle;
  }
  void start() override {
    gpu_.called("start");
    launched_.clear();
  }
  void push(const std::string&, std::uint64_t) override {
    gpu_.called("push");
    gpu_.launched_in_range = 0;
    gpu_.range_open = true;
  }
  void pop() override {
    gpu_.called("pop");
    gpu_.range_open = false;
    launched_.push_back(gpu_.launched_in_range);
  }
  void abandon() override {
    pop();
  }
  CounterReadings stop(std::size_t ranges) override {
    gpu_.called("stop");
    std::this_thread::sleep_for(gpu_.stopping);
    launched_.resize(ranges);
    return {{"sm__warps_active.avg.pct_of_peak_sustained_active", launched_}};
  }

 private:
  FakeGpu& gpu_;
  std::vector<double> launched_;
};

class FakeDriver : public Driver {
 public:
  explicit FakeDriver(FakeGpu& gpu) : gpu_(gpu) {}

  std::map<void*, int> devices;  ///< of contexts; 0 for others
  std::map<void*, std::vector<GraphNode>> graphs;
  std::set<void*> blocking_streams;
  std::uint32_t registers = 40;  ///< of all kernels
  bool has_device_runtime = false;
  std::uint64_t now_ns = 1'000'000'000;

  std::uint32_t number_in_records(void*) override {
    return 0;
  }
  int device_of(void* context) override {
    const auto found = devices.find(context);
    return found == devices.end() ? 0 : found->second;
  }
  DeviceFacts describe(int device) override {
    DeviceFacts facts{9, 0, 132, 1'980'000, 2048, 0, {}, {}};
    std::string("NVIDIA H100").copy(facts.name.data(), facts.name.size());
    ("GPU-" + std::to_string(device)).copy(facts.uuid.data(), facts.uuid.size());
    return facts;
  }
  KernelFacts facts_of(const LaunchCall&) override {
    return {.registers_per_thread = registers};
  }
  bool may_launch_kernels(const LaunchCall&) override {
    return has_device_runtime;
  }
  std::vector<GraphNode> nodes_of(void* graph) override {
    return graphs[graph];
  }
  const char* name_of(void* launched) override {
    return launched == nullptr ? "" : "_Z5otherv";
  }
  std::unique_ptr<SampledGpu> make_sampled_gpu(int) override {
    return std::make_unique<FakeSampledGpu>(gpu_);
  }
  std::uint64_t time_ns() override {
    return now_ns;
  }
  void flush_records() override {
    gpu_.flush();
  }
  bool keep_records(void* context, bool kept) override {
    return gpu_.keep_records(context, kept);
  }
  bool is_blocking(void* stream) override {
    return blocking_streams.contains(stream);
  }
  void stream_created(void*, void*) override {}
  void stream_destroyed(void*, void*) override {}
  std::unique_ptr<CountedContext> make_context(void*, const std::vector<std::string>&) override {
    return std::make_unique<FakeContext>(gpu_);
  }

 private:
  FakeGpu& gpu_;
};

}  // namespace occbench
