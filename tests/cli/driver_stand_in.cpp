// A driver without GPUs, in the place of libcuda.so.1: OCC_DRIVER_VERSION is what it supports (13000 = CUDA 13.0), OCC_DRIVER_INIT
// what cuInit returns.
#include <cstdlib>
#include <string_view>

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = std::atoi(std::getenv("OCC_DRIVER_VERSION"));
  return 0;
}
int cuInit(unsigned /*flags*/) {
  return std::atoi(std::getenv("OCC_DRIVER_INIT"));
}
static int cannot() {
  return 999;  // CUDA_ERROR_UNKNOWN
}
int cuGetProcAddress_v2(const char* symbol, void** function, int /*version*/, unsigned long /*flags*/,
                        int* found) {
  const std::string_view name = symbol;
  *function = reinterpret_cast<void*>(&cannot);
  if (name == "cuInit") *function = reinterpret_cast<void*>(&cuInit);
  if (name == "cuDriverGetVersion") *function = reinterpret_cast<void*>(&cuDriverGetVersion);
  if (name.starts_with("cuGetProcAddress")) *function = reinterpret_cast<void*>(&cuGetProcAddress_v2);
  if (found != nullptr) *found = 0;
  return 0;
}

}  // extern "C"
