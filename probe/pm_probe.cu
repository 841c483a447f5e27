// What CUPTI's PM sampling and callbacks cost, and what registers records say. pm_probe MODE; see run.sh.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

using Clock = std::chrono::steady_clock;
static double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }
static void sleep_us(double us) { const auto b = Clock::now(); while (ms_since(b) * 1000 < us) {} }

#define TRY(call) do { const int r_ = (call); if (r_ != 0) { const char* t_ = ""; cuptiGetResultString((CUptiResult)r_, &t_); std::printf("FAILED %s = %d %s\n", #call, r_, t_); } } while (0)
#define PARAMS(T, name) T name; std::memset(&name, 0, sizeof name); name.structSize = T##_STRUCT_SIZE

__global__ void empty() {}
__global__ void busy(long long cycles) { const long long b = clock64(); while (clock64() - b < cycles) {} }
__global__ void uneven(long long cycles) { const long long b = clock64(); const long long c = cycles * (1 + blockIdx.x % 7 + threadIdx.x / 32 % 3) / 5; while (clock64() - b < c) {} }
__global__ void with_assert(int* p, int n) { const int i = threadIdx.x; assert(i < n); p[i] = i; }
__global__ void without_assert(int* p, int n) { const int i = threadIdx.x; if (i < n) p[i] = i; }
__global__ void with_printf(int* p, int n) { const int i = threadIdx.x; if (i > n) printf("%d\n", i); p[i] = i; }
__device__ __noinline__ int called(int a) { return a * a + clock(); }
__global__ void with_call(int* p, int n) { const int i = threadIdx.x; p[i] = called(i + n); }

static const std::vector<std::string> kMetrics = {"gr__ctas_launched.sum", "sm__warps_active.sum", "sm__cycles_active.sum", "sm__cycles_active.max", "sm__cycles_elapsed.avg", "gr__cycles_active.sum"};
static std::vector<const char*> pointers() { std::vector<const char*> p; for (auto& m : kMetrics) p.push_back(m.c_str()); return p; }

struct Sample { std::uint64_t start, end; double v[6]; };

struct Pm {
  CUpti_PmSampling_Object* object = nullptr;
  CUpti_Profiler_Host_Object* host = nullptr;
  std::string chip;
  std::vector<std::uint8_t> available, config, image;
  std::uint32_t most = 0;
  bool prepare() {
    PARAMS(CUpti_Profiler_Initialize_Params, init); TRY(cuptiProfilerInitialize(&init));
    PARAMS(CUpti_Device_GetChipName_Params, name); TRY(cuptiDeviceGetChipName(&name)); chip = name.pChipName;
    PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, a); TRY(cuptiPmSamplingGetCounterAvailability(&a));
    available.resize(a.counterAvailabilityImageSize); a.pCounterAvailabilityImage = available.data(); TRY(cuptiPmSamplingGetCounterAvailability(&a));
    PARAMS(CUpti_Profiler_Host_Initialize_Params, h); h.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING; h.pChipName = chip.c_str(); h.pCounterAvailabilityImage = available.data();
    TRY(cuptiProfilerHostInitialize(&h)); host = h.pHostObject;
    auto names = pointers();
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add); add.pHostObject = host; add.ppMetricNames = names.data(); add.numMetrics = names.size();
    TRY(cuptiProfilerHostConfigAddMetrics(&add));
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, s); s.pHostObject = host; TRY(cuptiProfilerHostGetConfigImageSize(&s));
    config.resize(s.configImageSize);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, g); g.pHostObject = host; g.pConfigImage = config.data(); g.configImageSize = config.size(); TRY(cuptiProfilerHostGetConfigImage(&g));
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, n); n.pConfigImage = config.data(); n.configImageSize = config.size(); TRY(cuptiProfilerHostGetNumOfPasses(&n));
    std::printf("chip %s passes %zu\n", chip.c_str(), n.numOfPasses);
    return n.numOfPasses == 1;
  }
  int enable() { PARAMS(CUpti_PmSampling_Enable_Params, p); const int r = cuptiPmSamplingEnable(&p); object = p.pPmSamplingObject; return r; }
  int disable() { PARAMS(CUpti_PmSampling_Disable_Params, p); p.pPmSamplingObject = object; return cuptiPmSamplingDisable(&p); }
  int set(std::uint64_t interval, std::size_t bytes, bool latest = false) {
    PARAMS(CUpti_PmSampling_SetConfig_Params, p); p.pPmSamplingObject = object; p.configSize = config.size(); p.pConfig = config.data(); p.hardwareBufferSize = bytes;
    p.samplingInterval = interval; p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    p.hwBufferAppendMode = latest ? CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST : CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
    return cuptiPmSamplingSetConfig(&p);
  }
  void make_image(std::uint32_t samples) {
    auto names = pointers(); most = samples;
    PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, p); p.pPmSamplingObject = object; p.pMetricNames = names.data(); p.numMetrics = names.size(); p.maxSamples = samples;
    TRY(cuptiPmSamplingGetCounterDataSize(&p)); image.resize(p.counterDataSize); reset();
  }
  void reset() { PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params, p); p.pPmSamplingObject = object; p.counterDataSize = image.size(); p.pCounterData = image.data(); TRY(cuptiPmSamplingCounterDataImageInitialize(&p)); }
  int start() { PARAMS(CUpti_PmSampling_Start_Params, p); p.pPmSamplingObject = object; return cuptiPmSamplingStart(&p); }
  int stop() { PARAMS(CUpti_PmSampling_Stop_Params, p); p.pPmSamplingObject = object; return cuptiPmSamplingStop(&p); }
  int reason = 0, overflow = 0;
  int decode() { PARAMS(CUpti_PmSampling_DecodeData_Params, p); p.pPmSamplingObject = object; p.pCounterDataImage = image.data(); p.counterDataImageSize = image.size();
    const int r = cuptiPmSamplingDecodeData(&p); reason = p.decodeStopReason; overflow = p.overflow; return r; }
  std::size_t completed() { PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, p); p.pCounterDataImage = image.data(); p.counterDataImageSize = image.size(); TRY(cuptiPmSamplingGetCounterDataInfo(&p)); return p.numCompletedSamples; }
  std::vector<Sample> read(std::size_t from = 0) {
    auto names = pointers(); std::vector<Sample> all; const std::size_t n = completed();
    for (std::size_t i = from; i < n; ++i) {
      Sample s{}; PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, w); w.pPmSamplingObject = object; w.pCounterDataImage = image.data(); w.counterDataImageSize = image.size(); w.sampleIndex = i;
      TRY(cuptiPmSamplingCounterDataGetSampleInfo(&w)); s.start = w.startTimestamp; s.end = w.endTimestamp;
      PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, e); e.pHostObject = host; e.pCounterDataImage = image.data(); e.counterDataImageSize = image.size(); e.rangeIndex = i; e.ppMetricNames = names.data(); e.numMetrics = names.size(); e.pMetricValues = s.v;
      TRY(cuptiProfilerHostEvaluateToGpuValues(&e)); all.push_back(s);
    }
    return all;
  }
};

static std::uint64_t cupti_now() { std::uint64_t t = 0; cuptiGetTimestamp(&t); return t; }
static double free_mb() { std::size_t f = 0, t = 0; cudaMemGetInfo(&f, &t); return f / 1e6; }

// ---- launch costs
static void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
static void CUPTIAPI wanted(std::uint8_t** b, std::size_t* s, std::size_t* n) { *b = (std::uint8_t*)std::aligned_alloc(64, 1 << 16); *s = 1 << 16; *n = 0; }
static int records = 0;
static void CUPTIAPI done(CUcontext, std::uint32_t, std::uint8_t* b, std::size_t, std::size_t valid) {
  CUpti_Activity* r = nullptr;
  while (cuptiActivityGetNextRecord(b, valid, &r) == CUPTI_SUCCESS) {
    ++records;
    const auto& k = *(const CUpti_ActivityKernel10*)r;
    if (records <= 24 && std::getenv("SHOW")) std::printf("record %.24s name at %p registers %d correlation %u graph %u node %llu\n", k.name, (const void*)k.name, k.registersPerThread, k.correlationId, k.graphId, (unsigned long long)k.graphNodeId);
  }
  std::free(b);
}
static void launches(const std::string& mode) {
  CUpti_SubscriberHandle s;
  cudaFree(nullptr);
  if (mode != "alone") TRY(cuptiSubscribe(&s, nothing, nullptr));
  if (mode == "callback" || mode == "both") { for (int id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx}) TRY(cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_DRIVER_API, id)); }
  if (mode == "records" || mode == "both") { TRY(cuptiActivityRegisterCallbacks(wanted, done)); TRY(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)); }
  if (mode == "latency") {}  // subscriber only
  std::vector<double> each;
  for (int chunk = 0; chunk < 60; ++chunk) {
    const auto b = Clock::now();
    for (int i = 0; i < 500; ++i) empty<<<1, 32>>>();
    each.push_back(ms_since(b) * 1e6 / 500);
    cudaDeviceSynchronize();
  }
  std::sort(each.begin(), each.end());
  std::printf("launch %s: ns each, lowest %.0f, median %.0f, highest %.0f\n", mode.c_str(), each[0], each[30], each.back());
}

// ---- windows beside a launching thread
static std::atomic<int> phase{0};
static std::atomic<bool> ends{false};
struct Cost { std::vector<float> us[12]; };
static void launching(Cost* cost, cudaStream_t stream, bool syncs) {
  int n = 0;
  while (!ends) {
    const int p = phase; const auto b = Clock::now();
    busy<<<264, 256, 0, stream>>>(4000);
    const double us = ms_since(b) * 1000;
    cost->us[p].push_back((float)us);
    if (syncs && ++n % 64 == 0) cudaStreamSynchronize(stream);
  }
  cudaStreamSynchronize(stream);
}
static const char* kPhases[] = {"nothing", "start", "sampling", "stop", "decode", "evaluate", "reset image", "enable", "set config", "disable", "decode while sampling", ""};
static void print(const Cost& cost) {
  for (int p = 0; p < 12; ++p) {
    auto us = cost.us[p]; if (us.empty()) continue;
    double sum = 0; for (float u : us) sum += u; std::sort(us.begin(), us.end());
    std::printf("launch during %s: n %zu mean %.2f median %.2f p99 %.1f highest %.0f us\n", kPhases[p], us.size(), sum / us.size(), us[us.size() / 2], us[us.size() * 99 / 100], us.back());
  }
}
template <class F> static double timed(int p, F f) { phase = p; const auto b = Clock::now(); const int r = f(); const double t = ms_since(b); phase = 0; if (r != 0) std::printf("phase %s gave %d\n", kPhases[p], r); return t; }

static void windows(int interval, double window_ms, std::size_t mb) {
  cudaFree(nullptr);
  Pm pm; if (!pm.prepare()) return;
  cudaStream_t stream; cudaStreamCreate(&stream);
  Cost cost; std::thread program(launching, &cost, stream, true);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const double before = free_mb();
  std::printf("enable %.2f ms\n", timed(7, [&] { return pm.enable(); }));
  std::printf("set config %.2f ms\n", timed(8, [&] { return pm.set(interval, mb << 20); }));
  const auto samples = (std::uint32_t)(window_ms * 1e6 / interval * 1.6 + 2000);
  pm.make_image(samples);
  std::printf("device memory taken %.1f MB for a buffer of %zu MB; image of %u samples %.1f MB\n", before - free_mb(), mb, samples, pm.image.size() / 1e6);
  for (int w = 0; w < 14; ++w) {
    const double t0 = timed(1, [&] { return pm.start(); });
    timed(2, [&] { std::this_thread::sleep_for(std::chrono::microseconds((int)(window_ms * 1000))); return 0; });
    const double t1 = timed(3, [&] { return pm.stop(); });
    const double t2 = timed(4, [&] { return pm.decode(); });
    const std::size_t n = pm.completed();
    std::vector<Sample> s; const double t3 = timed(5, [&] { s = pm.read(); return 0; });
    const double t4 = timed(6, [&] { pm.reset(); return 0; });
    double ctas = 0, cyc = 0, warps = 0; for (std::size_t i = 1; i < s.size(); ++i) { ctas += s[i].v[0]; warps += s[i].v[1]; cyc += s[i].v[2]; }
    std::printf("window %d: start %.2f stop %.2f decode %.2f evaluate %.2f reset %.2f ms; %zu samples, %.0f ns each, stop reason %d overflow %d, blocks %.0f, occupancy %.2f\n", w, t0, t1, t2, t3, t4, n,
                s.size() > 2 ? double(s.back().end - s[1].start) / (s.size() - 1) : 0, pm.reason, pm.overflow, ctas, 100 * warps / 64 / cyc);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // decode while sampling goes on
  timed(1, [&] { return pm.start(); });
  for (int i = 0; i < 12; ++i) {
    timed(2, [&] { std::this_thread::sleep_for(std::chrono::microseconds(1000)); return 0; });
    const std::size_t had = pm.completed();
    const double t = timed(10, [&] { return pm.decode(); });
    std::printf("decode while sampling %d: %.2f ms, %zu new samples of %zu, reason %d overflow %d\n", i, t, pm.completed() - had, pm.completed(), pm.reason, pm.overflow);
    if (pm.completed() > pm.most / 2) pm.reset();
  }
  timed(3, [&] { return pm.stop(); });
  std::printf("decode after stop: "); timed(4, [&] { return pm.decode(); }); std::printf("%zu samples, reason %d\n", pm.completed(), pm.reason);
  // configure again without disabling
  std::printf("set config again %.2f ms\n", timed(8, [&] { return pm.set(interval * 2, mb << 20); }));
  pm.make_image(samples); pm.start(); std::this_thread::sleep_for(std::chrono::milliseconds(2)); pm.stop(); pm.decode();
  { auto s = pm.read(); std::printf("after it: asked %d ns, got %.0f\n", interval * 2, s.size() > 2 ? double(s.back().end - s[1].start) / (s.size() - 1) : 0); }
  std::printf("disable %.2f ms\n", timed(9, [&] { return pm.disable(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::printf("device memory not given back %.1f MB\n", before - free_mb());
  ends = true; program.join(); print(cost);
}

static void sizes() {
  cudaFree(nullptr);
  Pm pm; if (!pm.prepare()) return;
  for (int interval : {1000, 4000}) for (std::size_t mb : {4, 16, 64, 256}) {
    const double before = free_mb();
    auto b = Clock::now(); TRY(pm.enable()); const double t0 = ms_since(b);
    b = Clock::now(); const int r = pm.set(interval, mb << 20); const double t1 = ms_since(b);
    if (r) { std::printf("set config of %zu MB: %d\n", mb, r); pm.disable(); continue; }
    pm.make_image(12000);
    const double taken = before - free_mb();
    pm.start(); for (int i = 0; i < 1500; ++i) busy<<<264, 256>>>(4000); cudaDeviceSynchronize(); pm.stop();
    b = Clock::now(); const int d = pm.decode(); const double t2 = ms_since(b); const std::size_t n = pm.completed();
    b = Clock::now(); TRY(pm.disable()); const double t3 = ms_since(b);
    std::printf("interval %d buffer %zu MB: enable %.1f set %.1f decode %.1f (%d) disable %.1f ms, takes %.1f MB, %zu samples, overflow %d\n", interval, mb, t0, t1, t2, d, t3, taken, n, pm.overflow);
  }
}

// ---- raw samples beside known launches
struct Step { const char* name; int grid, block; long long cycles; int shared; bool is_uneven; };
static const Step kSteps[] = {{"a", 264, 256, 8000, 0, false}, {"b", 1000, 128, 3000, 0, true}, {"c", 33, 1024, 20000, 0, false}, {"d", 5000, 64, 1000, 0, false}, {"e", 528, 512, 5000, 40000, true}, {"f", 7, 32, 4000, 0, false}, {"g", 2112, 256, 20000, 0, true}, {"h", 133, 256, 9000, 0, false}};
static void go(const Step& s, cudaStream_t stream) { if (s.is_uneven) uneven<<<s.grid, s.block, s.shared, stream>>>(s.cycles); else busy<<<s.grid, s.block, s.shared, stream>>>(s.cycles); }
static void dump(const char* title, Pm& pm, const std::vector<std::pair<std::uint64_t, int>>& log, std::uint64_t begun, std::uint64_t ended, std::size_t limit) {
  const auto s = pm.read();
  const std::uint64_t zero = s.empty() ? 0 : s[0].start;
  std::printf("WINDOW %s samples %zu overflow %d cupti_before_start %ld cupti_after_stop %ld\n", title, s.size(), pm.overflow, (long)(begun - zero), (long)(ended - zero));
  for (auto& [t, i] : log) std::printf("L %ld %s\n", (long)(t - zero), kSteps[i].name);
  for (std::size_t i = 0; i < std::min(limit, s.size()); ++i) std::printf("S %ld %ld %.0f %.0f %.0f %.0f %.0f %.0f\n", (long)(s[i].start - zero), (long)(s[i].end - s[i].start), s[i].v[0], s[i].v[1], s[i].v[2], s[i].v[3], s[i].v[4], s[i].v[5]);
}
static void traces() {
  cudaFree(nullptr);
  Pm pm; if (!pm.prepare()) return;
  cudaFuncSetAttribute(uneven, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  cudaStream_t one, two; cudaStreamCreate(&one); cudaStreamCreate(&two);
  for (const Step& s : kSteps) { std::printf("STEP %s %d %d %d %s\n", s.name, s.grid, s.block, s.shared, s.is_uneven ? "uneven" : "even"); go(s, one); }
  cudaDeviceSynchronize();
  TRY(pm.enable()); TRY(pm.set(500, 256 << 20)); pm.make_image(12000);
  std::vector<std::pair<std::uint64_t, int>> log;
  const auto launch = [&](int i, cudaStream_t stream) { log.emplace_back(cupti_now(), i); go(kSteps[i], stream); };
  const auto window = [&](const char* title, std::size_t limit, auto body) {
    log.clear(); pm.reset(); const auto b = cupti_now(); TRY(pm.start()); body(); const auto e = cupti_now(); TRY(pm.stop()); cudaDeviceSynchronize(); TRY(pm.decode()); dump(title, pm, log, b, e, limit);
  };
  window("alone", 2600, [&] { for (int n = 0; n < 3; ++n) for (int i = 0; i < 8; ++i) { launch(i, one); cudaStreamSynchronize(one); sleep_us(25); } });
  const int order[] = {0, 1, 5, 2, 3, 5, 4, 7, 1, 0, 6, 5, 3, 7, 7, 2};
  for (int i = 0; i < 400; ++i) go(kSteps[order[i % 16]], one);  // queued before the window begins
  window("queued", 2600, [&] { for (int i = 0; i < 200; ++i) launch(order[i % 16], one); std::this_thread::sleep_for(std::chrono::microseconds(1500)); });
  cudaGraph_t graph; cudaGraphExec_t exec; cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < 64; ++i) go(kSteps[order[i % 16]], one);
  cudaStreamEndCapture(one, &graph); cudaGraphInstantiate(&exec, graph, 0); cudaGraphLaunch(exec, one); cudaDeviceSynchronize();
  window("graph", 2600, [&] { for (int i = 0; i < 4; ++i) cudaGraphLaunch(exec, one); cudaStreamSynchronize(one); });
  window("two streams", 1500, [&] { for (int i = 0; i < 48; ++i) { launch(order[i % 16], one); launch(order[(i * 5 + 3) % 16], two); } cudaDeviceSynchronize(); });
  TRY(pm.disable());
}

// ---- beside the range profiler and records
static void tell(const char* what, int result) { std::printf("  %s: %d\n", what, result); }
static void beside() {
  cudaFree(nullptr);
  CUcontext context; cuCtxGetCurrent(&context);
  Pm pm; pm.prepare();
  const auto range = [&]() {
    PARAMS(CUpti_RangeProfiler_Enable_Params, e); e.ctx = context;
    const int r = cuptiRangeProfilerEnable(&e); tell("range profiler enable", r);
    return e.pRangeProfilerObject;
  };
  std::puts("sampler first, then the range profiler:");
  tell("enable", pm.enable()); tell("set", pm.set(1000, 64 << 20)); pm.make_image(4000);
  auto* object = range();
  tell("start", pm.start()); empty<<<100, 32>>>(); cudaDeviceSynchronize(); tell("stop", pm.stop()); tell("decode", pm.decode());
  if (object) { PARAMS(CUpti_RangeProfiler_Disable_Params, d); d.pRangeProfilerObject = object; tell("range profiler disable", cuptiRangeProfilerDisable(&d)); }
  tell("start", pm.start()); tell("stop", pm.stop()); tell("disable", pm.disable());
  std::puts("range profiler first, then the sampler:");
  object = range();
  tell("enable", pm.enable()); tell("set", pm.set(1000, 64 << 20)); tell("start", pm.start()); tell("stop", pm.stop()); tell("disable", pm.disable());
  if (object) { PARAMS(CUpti_RangeProfiler_Disable_Params, d); d.pRangeProfilerObject = object; tell("range profiler disable", cuptiRangeProfilerDisable(&d)); }
  std::puts("in a thread without a context:");
  std::thread([&] { tell("enable", pm.enable()); tell("set", pm.set(1000, 64 << 20)); tell("start", pm.start()); tell("stop", pm.stop()); tell("disable", pm.disable()); }).join();
  std::puts("nearly all memory taken:");
  std::size_t f = 0, t = 0; cudaMemGetInfo(&f, &t); void* p = nullptr; tell("take all but 60 MB", cudaMalloc(&p, f - (60 << 20)));
  std::printf("  free %.0f MB\n", free_mb());
  tell("enable", pm.enable()); tell("set 256 MB", pm.set(1000, 256 << 20)); tell("start", pm.start()); tell("stop", pm.stop()); tell("disable", pm.disable());
  void* q = nullptr; std::printf("  free after that %.0f MB, 20 MB more: %d\n", free_mb(), (int)cudaMalloc(&q, 20 << 20));
}

static void CUPTIAPI shows(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& r = *(const CUpti_ResourceData*)data; const auto& g = *(const CUpti_GraphData*)r.resourceDescriptor;
    uint64_t node = 0, original = 0; cuptiGetGraphNodeId(g.node, &node); if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) cuptiGetGraphNodeId(g.originalNode, &original);
    std::printf("graph node %s: node %p id %llu original %p id %llu type %d\n", id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ? "cloned" : "created", (void*)g.node, (unsigned long long)node, (void*)g.originalNode, (unsigned long long)original, (int)g.nodeType);
    return;
  }
  const auto& d = *(const CUpti_CallbackData*)data;
  if (d.callbackSite == CUPTI_API_ENTER) std::printf("callback %s correlation %u symbol %.24s at %p\n", d.functionName, d.correlationId, d.symbolName ? d.symbolName : "none", (const void*)d.symbolName);
}
static void registers() {
  setenv("SHOW", "1", 1);
  cudaFree(nullptr);
  CUpti_SubscriberHandle s; TRY(cuptiSubscribe(&s, shows, nullptr));
  for (int id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch}) TRY(cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_DRIVER_API, id));
  for (int id : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) TRY(cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_RESOURCE, id)); TRY(cuptiActivityRegisterCallbacks(wanted, done)); TRY(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  int* p = nullptr; cudaMalloc(&p, 4096);
  const auto show = [&](const char* name, const void* f) { cudaFuncAttributes a; cudaFuncGetAttributes(&a, f); std::printf("attribute %s registers %d local %zu\n", name, a.numRegs, a.localSizeBytes); };
  show("with_assert", (const void*)with_assert); show("without_assert", (const void*)without_assert); show("with_printf", (const void*)with_printf); show("with_call", (const void*)with_call);
  with_assert<<<1, 32>>>(p, 1000); without_assert<<<1, 32>>>(p, 1000); with_printf<<<1, 32>>>(p, 1000); with_call<<<1, 32>>>(p, 3); cudaDeviceSynchronize();
  show("with_assert after launch", (const void*)with_assert);
  with_assert<<<1, 32>>>(p, 1000);
  cudaStream_t one; cudaStreamCreate(&one); cudaGraph_t graph; cudaGraphExec_t exec; cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal);
  with_assert<<<1, 32, 0, one>>>(p, 1000); without_assert<<<2, 32, 0, one>>>(p, 1000); with_call<<<3, 32, 0, one>>>(p, 3);
  cudaStreamEndCapture(one, &graph); cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphNode_t nodes[8]; size_t count = 8; cudaGraphGetNodes(graph, nodes, &count);
  for (size_t i = 0; i < count; ++i) { uint64_t id = 0; cuptiGetGraphNodeId((CUgraphNode)nodes[i], &id); CUDA_KERNEL_NODE_PARAMS q{}; const int r = cuGraphKernelNodeGetParams((CUgraphNode)nodes[i], &q); CUfunction f = nullptr; const char* name = nullptr; if (q.kern) cuKernelGetFunction(&f, q.kern); const char* kname = nullptr; if (q.kern) cuKernelGetName(&kname, q.kern); if (q.func) cuFuncGetName(&name, q.func);
    std::printf("node of the graph %p id %llu: params %d func %p kern %p function of kern %p name %.24s at %p, %.24s at %p, grid %u\n", (void*)nodes[i], (unsigned long long)id, r, (void*)q.func, (void*)q.kern, (void*)f, name ? name : "none", (const void*)name, kname ? kname : "none", (const void*)kname, q.gridDimX); }
  uint32_t exec_id = 0; cuptiGetGraphExecId((CUgraphExec)exec, &exec_id); std::printf("exec id %u\n", exec_id);
  cudaGraphLaunch(exec, one); cudaGraphLaunch(exec, one); cudaDeviceSynchronize();
  cuptiActivityFlushAll(1);
}

int main(int argc, char** argv) {
  const std::string mode = argv[1];
  if (mode == "launch") launches(argv[2]);
  if (mode == "windows") windows(std::atoi(argv[2]), std::atof(argv[3]), (std::size_t)std::atoi(argv[4]));
  if (mode == "sizes") sizes();
  if (mode == "traces") traces();
  if (mode == "beside") beside();
  if (mode == "registers") registers();
  return 0;
}
