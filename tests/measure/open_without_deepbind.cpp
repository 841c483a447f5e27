// CUPTI opens libnvperf_host with RTLD_DEEPBIND, and AddressSanitizer ends a process that does so. A program
// that defines dlopen is asked first, and takes the flag away. What that library itself never frees is not
// ours to report.

#include <dlfcn.h>

extern "C" void* dlopen(const char* file, int mode) {
  using Open = void*(const char*, int);
  static Open* const open = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "dlopen"));
  return open(file, mode & ~RTLD_DEEPBIND);
}

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libnvperf_host.so\nleak:libcupti.so\n";
}
