#include "measure/counters.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "gpu/error.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  if (driver_function<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    throw CountersUnavailable(CountersStatus::failed,
                              "the driver has no current context to read counters of");
  }
  return context;
}

constexpr int kCuptiSuccess = 0;

/// Where the roll-up of a full name begins: after the base metric. Its name may have points before its "__",
/// as in TPC.TriageCompute.tpc__warps_active_realtime.sum.
std::size_t end_of_base(std::string_view metric) {
  const std::size_t unit = metric.find("__");
  return std::min(metric.find('.', unit == std::string_view::npos ? 0 : unit), metric.size());
}

}  // namespace

Counters::Counters(const Device& device, int readings, CuptiInterceptor intercept)
    : cupti_(std::move(intercept)),
      readings_(static_cast<std::size_t>(readings)),
      context_(cupti_.intercepted() ? nullptr : current_context()),
      chip_(supported_chip(cupti_, device.index, Profiler::range)),
      availability_(counter_availability(cupti_, context_)) {}

CounterReadings Counters::read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                               const std::function<void()>& before) {
  RangeProfiler& profiler = profiler_for(metric_set(metrics));
  profiler.prepare();
  bool all_passes_submitted = false;
  while (!all_passes_submitted) all_passes_submitted = run_pass(profiler, launch, before);
  profiler.decode();
  return profiler.readings(readings_);
}

const MetricSet& Counters::metric_set(const std::vector<std::string>& metrics) {
  const auto found = sets_.find(metrics);
  if (found != sets_.end()) return found->second;
  return sets_.emplace(metrics, MetricSet(cupti_, chip_, availability_, metrics)).first->second;
}

RangeProfiler& Counters::profiler_for(const MetricSet& set) {
  if (configured_for_ != &set) {
    configured_for_ = nullptr;
    profiler_.emplace(cupti_, context_, set, readings_);
    configured_for_ = &set;
  }
  return *profiler_;
}

bool Counters::run_pass(RangeProfiler& profiler, const std::function<void()>& launch,
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

MetricCatalog::MetricCatalog(const Device& device)
    : MetricCatalog(supported_chip(Cupti({}), device.index, Profiler::range)) {}
MetricCatalog::MetricCatalog(std::string chip)
    : chip_(std::move(chip)), host_(cupti_, Profiler::range, chip_, {}) {}

// Uses a separate host object, because added metrics stay in it.
bool MetricCatalog::has(const std::string& metric) const {
  return MetricHost(cupti_, Profiler::range, chip_, {}).try_add({metric}) == kCuptiSuccess;
}

std::size_t MetricCatalog::passes(const std::vector<std::string>& metrics) const {
  MetricHost host(cupti_, Profiler::range, chip_, {});
  Cupti::require(host.try_add(metrics), "cuptiProfilerHostConfigAddMetrics");
  std::vector<std::uint8_t> config = host.config_image();
  return passes_of(cupti_, config);
}

std::vector<std::string> MetricCatalog::nearest(const std::string& metric, std::size_t count) const {
  const std::size_t split = end_of_base(metric);
  const std::string wanted_base = metric.substr(0, split);
  const std::string wanted_rollup = metric.substr(split);
  std::vector<std::string> names;
  for (const std::string& base : nearest_names(wanted_base, host_.base_metrics(), count)) {
    const std::vector<std::string> rollups = host_.sub_metrics(base);
    // If the base is right, the roll-up is in question.
    const std::size_t of_this = base == wanted_base ? count : 1;
    for (const std::string& rollup : nearest_names(wanted_rollup, rollups, of_this)) {
      names.push_back(base + rollup);
    }
  }
  names.resize(std::min(names.size(), count));
  return names;
}

}  // namespace occbench
