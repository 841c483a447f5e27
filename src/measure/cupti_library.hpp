#pragma once

#include <atomic>
#include <string>

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace occbench {

// CUPTI's library, opened at its first use and never linked. For .cpp files of this folder: in namespace occbench each
// function of CUPTI that is listed here has its own name.

/// CUPTI's function of this name; nullptr where the library cannot be opened or lacks it. What the process has loaded
/// already (PyTorch brings one) is taken first, then the first of cuda_library_files(). Only the major version of the
/// headers that this was compiled with: records differ between major versions.
void* cupti_function(const char* name);

/// Why the library cannot be opened, with the remedy; empty where it is open.
const std::string& why_no_cupti();

/// Found at its first call. Without the library it returns CUPTI_ERROR_NOT_INITIALIZED, for which Cupti::require()
/// says why_no_cupti().
template <typename Signature>
class CuptiFunction;

template <typename... Parameters>
class CuptiFunction<CUptiResult(Parameters...)> {
 public:
  explicit constexpr CuptiFunction(const char* name) : name_(name) {}

  CUptiResult operator()(Parameters... parameters) const {
    void* function = function_.load(std::memory_order_acquire);
    if (function == nullptr) function_.store(function = cupti_function(name_), std::memory_order_release);
    if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
    return reinterpret_cast<CUptiResult (*)(Parameters...)>(function)(parameters...);
  }

 private:
  const char* name_;
  mutable std::atomic<void*> function_{nullptr};
};

#define OCC_CUPTI_FUNCTION(NAME) inline constinit const CuptiFunction<decltype(::NAME)> NAME(#NAME);
OCC_CUPTI_FUNCTION(cuptiActivityDisable)
OCC_CUPTI_FUNCTION(cuptiActivityDisableContext)
OCC_CUPTI_FUNCTION(cuptiActivityEnable)
OCC_CUPTI_FUNCTION(cuptiActivityEnableContext)
OCC_CUPTI_FUNCTION(cuptiActivityFlushAll)
OCC_CUPTI_FUNCTION(cuptiActivityGetNextRecord)
OCC_CUPTI_FUNCTION(cuptiActivityGetNumDroppedRecords)
OCC_CUPTI_FUNCTION(cuptiActivityRegisterCallbacks)
OCC_CUPTI_FUNCTION(cuptiDeviceGetChipName)
OCC_CUPTI_FUNCTION(cuptiEnableCallback)
OCC_CUPTI_FUNCTION(cuptiGetResultString)
OCC_CUPTI_FUNCTION(cuptiGetTimestamp)
OCC_CUPTI_FUNCTION(cuptiPmSamplingCounterDataGetSampleInfo)
OCC_CUPTI_FUNCTION(cuptiPmSamplingCounterDataImageInitialize)
OCC_CUPTI_FUNCTION(cuptiPmSamplingDecodeData)
OCC_CUPTI_FUNCTION(cuptiPmSamplingDisable)
OCC_CUPTI_FUNCTION(cuptiPmSamplingEnable)
OCC_CUPTI_FUNCTION(cuptiPmSamplingGetCounterAvailability)
OCC_CUPTI_FUNCTION(cuptiPmSamplingGetCounterDataInfo)
OCC_CUPTI_FUNCTION(cuptiPmSamplingGetCounterDataSize)
OCC_CUPTI_FUNCTION(cuptiPmSamplingSetConfig)
OCC_CUPTI_FUNCTION(cuptiPmSamplingStart)
OCC_CUPTI_FUNCTION(cuptiPmSamplingStop)
OCC_CUPTI_FUNCTION(cuptiProfilerDeviceSupported)
OCC_CUPTI_FUNCTION(cuptiProfilerGetCounterAvailability)
OCC_CUPTI_FUNCTION(cuptiProfilerHostConfigAddMetrics)
OCC_CUPTI_FUNCTION(cuptiProfilerHostDeinitialize)
OCC_CUPTI_FUNCTION(cuptiProfilerHostEvaluateToGpuValues)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetBaseMetrics)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetConfigImage)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetConfigImageSize)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetNumOfPasses)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetSubMetrics)
OCC_CUPTI_FUNCTION(cuptiProfilerHostGetSupportedChips)
OCC_CUPTI_FUNCTION(cuptiProfilerHostInitialize)
OCC_CUPTI_FUNCTION(cuptiProfilerInitialize)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerCounterDataImageInitialize)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerDecodeData)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerDisable)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerEnable)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerGetCounterDataSize)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerPopRange)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerPushRange)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerSetConfig)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerStart)
OCC_CUPTI_FUNCTION(cuptiRangeProfilerStop)
OCC_CUPTI_FUNCTION(cuptiSubscribe)
#undef OCC_CUPTI_FUNCTION

}  // namespace occbench
