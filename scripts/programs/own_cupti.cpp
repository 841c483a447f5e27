// A program with a CUPTI of its own: `own_cupti LIBRARY first|later|awhile`. It subscribes and records kernels by the CUPTI
// that the path names, before its first call of CUDA, after its first launch, or from its 101st to its 150th, launches 200
// kernels and prints what it computed and how many kernels its CUPTI told it of. `own_cupti none` does without.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include <cuda.h>

namespace {

constexpr const char* kKernel = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(.param .u64 numbers) {
  .reg .u64 %place, %offset;
  .reg .u32 %thread, %value;
  ld.param.u64 %place, [numbers];
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %offset, %thread, 4;
  add.u64 %place, %place, %offset;
  ld.global.u32 %value, [%place];
  add.u32 %value, %value, 1;
  st.global.u32 [%place], %value;
  ret;
}
)";

constexpr int kLaunches = 200;
constexpr int kFirstOfAWhile = 100;
constexpr int kLastOfAWhile = 149;
constexpr unsigned kThreads = 256;
constexpr std::uint32_t kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
constexpr std::size_t kBufferBytes = 1 << 20;

// CUPTI's calls have these forms in 12 and in 13.
using Subscribe = int (*)(void**, void (*)(void*, int, std::uint32_t, const void*), void*);
using Enable = int (*)(std::uint32_t);
using Wanted = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Done = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
using Register = int (*)(Wanted, Done);
using Flush = int (*)(std::uint32_t);
using Next = int (*)(std::uint8_t*, std::size_t, std::uint32_t**);

Next next_record = nullptr;
int kernels = 0;

template <typename Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *size = kBufferBytes;
  *most = 0;
}

void count_kernels(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  std::uint32_t* record = nullptr;
  while (next_record(buffer, valid, &record) == 0) kernels += *record == kConcurrentKernel ? 1 : 0;
  std::free(buffer);
}

void* begin_cupti(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("cupti %s\n", dlerror());
    std::exit(1);
  }
  next_record = find<Next>(library, "cuptiActivityGetNextRecord");
  void* subscriber = nullptr;
  const int subscribed = find<Subscribe>(library, "cuptiSubscribe")(
      &subscriber, [](void*, int, std::uint32_t, const void*) {}, nullptr);
  const int registered =
      find<Register>(library, "cuptiActivityRegisterCallbacks")(give_buffer, count_kernels);
  const int enabled = find<Enable>(library, "cuptiActivityEnable")(kConcurrentKernel);
  std::printf("cupti subscribe %d, register %d, enable %d\n", subscribed, registered, enabled);
  return library;
}

void end_records(void* library) {
  const int disabled = find<Enable>(library, "cuptiActivityDisable")(kConcurrentKernel);
  const int flushed = find<Flush>(library, "cuptiActivityFlushAll")(0);
  std::printf("disable %d, flush %d, kernels until then: %d\n", disabled, flushed, kernels);
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s returned %d\n", call, static_cast<int>(result));
  std::exit(1);
}

CUfunction load_kernel() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  check(cuModuleLoadData(&module, kKernel), "cuModuleLoadData");
  check(cuModuleGetFunction(&function, module, "add_one"), "cuModuleGetFunction");
  return function;
}

}  // namespace

int main(int count, char** words) {
  const char* const when = count > 2 ? words[2] : "";
  void* library = nullptr;
  const bool awhile = std::strcmp(when, "awhile") == 0;
  if (std::strcmp(when, "first") == 0) library = begin_cupti(words[1]);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr numbers = 0;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  int shared = 0;
  check(cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device), "cuDeviceGetAttribute");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  const CUfunction function = load_kernel();
  check(cuMemAlloc(&numbers, kThreads * sizeof(int)), "cuMemAlloc");
  check(cuMemsetD32(numbers, 0, kThreads), "cuMemsetD32");
  for (int launch = 0; launch < kLaunches; ++launch) {
    if (awhile && launch == kFirstOfAWhile) library = begin_cupti(words[1]);
    void* arguments[] = {&numbers};
    check(cuLaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel");
    if (launch == 0 && std::strcmp(when, "later") == 0) library = begin_cupti(words[1]);
    if (awhile && launch == kLastOfAWhile) {
      check(cuCtxSynchronize(), "cuCtxSynchronize");
      end_records(library);
    }
  }
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  int result[kThreads];
  check(cuMemcpyDtoH(result, numbers, sizeof(result)), "cuMemcpyDtoH");
  if (library != nullptr) static_cast<void>(find<Flush>(library, "cuptiActivityFlushAll")(1));
  std::printf("computed %d, own CUPTI saw %d kernels%s\n", result[kThreads - 1], kernels,
              shared != 0 ? ", through MPS" : "");
}
