// A library that CUDA loads into a program (CUDA_INJECTION64_PATH) and that does nothing but subscribe to CUPTI: what that alone costs
// (overhead.py). SUBSCRIBER says what it asks for:
//   nothing    a subscription
//   calls      callbacks for launches, which do nothing
//   records    also CUPTI's records of kernels
//   elsewhere  also, but not of the context that launches
//   ended      also, until the program has made 1,500 launches
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <cupti.h>

namespace {

constexpr long kLaunchesRecorded = 1500;
constexpr std::size_t kBufferBytes = 1 << 16;

std::string mode;
std::atomic<long> launches{0};

void require(CUptiResult result) {
  if (result != CUPTI_SUCCESS) std::fprintf(stderr, "subscriber: CUPTI says %d\n", result);
}

void CUPTIAPI on_launch(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  const long before = launches.fetch_add(1, std::memory_order_relaxed);
  if (mode == "elsewhere" && before == 0)
    require(cuptiActivityDisableContext(call.context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  if (mode == "ended" && before == kLaunchesRecorded)
    require(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

void CUPTIAPI buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI buffer_done(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const asked = std::getenv("SUBSCRIBER");
  mode = asked != nullptr ? asked : "";
  static CUpti_SubscriberHandle subscriber;
  require(cuptiSubscribe(&subscriber, on_launch, nullptr));
  if (mode == "nothing") return 1;
  for (const auto id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
    require(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id));
  if (mode == "calls") return 1;
  require(cuptiActivityRegisterCallbacks(buffer_wanted, buffer_done));
  require(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  return 1;
}
