#include "measure/counters.hpp"

#include <optional>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "gpu/error.hpp"
#include "measure/cupti.hpp"

namespace occbench {
namespace {

CUcontext current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion(cuCtxGetCurrent)");
  CUcontext context = nullptr;
  if (found != cudaDriverEntryPointSuccess ||
      reinterpret_cast<CUresult (*)(CUcontext*)>(function)(&context) != CUDA_SUCCESS || context == nullptr) {
    throw CountersUnavailable(CountersStatus::failed,
                              "the driver has no current context to read counters of");
  }
  return context;
}

}  // namespace

class Counters::Session {
 public:
  Session(const Device& device, int readings, CuptiInterceptor intercept)
      : cupti_(std::move(intercept)),
        readings_(static_cast<std::size_t>(readings)),
        context_(cupti_.intercepted() ? nullptr : current_context()),
        chip_(supported_chip(cupti_, device.index, Profiler::range)),
        availability_(counter_availability(cupti_, context_)) {}

  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
    RangeProfiler& profiler = profiler_for(metric_set(metrics));
    profiler.prepare();
    bool all_passes_submitted = false;
    while (!all_passes_submitted) all_passes_submitted = run_pass(profiler, launch, before);
    profiler.decode();
    return profiler.readings(readings_);
  }

 private:
  /// Made once and used for every case that asks for them.
  const MetricSet& metric_set(const std::vector<std::string>& metrics) {
    auto found = sets_.find(metrics);
    if (found == sets_.end()) {
      found = sets_.emplace(metrics, MetricSet(cupti_, chip_, availability_, metrics)).first;
    }
    return found->second;
  }

  /// A profiler keeps the first configuration that it is given until it is disabled.
  RangeProfiler& profiler_for(const MetricSet& set) {
    if (configured_for_ != &set) {
      configured_for_ = nullptr;
      profiler_.emplace(cupti_, context_, set, readings_);
      configured_for_ = &set;
    }
    return *profiler_;
  }

  /// @returns whether every pass has now been submitted.
  bool run_pass(RangeProfiler& profiler, const std::function<void()>& launch,
                const std::function<void()>& before) {
    profiler.start();
    try {
      for (std::size_t range = 0; range < readings_; ++range) {
        if (before) before();
        profiler.push(fmt::format("{}", range));
        launch();
        profiler.pop();
      }
    } catch (...) {
      // Whatever failed, the next case must find the profiler stopped.
      profiler.try_stop();
      throw;
    }
    return profiler.stop();
  }

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  std::size_t readings_;
  CUcontext context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::map<std::vector<std::string>, MetricSet> sets_;
  std::optional<RangeProfiler> profiler_;
  const MetricSet* configured_for_ = nullptr;
};

Counters::Counters(const Device& device, int readings, CuptiInterceptor intercept)
    : session_(std::make_unique<Session>(device, readings, std::move(intercept))) {}
Counters::~Counters() = default;
Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;

CounterReadings Counters::read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                               const std::function<void()>& before) {
  return session_->read(metrics, launch, before);
}

}  // namespace occbench
