#pragma once

// A device, instruments and a kernel for tests of the harness without a GPU.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "files/output.hpp"
#include "gpu/error.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/plan.hpp"
#include "harness/run.hpp"
#include "harness/source_family.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {

namespace fs = std::filesystem;

inline constexpr double kMicroseconds = 200;
/// One of those that are read in the full suite alone.
inline constexpr std::string_view kOfTheFullSuite = "dram__bytes.sum";

/// Functions that nobody calls, the second with more registers.
inline const char kFunction = 0;
inline const char kHeavyFunction = 0;

/// A device that measures what it is told to, and counts how often it is asked.
class FakeInstruments : public Instruments {
 public:
  int timed = 0;
  int counted = 0;
  std::vector<std::vector<std::string>> set_up = {};  ///< lists of counters that were tried
  int launches = 0;
  int traced = 0;
  int made_ready = 0;  ///< for counted, sampled and recorded launches
  int flushed = 0;     ///< likewise
  int cold_timed = 0;
  std::vector<std::string> counted_metrics = {};
  CountersStatus status = CountersStatus::ok;
  CountersStatus full_suite_status = CountersStatus::ok;
  CountersStatus sampling_status = CountersStatus::ok;
  bool lost = false;
  std::deque<double> times = {};                 ///< of the next launches; then kMicroseconds
  std::map<int, double> time_of = {};            ///< of launches by threads per block; then kMicroseconds
  int launched = 0;                              ///< threads per block of the last launch
  std::deque<std::uint64_t> event_reasons = {};  ///< of the next looks at the clocks; then none
  std::optional<int> first_gpc = {};             ///< of launches that are measured, unless they miss it
  bool misses_timed = false;                     ///< timed launches begin with another GPC
  bool misses_counted = false;                   ///< likewise counted, sampled and recorded launches
  bool missed = false;                           ///< a launch did since the GPC was last taken
  std::vector<double> readings = {50, 51, 52};
  std::map<std::string, std::vector<double>, std::less<>> readings_of = {};  ///< where they are others
  ActivitySamples samples = {};

  Compiled inspect(const Variant& variant) override {
    return {.usage = {.registers_per_thread = variant.function == &kHeavyFunction ? 255 : 20,
                      .local_bytes_per_thread = 0},
            .code_architecture = "sm_90"};
  }
  cudaStream_t stream() override {
    return nullptr;
  }
  void synchronize() override {}
  double microseconds(const std::function<void(cudaStream_t)>& queue, bool cold) override {
    ++timed;
    cold_timed += cold ? 1 : 0;
    missed = missed || misses_timed;
    queue(nullptr);
    const auto found = time_of.find(launched);
    return next(times, found == time_of.end() ? kMicroseconds : found->second);
  }
  void make_ready(bool cold) override {
    ++made_ready;
    flushed += cold ? 1 : 0;
    missed = missed || misses_counted;
  }
  std::optional<int> take_first_gpc() override {
    return std::exchange(missed, false) ? std::nullopt : first_gpc;
  }
  void set_up_counters(const std::vector<std::string>& metrics) override {
    set_up.push_back(metrics);
    require_readable(metrics);
  }
  CounterReadings count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                        const std::function<void()>& before) override {
    ++counted;
    require_readable(metrics);
    counted_metrics = metrics;
    return read(metrics, launch, before);
  }
  ActivitySamples sample(double, const std::function<void()>& launch) override {
    if (sampling_status != CountersStatus::ok)
      throw CountersUnavailable(sampling_status, "because the test says so");
    launch();
    return samples;
  }
  GpuCondition condition() override {
    return {.clocks_event_reasons = next(event_reasons, std::uint64_t{0}),
            .sm_clock_mhz = 1980,
            .memory_clock_mhz = 3201,
            .temperature_c = 42,
            .power_w = 118.5,
            .other_processes = 0};
  }
  std::string gpu_settings() override {
    return "persistence=on";
  }
  MetricCatalog metric_catalog() override {
    return MetricCatalog("GH100");
  }
  bool context_is_lost() override {
    return lost;
  }

 private:
  void require_readable(const std::vector<std::string>& metrics) const {
    if (full_suite_status != CountersStatus::ok &&
        std::ranges::find(metrics, kOfTheFullSuite) != metrics.end())
      throw CountersUnavailable(full_suite_status, "the test refuses them");
    if (status != CountersStatus::ok) throw CountersUnavailable(status, "because the test says so");
  }

  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
    before();
    launch();
    CounterReadings result;
    for (const std::string& metric : metrics) {
      const auto found = readings_of.find(metric);
      result[metric] = found == readings_of.end() ? readings : found->second;
    }
    return result;
  }

  template <typename Value>
  static Value next(std::deque<Value>& scripted, Value otherwise) {
    if (scripted.empty()) return otherwise;
    const Value value = scripted.front();
    scripted.pop_front();
    return value;
  }
};

inline FakeInstruments* instruments_in_use = nullptr;

/// What the fake kernel's case with this many threads does.
inline constexpr int kFailing = 96;
inline constexpr int kFatal = 128;
inline constexpr int kUnsupported = 160;
inline constexpr int kGone = 1000;
inline constexpr int kNoDevice = 1001;
inline constexpr int kWrong = 224;

class FakePrepared final : public Prepared {
 public:
  explicit FakePrepared(int block_threads) : block_threads_(block_threads) {}

  void launch(cudaStream_t) override {
    ++instruments_in_use->launches;
    instruments_in_use->launched = block_threads_;
    if (block_threads_ == kFailing)
      throw CudaError(cudaErrorLaunchFailure, "launch", std::source_location::current());
    if (block_threads_ == kFatal) {
      instruments_in_use->lost = true;
      throw CudaError(cudaErrorIllegalAddress, "launch", std::source_location::current());
    }
    if (block_threads_ == kGone || block_threads_ == kNoDevice) {
      instruments_in_use->lost = true;
      throw CudaError(block_threads_ == kGone ? cudaErrorDevicesUnavailable : cudaErrorNoDevice, "launch",
                      std::source_location::current());
    }
  }
  Check check(cudaStream_t) override {
    if (block_threads_ == kUnsupported) throw CannotRun("this device has no such thing");
    if (block_threads_ == kWrong) return Check::wrong;
    return Check::ok;
  }
  std::string why_wrong() const override {
    return block_threads_ == kWrong ? "its result differs from another" : "";
  }
  std::vector<WarpRecord> record_warps(cudaStream_t) override {
    EXPECT_GT(instruments_in_use->timed, 0);  // a recorded launch is neither timed nor counted
    ++instruments_in_use->traced;
    return {WarpRecord{.start_cycles = 0, .end_cycles = 100, .start_ns = 0, .end_ns = 64, .sm = 7}};
  }
  Amount useful() const override {
    return {1e6, "items"};
  }

 private:
  int block_threads_;
};

inline const Variant kVariants[] = {{"plain", &kFunction}};

inline std::unique_ptr<Prepared> prepare_fake(const Case& chosen, const Variant&, const Device&) {
  return std::make_unique<FakePrepared>(chosen.launch.block_threads);
}

inline const Kernel kFake{"fake", "does what the test says", kVariants, prepare_fake};

inline Experiment experiment_of(std::vector<int> block_sizes) {
  return {"fake_experiment", "a claim", "a source", [block_sizes](const Planner&) {
            std::vector<Case> cases;
            for (const int block_threads : block_sizes) {
              cases.push_back({.kernel = &kFake,
                               .variant = "plain",
                               .launch = {.block_threads = block_threads, .grid_blocks = 1056},
                               .work = Work::equal(1000),
                               .suite = Suite::smoke,
                               .parameters = {{"block_threads", std::to_string(block_threads)}}});
            }
            return cases;
          }};
}

/// A family whose kernel exists: block sizes as a launch has them, and colours, of which blue is none.
inline Experiment fake_families() {
  Experiment of = experiment_of({256});
  of.families = [] {
    const SweepAxis own[] = {
        {"colour", AxisKind::text, "changes nothing", "red"}, registers_axis(), min_blocks_axis()};
    Family family{
        "fake", "does what the test says", joined(launch_axes("256", "2"), own),
        [](const Point& at, const Device& device) {
          if (at.text("colour") == "blue") throw InputError("--colour blue: it is red or green");
          const Usage usage{.registers_per_thread = asked_registers(at, device.limits).cap.value_or(20),
                            .local_bytes_per_thread = 0};
          Case chosen{.kernel = &kFake, .launch = launch_at(at, device, usage), .work = Work::equal(1000)};
          chosen.built = built_variant("made", &kFunction, Compiled{usage, "sm_90"});
          chosen.variant = chosen.built->name;
          return chosen;
        }};
    return std::vector<Family>{family};
  };
  return of;
}

inline Device fake_device() {
  Device device;
  device.name = "NVIDIA H200";
  device.compute_capability = {9, 0};
  device.sm_count = 132;
  device.limits = limits_of({9, 0});
  return device;
}

/// One case of one warp a block, as `change` makes it.
inline Experiment one_case(
    const Kernel& kernel, const std::function<void(Case&)>& change = [](Case&) {}) {
  return {"fake_experiment", "a claim", "a source", [&kernel, change](const Planner&) {
            Case chosen{.kernel = &kernel,
                        .variant = "plain",
                        .launch = {.block_threads = 32, .grid_blocks = 1},
                        .work = Work::equal(1000),
                        .suite = Suite::smoke};
            change(chosen);
            return std::vector<Case>{chosen};
          }};
}

class RunCases : public ::testing::Test {
 protected:
  RunCases() {
    instruments_in_use = &instruments_;
  }
  fs::path csv() const {
    return folder_ / "rows.csv";
  }

  std::vector<double> samples_of(std::string_view quantity) const {
    std::vector<double> values;
    for (const Sample& sample : read_samples(samples_path(csv()))) {
      if (sample.quantity == quantity) values.push_back(sample.value);
    }
    return values;
  }

  ExitStatus run(const Experiment& of, std::vector<std::string> arguments = {}) {
    arguments.push_back("--occ_csv=" + csv().string());
    const Options options = parse_options(arguments);
    Options once = options;
    // Google Benchmark keeps its flags from one run of a process to the next.
    once.google_benchmark.insert(
        once.google_benchmark.begin(),
        {"--benchmark_filter=", "--benchmark_repetitions=1", "--benchmark_report_aggregates_only=false"});
    static const std::string program = "test";
    initialize_google_benchmark(program, once);
    const Experiment* const experiments[] = {&of};
    return run_experiments(experiments, options, device_, instruments_);
  }

  Device device_ = fake_device();
  FakeInstruments instruments_;
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

}  // namespace occbench
