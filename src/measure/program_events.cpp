#include "measure/program_events.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
#else
using KernelActivity = CUpti_ActivityKernel9;
#endif

/// Small, so that CUPTI delivers a buffer a few milliseconds after its records; with 1 MB it takes a tenth of
/// a second (H100, 64,000 launches per second).
constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::size_t kBufferAlignment = 64;

/// CUPTI's buffer callbacks have no user pointer.
std::atomic<ProgramEvents*> of_this_process{nullptr};

void CUPTIAPI on_event(void* events, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  static_cast<ProgramEvents*>(events)->deliver(static_cast<int>(domain), id, data);
}

void CUPTIAPI buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI buffer_done(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  if (ProgramEvents* const events = of_this_process) {
    CUpti_Activity* record = nullptr;
    while (OCC_CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) events->deliver_record(record);
    }
    std::size_t dropped = 0;
    if (OCC_CUPTI(cuptiActivityGetNumDroppedRecords)(context, stream, &dropped) == CUPTI_SUCCESS &&
        dropped > 0) {
      events->deliver_dropped(dropped);
    }
  }
  std::free(buffer);
}

/// CUPTI gives 0 for a launch without clusters.
EntryExtent cluster_extent(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return x == 0 || y == 0 || z == 0 ? EntryExtent{1, 1, 1} : EntryExtent{x, y, z};
}

LaunchCall call_of(const CUpti_CallbackData& data) {
  LaunchCall call;
  call.context = data.context;
  call.correlation = data.correlationId;
  call.name = data.symbolName != nullptr ? data.symbolName : "";
  call.state = data.correlationData;
  return call;
}

/// For cuLaunchKernel and cuLaunchCooperativeKernel, whose first parameters are the same.
template <typename Params>
LaunchCall plain_launch(const CUpti_CallbackData& data) {
  const auto& params = *static_cast<const Params*>(data.functionParams);
  LaunchCall call = call_of(data);
  call.function = params.f;
  call.stream = params.hStream;
  call.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  call.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  call.dynamic_shared_bytes = params.sharedMemBytes;
  return call;
}

template <typename Params>
LaunchCall launch_with_attributes(const CUpti_CallbackData& data) {
  const auto& params = *static_cast<const Params*>(data.functionParams);
  const CUlaunchConfig& config = *params.config;
  LaunchCall call = call_of(data);
  call.function = params.f;
  call.stream = config.hStream;
  call.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  call.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  call.dynamic_shared_bytes = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
        attribute.value.programmaticStreamSerializationAllowed != 0)
      call.begins = std::max(call.begins, Begins::early);
    // Launches of other streams may wait only for its event.
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) call.begins = Begins::beside;
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = attribute.value.clusterDim;
    call.cluster = cluster_extent(cluster.x, cluster.y, cluster.z);
  }
  return call;
}

template <typename Params>
LaunchCall graph_launch(const CUpti_CallbackData& data) {
  const auto& params = *static_cast<const Params*>(data.functionParams);
  LaunchCall call = call_of(data);
  call.of_graph = true;
  if constexpr (requires { params.hGraph; }) {  // the variants name it differently
    call.function = params.hGraph;
  } else {
    call.function = params.hGraphExec;
  }
  call.stream = params.hStream;
  call.name = "";
  return call;
}

bool succeeded(const CUpti_CallbackData& data) {
  return data.functionReturnValue == nullptr ||
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

template <typename Params>
void tell_begin_of_capture(ProgramListener& listener, const CUpti_CallbackData& data) {
  CUstream const stream = static_cast<const Params*>(data.functionParams)->hStream;
  if (data.callbackSite == CUPTI_API_ENTER) {
    listener.capture_begins(stream);
  } else {
    listener.capture_has_begun(stream, succeeded(data));
  }
}

/// If another thread began the capture, the stream goes on capturing.
template <typename Params>
void tell_end_of_capture(ProgramListener& listener, const CUpti_CallbackData& data) {
  if (data.callbackSite != CUPTI_API_EXIT) return;
  const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
  if (result != nullptr && *result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) return;
  listener.capture_has_ended(static_cast<const Params*>(data.functionParams)->hStream);
}

template <typename Params>
void tell_of_graph(ProgramListener& listener, const CUpti_CallbackData& data) {
  if (data.callbackSite != CUPTI_API_EXIT || !succeeded(data)) return;
  const auto& params = *static_cast<const Params*>(data.functionParams);
  if constexpr (requires { params.hGraphExec; }) {  // cuGraphExecUpdate: it now has another graph
    listener.graph_instantiated(params.hGraphExec, params.hGraph);
  } else if (params.phGraphExec != nullptr) {
    listener.graph_instantiated(*params.phGraphExec, params.hGraph);
  }
}

template <typename Node>
LaunchCall launched_by(const Node& node) {
  LaunchCall kernel;
  kernel.function = node.func;
  if constexpr (requires { node.kern; }) {
    if (node.kern != nullptr) kernel.function = node.kern;
  }
  kernel.grid = {node.gridDimX, node.gridDimY, node.gridDimZ};
  kernel.block = {node.blockDimX, node.blockDimY, node.blockDimZ};
  kernel.dynamic_shared_bytes = node.sharedMemBytes;
  return kernel;
}

/// The parameters of fills and copies do not matter.
template <typename Params>
void tell_of_node(ProgramListener& listener, const CUpti_CallbackData& data) {
  if (data.callbackSite != CUPTI_API_EXIT || !succeeded(data)) return;
  const auto& params = *static_cast<const Params*>(data.functionParams);
  if constexpr (requires { params.isEnabled; }) {
    listener.graph_node_enabled(params.hGraphExec, params.hNode, params.isEnabled != 0);
  } else if constexpr (requires { params.childGraph; }) {
    listener.graph_in_graph_changed(params.hGraphExec, params.hNode, params.childGraph);
  } else if constexpr (requires { params.nodeParams->type; }) {
    if (params.nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL)
      listener.graph_kernel_changed(params.hGraphExec, params.hNode, launched_by(params.nodeParams->kernel));
    if (params.nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH)
      listener.graph_in_graph_changed(params.hGraphExec, params.hNode, params.nodeParams->graph.graph);
  } else {
    listener.graph_kernel_changed(params.hGraphExec, params.hNode, launched_by(*params.nodeParams));
  }
}

template <typename Params>
void tell_of_end(ProgramListener& listener, const CUpti_CallbackData& data) {
  if (data.callbackSite != CUPTI_API_ENTER) return;
  listener.graph_destroyed(static_cast<const Params*>(data.functionParams)->hGraphExec);
}

using Teller = void (*)(ProgramListener&, const CUpti_CallbackData&);

/// Every cache line touched costs the program time, so the end of a call reads little.
template <LaunchCall (*make)(const CUpti_CallbackData&)>
void tell_launch(ProgramListener& listener, const CUpti_CallbackData& data) {
  if (data.callbackSite == CUPTI_API_ENTER) {
    listener.launch_begins(make(data));
  } else {
    listener.launch_ends(data.context, data.correlationId, data.correlationData, succeeded(data));
  }
}

/// For the variants with a per-thread default stream.
template <LaunchCall (*make)(const CUpti_CallbackData&)>
LaunchCall of_thread(const CUpti_CallbackData& data) {
  LaunchCall call = make(data);
  if (call.stream == nullptr) call.stream = CU_STREAM_PER_THREAD;
  return call;
}

struct DriverCall {
  CUpti_CallbackId id;
  Teller tell;
};

#define OCC_CALL(TELL, NAME) \
  { CUPTI_DRIVER_TRACE_CBID_##NAME, TELL<NAME##_params> }
/// Includes the variant with a per-thread default stream.
#define OCC_LAUNCH(MAKE, NAME)                                                              \
  {CUPTI_DRIVER_TRACE_CBID_##NAME, tell_launch<MAKE<NAME##_params>>}, {                     \
    CUPTI_DRIVER_TRACE_CBID_##NAME##_ptsz, tell_launch<of_thread<MAKE<NAME##_ptsz_params>>> \
  }

/// All driver calls that matter here, in the variants that toolkits from 11 on use.
constexpr DriverCall kDriverCalls[] = {
    OCC_LAUNCH(plain_launch, cuLaunchKernel),
    OCC_LAUNCH(launch_with_attributes, cuLaunchKernelEx),
    OCC_LAUNCH(plain_launch, cuLaunchCooperativeKernel),
    OCC_LAUNCH(graph_launch, cuGraphLaunch),
    OCC_CALL(tell_of_graph, cuGraphInstantiate),
    OCC_CALL(tell_of_graph, cuGraphInstantiate_v2),
    OCC_CALL(tell_of_graph, cuGraphInstantiateWithFlags),
    OCC_CALL(tell_of_graph, cuGraphInstantiateWithParams),
    OCC_CALL(tell_of_graph, cuGraphInstantiateWithParams_ptsz),
    OCC_CALL(tell_of_end, cuGraphExecDestroy),
    OCC_CALL(tell_of_graph, cuGraphExecUpdate),
    OCC_CALL(tell_of_graph, cuGraphExecUpdate_v2),
    OCC_CALL(tell_of_node, cuGraphExecKernelNodeSetParams),
    OCC_CALL(tell_of_node, cuGraphExecKernelNodeSetParams_v2),
    OCC_CALL(tell_of_node, cuGraphExecNodeSetParams),
    OCC_CALL(tell_of_node, cuGraphExecChildGraphNodeSetParams),
    OCC_CALL(tell_of_node, cuGraphNodeSetEnabled),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCapture),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCapture_ptsz),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCapture_v2),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCapture_v2_ptsz),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCaptureToGraph),
    OCC_CALL(tell_begin_of_capture, cuStreamBeginCaptureToGraph_ptsz),
    OCC_CALL(tell_end_of_capture, cuStreamEndCapture),
    OCC_CALL(tell_end_of_capture, cuStreamEndCapture_ptsz),
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
     [](ProgramListener& listener, const CUpti_CallbackData& data) {
       if (data.callbackSite == CUPTI_API_EXIT) listener.profiler_started();
     }},
};

#define OCC_MEMORY(NAME, OF_THREAD) CUPTI_DRIVER_TRACE_CBID_##NAME, CUPTI_DRIVER_TRACE_CBID_##NAME##OF_THREAD

/// Calls for which the driver may launch its own kernel. Copy engines make copies from and to the host.
constexpr CUpti_CallbackId kMemoryCalls[] = {
    OCC_MEMORY(cuMemsetD8_v2, _ptds),    OCC_MEMORY(cuMemsetD8Async, _ptsz),
    OCC_MEMORY(cuMemsetD16_v2, _ptds),   OCC_MEMORY(cuMemsetD16Async, _ptsz),
    OCC_MEMORY(cuMemsetD32_v2, _ptds),   OCC_MEMORY(cuMemsetD32Async, _ptsz),
    OCC_MEMORY(cuMemsetD2D8_v2, _ptds),  OCC_MEMORY(cuMemsetD2D8Async, _ptsz),
    OCC_MEMORY(cuMemsetD2D16_v2, _ptds), OCC_MEMORY(cuMemsetD2D16Async, _ptsz),
    OCC_MEMORY(cuMemsetD2D32_v2, _ptds), OCC_MEMORY(cuMemsetD2D32Async, _ptsz),
    OCC_MEMORY(cuMemcpy, _ptds),         OCC_MEMORY(cuMemcpyAsync, _ptsz),
    OCC_MEMORY(cuMemcpyDtoD_v2, _ptds),  OCC_MEMORY(cuMemcpyDtoDAsync_v2, _ptsz),
    OCC_MEMORY(cuMemcpy2D_v2, _ptds),    OCC_MEMORY(cuMemcpy2DAsync_v2, _ptsz),
    OCC_MEMORY(cuMemcpy3D_v2, _ptds),    OCC_MEMORY(cuMemcpy3DAsync_v2, _ptsz)};

/// Each conditional node needs a handle. Received even if launches are not.
constexpr CUpti_CallbackId kConditionalCall = CUPTI_DRIVER_TRACE_CBID_cuGraphConditionalHandleCreate;

constexpr CUpti_CallbackId kResourceEvents[] = {CUPTI_CBID_RESOURCE_STREAM_CREATED,
                                                CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                                                CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};

void tell_of_resource(ProgramListener& listener, CUpti_CallbackId id, const CUpti_ResourceData& data) {
  if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED) {
    listener.stream_created(data.context, data.resourceHandle.stream);
  } else if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) {
    listener.stream_destroyed(data.context, data.resourceHandle.stream);
  } else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
    listener.context_destroyed(data.context);
  }
}

}  // namespace

void flush_kernel_records() {
  static_cast<void>(OCC_CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_NONE));
}

bool keep_kernel_records(void* context, bool kept) {
  if (context == nullptr) {
    const auto& change = kept ? OCC_CUPTI(cuptiActivityEnable) : OCC_CUPTI(cuptiActivityDisable);
    return change(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
  }
  const auto& change = kept ? OCC_CUPTI(cuptiActivityEnableContext) : OCC_CUPTI(cuptiActivityDisableContext);
  return change(static_cast<CUcontext>(context), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}

std::uint32_t number_in_records(void* context) {
  std::uint32_t number = 0;
  return OCC_CUPTI(cuptiGetContextId)(static_cast<CUcontext>(context), &number) == CUPTI_SUCCESS ? number : 0;
}

ProgramEvents::ProgramEvents(ProgramListener& listener, bool callbacks, CuptiInterceptor intercept)
    : listener_(&listener), intercept_(std::move(intercept)) {
  of_this_process = this;
  try {
    subscribe();
    if (callbacks) hear_launches();
  } catch (...) {
    of_this_process = nullptr;
    throw;
  }
  record_kernels();
}

ProgramEvents::~ProgramEvents() {
  of_this_process = nullptr;
}

template <typename Function, typename... Arguments>
int ProgramEvents::try_call(const Function& function, Arguments... arguments) const {
  return intercept_ ? intercept_(function.name(), nullptr) : function(arguments...);
}

/// Also if only records are needed: another subscriber would take them away.
void ProgramEvents::subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  Cupti::require(try_call(OCC_CUPTI(cuptiSubscribe), &subscriber, on_event, this), "cuptiSubscribe");
  subscriber_ = subscriber;
  static_cast<void>(hear(CUPTI_CB_DOMAIN_DRIVER_API, kConditionalCall));  // older drivers have no such call
}

int ProgramEvents::hear(int domain, std::uint32_t id) {
  auto* const subscriber = static_cast<CUpti_SubscriberHandle>(subscriber_);
  return try_call(OCC_CUPTI(cuptiEnableCallback), 1U, subscriber, static_cast<CUpti_CallbackDomain>(domain),
                  id);
}

void ProgramEvents::hear_launches() {
  std::call_once(hears_launches_, [&] {
    for (const DriverCall& call : kDriverCalls)
      Cupti::require(hear(CUPTI_CB_DOMAIN_DRIVER_API, call.id), "cuptiEnableCallback");
    for (const CUpti_CallbackId id : kResourceEvents)
      Cupti::require(hear(CUPTI_CB_DOMAIN_RESOURCE, id), "cuptiEnableCallback");
  });
}

void ProgramEvents::hear_memory_calls() {
  for (const CUpti_CallbackId id : kMemoryCalls) static_cast<void>(hear(CUPTI_CB_DOMAIN_DRIVER_API, id));
}

void ProgramEvents::record_kernels() {
  int result = try_call(OCC_CUPTI(cuptiActivityRegisterCallbacks), buffer_wanted, buffer_done);
  if (result == CUPTI_SUCCESS) {
    result = try_call(OCC_CUPTI(cuptiActivityEnable), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  if (result != CUPTI_SUCCESS) why_no_records_ = Cupti::result_text(result);
}

void ProgramEvents::flush(bool all) {
  if (!why_no_records_.empty()) return;
  const std::uint32_t flag = all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : CUPTI_ACTIVITY_FLAG_NONE;
  static_cast<void>(try_call(OCC_CUPTI(cuptiActivityFlushAll), flag));
}

void ProgramEvents::deliver(int domain, std::uint32_t id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    tell_of_resource(*listener_, id, *static_cast<const CUpti_ResourceData*>(data));
    return;
  }
  if (id == kConditionalCall) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite == CUPTI_API_ENTER) listener_->graph_gets_conditional();
    return;
  }
  for (const DriverCall& call : kDriverCalls) {
    if (call.id != id) continue;
    call.tell(*listener_, *static_cast<const CUpti_CallbackData*>(data));
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) listener_->memory_call_begins(call.context, call.correlationId);
}

void ProgramEvents::deliver_record(const void* activity) {
  const auto& kernel = *static_cast<const KernelActivity*>(activity);
  // A forced flush also delivers kernels that still run.
  if (kernel.start == 0 || kernel.end < kernel.start) return;
  KernelRecord record;
  record.name = kernel.name != nullptr ? kernel.name : "";
  record.start_ns = kernel.start;
  record.end_ns = kernel.end;
  record.context = kernel.contextId;
  record.stream = kernel.streamId;
  record.correlation = kernel.correlationId;
  record.of_graph = kernel.graphId != 0;
  record.graph_node = kernel.graphNodeId;
  KernelFacts& facts = record.facts;
  facts.device = kernel.deviceId;
  const auto size = [](auto value) { return static_cast<std::uint32_t>(value); };
  facts.grid = {size(kernel.gridX), size(kernel.gridY), size(kernel.gridZ)};
  facts.block = {size(kernel.blockX), size(kernel.blockY), size(kernel.blockZ)};
  facts.cluster = cluster_extent(kernel.clusterX, kernel.clusterY, kernel.clusterZ);
  facts.registers_per_thread = kernel.registersPerThread;
  facts.static_shared_bytes = size(kernel.staticSharedMemory);
  facts.dynamic_shared_bytes = size(kernel.dynamicSharedMemory);
  facts.local_bytes_per_thread = kernel.localMemoryPerThread;
  if (kernel.isSharedMemoryCarveoutRequested != 0 && kernel.sharedMemoryCarveoutRequested <= 100) {
    facts.carveout_pct = kernel.sharedMemoryCarveoutRequested;
  }
  listener_->kernel_ran(record);
}

void ProgramEvents::deliver_dropped(std::size_t count) {
  listener_->records_lost(count);
}

}  // namespace occbench
