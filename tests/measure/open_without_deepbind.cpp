// CUPTI opens libnvperf_host with RTLD_DEEPBIND, and AddressSanitizer ends a process that does so. A program
// that defines dlopen is asked first, and takes the flag away. LeakSanitizer sees what that library never
// frees, and its tracer was seen to crash in such a process: leaks are looked for in all other tests.

#include <dlfcn.h>

extern "C" void* dlopen(const char* file, int mode) {
  using Open = void*(const char*, int);
  static Open* const open = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "dlopen"));
  return open(file, mode & ~RTLD_DEEPBIND);
}

extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
