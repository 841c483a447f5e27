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

// CUPTI's library, opened at its first use and never linked. For .cpp files of this folder.

/// CUPTI's function of this name; nullptr if the library cannot be opened or lacks it. A library that the
/// process has already loaded (PyTorch brings one) comes first, then the first of cuda_library_files(). Only
/// the major version of the headers at build is used: records differ between major versions.
void* cupti_function(const char* name);

/// Why the library cannot be opened, with the remedy; empty if it is open.
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

  const char* name() const {
    return name_;
  }

 private:
  const char* name_;
  mutable std::atomic<void*> function_{nullptr};
};

/// CUPTI's function of that name, as in OCC_CUPTI(cuptiGetTimestamp)(&time).
#define OCC_CUPTI(NAME)                                                              \
  ([]() -> const auto& {                                                             \
    static constinit const ::occbench::CuptiFunction<decltype(::NAME)> found(#NAME); \
    return found;                                                                    \
  }())

}  // namespace occbench
