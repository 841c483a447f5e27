// LD_PRELOAD: sees launches without CUPTI, by standing between the runtime and cuGetProcAddress. Counts them and prints at exit.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <cuda.h>
#undef cuGetProcAddress
static std::atomic<long> kernels{0}, kernels_ex{0}, graphs{0}, asked{0}, by_dlsym{0};
static CUresult (*real_launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**);
static CUresult (*real_launch_ex)(const CUlaunchConfig*, CUfunction, void**, void**);
static CUresult (*real_graph)(CUgraphExec, CUstream);
static CUresult (*real_get)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
static CUresult (*real_get_old)(const char*, void**, int, cuuint64_t);
static CUresult my_launch(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned s, CUstream st, void** p, void** x) { kernels.fetch_add(1, std::memory_order_relaxed); return real_launch(f, a, b, c, d, e, g, s, st, p, x); }
static CUresult my_launch_ex(const CUlaunchConfig* c, CUfunction f, void** p, void** x) { kernels_ex.fetch_add(1, std::memory_order_relaxed); return real_launch_ex(c, f, p, x); }
static CUresult my_graph(CUgraphExec g, CUstream s) { graphs.fetch_add(1, std::memory_order_relaxed); return real_graph(g, s); }
static void* replaced(const char* name, void* found) {
  if (found == nullptr) return found;
  if (std::strcmp(name, "cuLaunchKernel") == 0) { real_launch = (decltype(real_launch))found; return (void*)my_launch; }
  if (std::strcmp(name, "cuLaunchKernelEx") == 0) { real_launch_ex = (decltype(real_launch_ex))found; return (void*)my_launch_ex; }
  if (std::strcmp(name, "cuGraphLaunch") == 0) { real_graph = (decltype(real_graph))found; return (void*)my_graph; }
  return found;
}
static CUresult my_get(const char* name, void** f, int v, cuuint64_t flags, CUdriverProcAddressQueryResult* r) {
  asked++;
  const CUresult result = real_get(name, f, v, flags, r);
  // Variants for per-thread default streams have the same name and a flag; this probe leaves them alone.
  if (result == CUDA_SUCCESS && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) == 0) *f = std::strcmp(name, "cuGetProcAddress") == 0 || std::strcmp(name, "cuGetProcAddress_v2") == 0 ? (real_get = (decltype(real_get))*f, (void*)my_get) : replaced(name, *f);
  return result;
}
extern "C" void* dlsym(void* handle, const char* name) {
  static void* (*real)(void*, const char*) = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void* const found = real(handle, name);
  if (found == nullptr || name[0] != 'c' || name[1] != 'u') return found;
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0) { by_dlsym++; real_get = (decltype(real_get))found; return (void*)my_get; }
  return replaced(name, found);
}
__attribute__((destructor)) static void say() { if (kernels + kernels_ex + graphs + asked > 0) std::fprintf(stderr, "INTERPOSED: %ld cuLaunchKernel, %ld cuLaunchKernelEx, %ld cuGraphLaunch; cuGetProcAddress asked %ld times, found by dlsym %ld times\n", kernels.load(), kernels_ex.load(), graphs.load(), asked.load(), by_dlsym.load()); }
