#include "measure/cupti.hpp"

#include <system_error>

#include <fmt/ranges.h>

#include "files/input.hpp"
#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

CountersStatus status_of(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return CountersStatus::denied;
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return CountersStatus::busy;
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_DEVICE:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return CountersStatus::unsupported;
    default:
      return CountersStatus::failed;
  }
}

std::string_view remedy_of(CUptiResult result) {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return "a process can have one CUPTI subscriber: run it without its own profiler, or without the other "
           "tool";
  switch (status_of(result)) {
    case CountersStatus::denied:
      return "run as root or with CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on; in a container "
             "--cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CountersStatus::busy:
      return "another profiler holds the counters: end it, or pause DCGM with `dcgmi profile pause`";
    case CountersStatus::unsupported:
      return "this GPU or its virtualization does not offer them";
    default:
      break;
  }
  return result == CUPTI_ERROR_NOT_INITIALIZED ? "the driver does not fit this CUPTI, or libnvperf_host and "
                                                 "libnvperf_target do not lie beside libcupti"
                                               : "time and theory are measured without them";
}

void check_supported(const Cupti& cupti, int device_index, Profiler profiler) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params);
  params.cuDevice = device_index;
  params.api = profiler == Profiler::range ? CUPTI_PROFILER_RANGE_PROFILING : CUPTI_PROFILER_PM_SAMPLING;
  cupti.call(OCC_CUPTI(cuptiProfilerDeviceSupported), params);
  if (cupti.intercepted() || params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  const std::pair<CUpti_Profiler_Support_Level, std::string_view> reasons[] = {
      {params.architecture, "its architecture"},
      {params.sli, "SLI"},
      {params.vGpu, "vGPU (profiling must be enabled for the virtual machine)"},
      {params.confidentialCompute, "confidential computing"},
      {params.cmp, "a mining processor (CMP)"},
      {params.wsl, "WSL"},
  };
  std::vector<std::string_view> because;
  for (const auto& [level, reason] : reasons) {
    if (level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) because.push_back(reason);
  }
  throw CountersUnavailable(
      CountersStatus::unsupported,
      fmt::format("this GPU's counters cannot be read because of {}", fmt::join(because, ", ")));
}

/// Initializes CUPTI's profilers. It is not undone: all objects of the process share it.
void initialize_profilers(const Cupti& cupti) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
  cupti.call(OCC_CUPTI(cuptiProfilerInitialize), params);
}

constexpr CUpti_MetricType kMetricTypes[] = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO,
                                             CUPTI_METRIC_TYPE_THROUGHPUT};

}  // namespace

void Cupti::require(int result, std::string_view call) {
  if (result == CUPTI_SUCCESS) return;
  if (!why_no_cupti().empty()) throw CountersUnavailable(CountersStatus::failed, why_no_cupti());
  const auto code = static_cast<CUptiResult>(result);
  throw CountersUnavailable(status_of(code),
                            fmt::format("{} failed: {}; {}", call, result_text(result), remedy_of(code)));
}

std::string Cupti::result_text(int result) {
  const char* text = nullptr;
  static_cast<void>(OCC_CUPTI(cuptiGetResultString)(static_cast<CUptiResult>(result), &text));
  return text != nullptr ? text : "unknown error";
}

std::string supported_chip(const Cupti& cupti, int device_index, Profiler profiler) {
  if (const auto socket = mps_socket())
    throw CountersUnavailable(CountersStatus::unsupported, why_not_with_mps(*socket));
  initialize_profilers(cupti);
  check_supported(cupti, device_index, profiler);
  auto params = OCC_CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
  params.deviceIndex = static_cast<std::size_t>(device_index);
  cupti.call(OCC_CUPTI(cuptiDeviceGetChipName), params);
  return params.pChipName != nullptr ? params.pChipName : "";
}

MetricHost::MetricHost(const Cupti& cupti, Profiler profiler, const std::string& chip,
                       const std::vector<std::uint8_t>& availability)
    : cupti_(&cupti) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
  params.profilerType =
      profiler == Profiler::range ? CUPTI_PROFILER_TYPE_RANGE_PROFILER : CUPTI_PROFILER_TYPE_PM_SAMPLING;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  cupti_->call(OCC_CUPTI(cuptiProfilerHostInitialize), params);
  host_ = params.pHostObject;
}

MetricHost::~MetricHost() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_Deinitialize_Params, pHostObject, host_);
  static_cast<void>(cupti_->try_call(OCC_CUPTI(cuptiProfilerHostDeinitialize), params));
}

int MetricHost::try_add(const std::vector<std::string>& metrics) {
  std::vector<const char*> names = pointers_to(metrics);
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject, host_);
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  return cupti_->try_call(OCC_CUPTI(cuptiProfilerHostConfigAddMetrics), params);
}

std::vector<std::uint8_t> MetricHost::config_image() {
  auto size = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject, host_);
  cupti_->call(OCC_CUPTI(cuptiProfilerHostGetConfigImageSize), size);
  std::vector<std::uint8_t> image(size.configImageSize);
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_GetConfigImage_Params, pHostObject, host_);
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  cupti_->call(OCC_CUPTI(cuptiProfilerHostGetConfigImage), params);
  return image;
}

std::vector<double> MetricHost::evaluate(const std::vector<std::string>& metrics,
                                         const std::vector<std::uint8_t>& data, std::size_t index) const {
  std::vector<const char*> names = pointers_to(metrics);
  std::vector<double> values(names.size());
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject, host_);
  params.pCounterDataImage = data.data();
  params.counterDataImageSize = data.size();
  params.rangeIndex = index;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  cupti_->call(OCC_CUPTI(cuptiProfilerHostEvaluateToGpuValues), params);
  return values;
}

std::vector<std::string> MetricHost::base_metrics() const {
  std::vector<std::string> names;
  for (const CUpti_MetricType type : kMetricTypes) {
    auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject, host_);
    params.metricType = type;
    cupti_->call(OCC_CUPTI(cuptiProfilerHostGetBaseMetrics), params);
    names.insert(names.end(), params.ppMetricNames, params.ppMetricNames + params.numMetrics);
  }
  return names;
}

std::vector<std::string> MetricHost::sub_metrics(const std::string& base_metric) const {
  // A metric is of one type, and CUPTI refuses to list it as another.
  for (const CUpti_MetricType type : kMetricTypes) {
    auto params = OCC_CUPTI_PARAMS_OF(CUpti_Profiler_Host_GetSubMetrics_Params, pHostObject, host_);
    params.metricType = type;
    params.pMetricName = base_metric.c_str();
    if (cupti_->try_call(OCC_CUPTI(cuptiProfilerHostGetSubMetrics), params) == CUPTI_SUCCESS) {
      return {params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics};
    }
  }
  return {};
}

std::size_t passes_of(const Cupti& cupti, std::vector<std::uint8_t>& config_image) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  cupti.call(OCC_CUPTI(cuptiProfilerHostGetNumOfPasses), params);
  return params.numOfPasses;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

std::optional<std::filesystem::path> mps_socket() {
  const std::string folder = environment_variable("CUDA_MPS_PIPE_DIRECTORY");
  const std::filesystem::path socket =
      std::filesystem::path(folder.empty() ? "/tmp/nvidia-mps" : folder) / "control";
  std::error_code none;
  if (!std::filesystem::is_socket(socket, none)) return std::nullopt;
  return socket;
}

std::string why_not_with_mps(const std::filesystem::path& socket) {
  return fmt::format(
      "programs share the GPU through MPS ({}): counting would make their launches fail. End its daemon "
      "(echo quit | nvidia-cuda-mps-control); delete the socket if none runs",
      socket.string());
}

}  // namespace occbench
