#include "trace/driver.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include <cuda.h>
#include <fmt/core.h>

#include "gpu/device.hpp"

namespace occbench {
namespace {

/// A driver function from the library that the program has loaded: this one must not load another.
struct Symbol {
  /// @throws std::runtime_error if there is none, unless it is `optional`
  explicit Symbol(const char* name, bool optional = false) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr)
      throw std::runtime_error("the program has not loaded the CUDA driver (libcuda.so.1)");
    address = ::dlsym(library, name);
    if (address == nullptr && !optional)
      throw std::runtime_error(fmt::format("the CUDA driver has no {}", name));
  }
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
  void* address;
};

struct Functions {
  decltype(&cuCtxGetDevice) ctx_get_device = Symbol("cuCtxGetDevice");
  decltype(&cuCtxPushCurrent) ctx_push_current = Symbol("cuCtxPushCurrent_v2");
  decltype(&cuCtxPopCurrent) ctx_pop_current = Symbol("cuCtxPopCurrent_v2");
  decltype(&cuDeviceGetName) device_get_name = Symbol("cuDeviceGetName");
  decltype(&cuDeviceGetUuid) device_get_uuid = Symbol("cuDeviceGetUuid_v2");
  decltype(&cuDeviceGetAttribute) device_get_attribute = Symbol("cuDeviceGetAttribute");
  decltype(&cuEventCreate) event_create = Symbol("cuEventCreate");
  decltype(&cuEventDestroy) event_destroy = Symbol("cuEventDestroy_v2");
  decltype(&cuEventQuery) event_query = Symbol("cuEventQuery");
  decltype(&cuFuncGetAttribute) func_get_attribute = Symbol("cuFuncGetAttribute");
  decltype(&cuGraphGetNodes) graph_get_nodes = Symbol("cuGraphGetNodes");
  decltype(&cuGraphNodeGetType) graph_node_get_type = Symbol("cuGraphNodeGetType");
  decltype(&cuGraphChildGraphNodeGetGraph) graph_child_graph_node_get_graph =
      Symbol("cuGraphChildGraphNodeGetGraph");
  decltype(&cuGraphKernelNodeGetParams) graph_kernel_node_get_params =
      Symbol("cuGraphKernelNodeGetParams_v2");
  decltype(&cuGraphKernelNodeGetAttribute) graph_kernel_node_get_attribute =
      Symbol("cuGraphKernelNodeGetAttribute");
  decltype(&cuStreamQuery) stream_query = Symbol("cuStreamQuery");
  decltype(&cuStreamGetFlags) stream_get_flags = Symbol("cuStreamGetFlags");
  // Not in every driver.
  decltype(&cuCtxRecordEvent) ctx_record_event = Symbol("cuCtxRecordEvent", true);
  decltype(&cuKernelGetFunction) kernel_get_function = Symbol("cuKernelGetFunction", true);
  /// From 12.3 on. The older one fails on programmatic dependencies, such as those of cuBLAS's kernels.
  CUresult (*graph_get_edges_and_data)(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*,
                                       std::size_t*) = Symbol("cuGraphGetEdges_v2", true);
  CUresult (*graph_get_edges)(CUgraph, CUgraphNode*, CUgraphNode*, std::size_t*) = Symbol("cuGraphGetEdges",
                                                                                          true);
  decltype(&cuKernelGetName) kernel_get_name = Symbol("cuKernelGetName", true);
  decltype(&cuFuncGetName) func_get_name = Symbol("cuFuncGetName", true);
  decltype(&cuFuncGetModule) func_get_module = Symbol("cuFuncGetModule", true);
  decltype(&cuModuleGetGlobal) module_get_global = Symbol("cuModuleGetGlobal_v2");
};

/// The context is current while it lives: the library's thread has none, a program's thread perhaps another.
class Current {
 public:
  Current(const Functions& functions, CUcontext context) : functions_(functions) {
    if (functions_.ctx_push_current(context) != CUDA_SUCCESS) {
      throw CountersUnavailable(CountersStatus::failed, "cuCtxPushCurrent failed");
    }
  }
  ~Current() {
    CUcontext popped = nullptr;
    static_cast<void>(functions_.ctx_pop_current(&popped));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Functions& functions_;
};

/// The streams that programs made, by context.
class Streams {
 public:
  void add(void* context, void* stream) {
    const std::lock_guard lock(mutex_);
    streams_[context].insert(stream);
  }
  void remove(void* context, void* stream) {
    const std::lock_guard lock(mutex_);
    streams_[context].erase(stream);
  }
  /// The default streams first. Only a thread itself can query its own default stream.
  template <typename Predicate>
  bool all_of(void* context, Predicate predicate) {
    const std::lock_guard lock(mutex_);
    for (CUstream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
      if (!predicate(stream)) return false;
    }
    for (void* const stream : streams_[context]) {
      if (!predicate(static_cast<CUstream>(stream))) return false;
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::set<void*>> streams_;
};

/// A function compiled to fewer registers is launched with this many, as CUPTI's records and ncu say (H100, driver 580.159.04: functions of
/// 4 to 14 registers by `ptxas -v` and cuFuncGetAttribute).
constexpr std::uint32_t kLeastRegisters = 16;

/// A variable of CUDA's device runtime (libcudadevrt), which is linked to code that calls it (CUDA 13.0).
constexpr const char* kOfDeviceRuntime = "cudartErrorCnpMap";

/// The sampler is made when first needed.
class CuptiGpu : public SampledGpu {
 public:
  explicit CuptiGpu(int device) : device_(device) {}

  void configure(const SamplingWindow& window) override {
    const std::lock_guard lock(mutex_);
    if (!sampler_) sampler_.emplace(device_);
    sampler_->configure(window);
  }
  void start() override {
    const std::lock_guard lock(mutex_);
    sampler().start();
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    sampler().stop();
  }
  std::vector<SmSample> read() override {
    const std::lock_guard lock(mutex_);
    return sampler().read();
  }
  void give_back() noexcept override {
    const std::lock_guard lock(mutex_);
    sampler_.reset();
  }

 private:
  SmSampler& sampler() {
    if (!sampler_)
      throw CountersUnavailable(CountersStatus::failed, "the samples of the GPU were given back");
    return *sampler_;
  }

  int device_;
  std::mutex mutex_;  ///< one thread may leave a destroyed context while another begins to sample
  std::optional<SmSampler> sampler_;
};

class CuptiContext : public CountedContext {
 public:
  CuptiContext(const Functions& functions, Streams& streams, CUcontext context, int device,
               std::vector<std::string> metrics)
      : functions_(functions),
        streams_(streams),
        context_(context),
        device_(device),
        metrics_(std::move(metrics)) {}

  void set_up() override {
    const Current current(functions_, context_);
    chip_ = supported_chip(cupti_, device_, Profiler::range);
    availability_ = counter_availability(cupti_, context_);
    choose_metrics();
    profiler_ = std::make_unique<RangeProfiler>(cupti_, context_, *set_, kRangesOfSession);
    // CUPTI takes 0.2 s for the first session of a context and 5 ms for later ones (H100, CUDA 13.0). An empty one takes that time here,
    // before anything runs.
    profiler_->prepare();
    profiler_->start();
    static_cast<void>(profiler_->stop());
  }

  void tear_down() noexcept override {
    try {
      const Current current(functions_, context_);
      profiler_.reset();
      if (event_ != nullptr) static_cast<void>(functions_.event_destroy(event_));
      event_ = nullptr;
    } catch (const std::exception&) {
      static_cast<void>(profiler_.release());  // the context is gone with all that it held
    }
  }

  void mark() override {
    marked_ = false;
    if (functions_.ctx_record_event == nullptr) return;
    const Current current(functions_, context_);
    if (event_ == nullptr)
      require(functions_.event_create(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    marked_ = functions_.ctx_record_event(context_, event_) == CUDA_SUCCESS;
  }

  bool reached() override {
    const Current current(functions_, context_);
    if (marked_) return is_done(functions_.event_query(event_), "cuEventQuery");
    // Drivers before 12.5.
    return streams_.all_of(
        context_, [&](CUstream stream) { return is_done(functions_.stream_query(stream), "cuStreamQuery"); });
  }

  void start() override {
    const Current current(functions_, context_);
    profiler_->prepare();
    profiler_->start();
  }
  void push(const std::string& range, std::uint64_t) override {
    const Current current(functions_, context_);
    profiler_->push(range);
  }
  void abandon() override {
    pop();
  }
  void pop() override {
    const Current current(functions_, context_);
    profiler_->pop();
  }
  CounterReadings stop(std::size_t ranges) override {
    const Current current(functions_, context_);
    static_cast<void>(profiler_->stop());
    profiler_->decode();
    return profiler_->readings(ranges);
  }

 private:
  static void require(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return;
    throw CountersUnavailable(CountersStatus::failed,
                              fmt::format("{} returned {}", call, static_cast<int>(result)));
  }
  static bool is_done(CUresult result, const char* call) {
    if (result == CUDA_ERROR_NOT_READY) return false;
    require(result, call);
    return true;
  }

  /// Programs cannot be asked to launch again: the last metrics are left out until one pass is enough.
  void choose_metrics() {
    for (std::size_t count = metrics_.size(); count > 0; --count) {
      const std::vector<std::string> wanted(metrics_.begin(),
                                            metrics_.begin() + static_cast<std::ptrdiff_t>(count));
      set_ = std::make_unique<MetricSet>(cupti_, chip_, availability_, wanted);
      if (passes_of(cupti_, set_->config) == 1) return;
    }
    throw CountersUnavailable(CountersStatus::unsupported, "this GPU cannot read its counters in one pass");
  }

  // Order matters: each is built from those above it.
  const Functions& functions_;
  Streams& streams_;
  CUcontext context_;
  int device_;
  std::vector<std::string> metrics_;
  Cupti cupti_{{}};
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::unique_ptr<MetricSet> set_;
  std::unique_ptr<RangeProfiler> profiler_;
  CUevent event_ = nullptr;
  bool marked_ = false;
};

class LoadedDriver : public Driver {
 public:
  int device_of(void* context) override {
    try {
      const Current current(functions_, static_cast<CUcontext>(context));
      CUdevice device = -1;
      return functions_.ctx_get_device(&device) == CUDA_SUCCESS ? device : -1;
    } catch (const CountersUnavailable&) {
      return -1;
    }
  }

  std::uint32_t number_in_records(void* context) override {
    return occbench::number_in_records(context);
  }

  DeviceFacts describe(int device) override {
    const auto attribute = [&](CUdevice_attribute which) {
      int value = 0;
      return functions_.device_get_attribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
    };
    DeviceFacts facts;
    static_cast<void>(
        functions_.device_get_name(facts.name.data(), static_cast<int>(facts.name.size()) - 1, device));
    const std::string uuid = uuid_of(device, facts.name.data());
    uuid.copy(facts.uuid.data(), facts.uuid.size() - 1);
    facts.compute_capability_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    facts.compute_capability_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    facts.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.highest_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    facts.threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    return facts;
  }

  KernelFacts facts_of(const LaunchCall& call) override {
    CUfunction const function = function_of(call.function);
    const auto attribute = [&](CUfunction_attribute which, int unknown = 0) {
      int value = 0;
      return functions_.func_get_attribute(&value, which, function) == CUDA_SUCCESS ? value : unknown;
    };
    const auto size = [&](CUfunction_attribute which) {
      return static_cast<std::uint32_t>(attribute(which));
    };
    KernelFacts facts;
    if (const std::uint32_t width = size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH); width > 0) {
      facts.cluster = {width, size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                       size(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
    }
    facts.registers_per_thread = size(CU_FUNC_ATTRIBUTE_NUM_REGS);
    if (facts.registers_per_thread > 0)
      facts.registers_per_thread = std::max(facts.registers_per_thread, kLeastRegisters);
    facts.static_shared_bytes = size(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    facts.local_bytes_per_thread = size(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    facts.carveout_pct = attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
    return facts;
  }

  bool may_launch_kernels(const LaunchCall& call) override {
    CUmodule module = nullptr;
    CUdeviceptr variable = 0;
    return functions_.func_get_module != nullptr &&
           functions_.func_get_module(&module, function_of(call.function)) == CUDA_SUCCESS &&
           functions_.module_get_global(&variable, nullptr, module, kOfDeviceRuntime) == CUDA_SUCCESS;
  }

  std::vector<GraphNode> nodes_of(void* graph) override {
    std::size_t count = 0;
    if (functions_.graph_get_nodes(static_cast<CUgraph>(graph), nullptr, &count) != CUDA_SUCCESS) return {};
    std::vector<CUgraphNode> nodes(count);
    if (functions_.graph_get_nodes(static_cast<CUgraph>(graph), nodes.data(), &count) != CUDA_SUCCESS)
      return {};
    std::vector<GraphNode> result;
    for (const auto& [node, begins] : in_order(static_cast<CUgraph>(graph), nodes)) {
      CUgraphNodeType type = CU_GRAPH_NODE_TYPE_MEMSET;
      static_cast<void>(functions_.graph_node_get_type(node, &type));
      CUgraph child = nullptr;
      if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
          functions_.graph_child_graph_node_get_graph(node, &child) == CUDA_SUCCESS) {
        for (GraphNode& inner : nodes_of(child)) {
          if (begins == Begins::beside) inner.begins = begins;
          inner.inside = node;
          result.push_back(std::move(inner));
        }
        continue;
      }
      GraphNode& added = result.emplace_back();
      added.handle = node;
      added.begins = begins;
      if (type == CU_GRAPH_NODE_TYPE_EMPTY) added.kind = GraphNode::Kind::empty;
      if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
      added.kind = GraphNode::Kind::kernel;
      added.launch = launch_of(node);
    }
    return result;
  }

  const char* name_of(void* launched) override {
    const char* name = nullptr;
    CUfunction const function = function_of(launched);
    if (function != launched && functions_.kernel_get_name != nullptr) {
      static_cast<void>(functions_.kernel_get_name(&name, static_cast<CUkernel>(launched)));
    } else if (functions_.func_get_name != nullptr) {
      static_cast<void>(functions_.func_get_name(&name, function));
    }
    return name != nullptr ? name : "";
  }

  std::unique_ptr<SampledGpu> make_sampled_gpu(int device) override {
    return std::make_unique<CuptiGpu>(device);
  }
  std::uint64_t time_ns() override {
    return cupti_time_ns();
  }
  void flush_records() override {
    flush_kernel_records();
  }
  bool keep_records(void* context, bool kept) override {
    return keep_kernel_records(context, kept);
  }
  bool is_blocking(void* stream) override {
    unsigned flags = CU_STREAM_NON_BLOCKING;
    return functions_.stream_get_flags(static_cast<CUstream>(stream), &flags) == CUDA_SUCCESS &&
           (flags & CU_STREAM_NON_BLOCKING) == 0;
  }
  void stream_created(void* context, void* stream) override {
    streams_.add(context, stream);
  }
  void stream_destroyed(void* context, void* stream) override {
    streams_.remove(context, stream);
  }

  std::unique_ptr<CountedContext> make_context(void* context,
                                               const std::vector<std::string>& metrics) override {
    return std::make_unique<CuptiContext>(functions_, streams_, static_cast<CUcontext>(context),
                                          device_of(context), metrics);
  }

 private:
  /// A launched handle may be a kernel or a function.
  CUfunction function_of(void* launched) const {
    CUfunction function = nullptr;
    auto* const kernel = static_cast<CUkernel>(launched);
    const bool is_kernel = functions_.kernel_get_function != nullptr &&
                           functions_.kernel_get_function(&function, kernel) == CUDA_SUCCESS;
    return is_kernel ? function : static_cast<CUfunction>(launched);
  }

  std::string uuid_of(int device, const std::string& name) const {
    CUuuid uuid{};
    if (functions_.device_get_uuid(&uuid, device) != CUDA_SUCCESS) return "";
    return uuid_text(uuid, name.find(" MIG ") == std::string::npos ? "GPU-" : "MIG-");
  }

  struct Ordered {
    CUgraphNode node = nullptr;
    Begins begins = Begins::after_end;
  };
  /// Each node after those that it waits for. If the driver does not say these, the order stays and any may run beside any.
  std::vector<Ordered> in_order(CUgraph graph, const std::vector<CUgraphNode>& nodes) const {
    std::vector<Ordered> unordered;
    for (CUgraphNode node : nodes)
      unordered.push_back({node, nodes.size() > 1 ? Begins::beside : Begins::after_end});
    const std::optional<Edges> edges = edges_of(graph);
    if (!edges) return unordered;
    std::vector<Ordered> order = in_order(nodes, edges->from, edges->to);
    if (order.size() != nodes.size()) return unordered;
    std::map<CUgraphNode, Begins> others;
    // A node may begin early if its edge does not wait for the end of the other node.
    for (std::size_t i = 0; i < edges->data.size(); ++i) {
      if (edges->data[i].type != 0 || edges->data[i].from_port != 0) others[edges->to[i]] = Begins::early;
    }
    // In either order, a node that is ready alone is tied to all behind it, or to all before it.
    for (const Ordered& one : in_order(nodes, edges->to, edges->from)) {
      if (one.begins == Begins::beside) others[one.node] = Begins::beside;
    }
    for (Ordered& one : order) one.begins = std::max(one.begins, others[one.node]);
    return order;
  }

  struct Edges {
    std::vector<CUgraphNode> from;
    std::vector<CUgraphNode> to;
    std::vector<CUgraphEdgeData> data;
  };
  /// None if the driver does not say them.
  std::optional<Edges> edges_of(CUgraph graph) const {
    const auto get = [&](CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t& count) {
      if (functions_.graph_get_edges_and_data != nullptr)
        return functions_.graph_get_edges_and_data(graph, from, to, data, &count) == CUDA_SUCCESS;
      return functions_.graph_get_edges != nullptr &&
             functions_.graph_get_edges(graph, from, to, &count) == CUDA_SUCCESS;
    };
    std::size_t count = 0;
    if (!get(nullptr, nullptr, nullptr, count)) return std::nullopt;
    Edges edges{std::vector<CUgraphNode>(count), std::vector<CUgraphNode>(count),
                std::vector<CUgraphEdgeData>(count)};
    if (count > 0 && !get(edges.from.data(), edges.to.data(), edges.data.data(), count)) return std::nullopt;
    return edges;
  }

  static std::vector<Ordered> in_order(const std::vector<CUgraphNode>& nodes,
                                       const std::vector<CUgraphNode>& from,
                                       const std::vector<CUgraphNode>& to) {
    std::map<CUgraphNode, std::vector<CUgraphNode>> followers;
    std::map<CUgraphNode, std::size_t> waits_for;
    for (std::size_t i = 0; i < from.size(); ++i) {
      followers[from[i]].push_back(to[i]);
      ++waits_for[to[i]];
    }
    std::vector<Ordered> order;
    for (CUgraphNode node : nodes) {
      if (waits_for[node] == 0) order.push_back({node});
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size()) order[i].begins = Begins::beside;  // another is ready too
      for (CUgraphNode follower : followers[order[i].node]) {
        if (--waits_for[follower] == 0) order.push_back({follower});
      }
    }
    return order;
  }

  /// Without a name if the driver does not say it.
  LaunchCall launch_of(CUgraphNode node) {
    LaunchCall launch;
    CUDA_KERNEL_NODE_PARAMS params{};
    if (functions_.graph_kernel_node_get_params(node, &params) != CUDA_SUCCESS) return launch;
    launch.context = params.ctx;
    launch.function =
        params.kern != nullptr ? static_cast<void*>(params.kern) : static_cast<void*>(params.func);
    launch.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
    launch.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
    launch.dynamic_shared_bytes = params.sharedMemBytes;
    CUlaunchAttributeValue value{};
    if (functions_.graph_kernel_node_get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) ==
            CUDA_SUCCESS &&
        value.clusterDim.x > 0) {
      launch.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    }
    launch.name = name_of(launch.function);
    return launch;
  }

  Functions functions_;
  Streams streams_;
};

}  // namespace

std::unique_ptr<Driver> loaded_driver() {
  return std::make_unique<LoadedDriver>();
}

}  // namespace occbench
