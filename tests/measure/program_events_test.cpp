#include "measure/program_events.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_cupti.hpp"
#include "measure/pm_sampling.hpp"
#include "measure/warp_records.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
#else
using KernelActivity = CUpti_ActivityKernel9;
#endif

std::string text(const EntryExtent& extent) {
  return fmt::format("{},{},{}", extent[0], extent[1], extent[2]);
}

/// Writes down what it hears.
struct Listener : ProgramListener {
  std::vector<std::string> heard;
  std::vector<LaunchCall> calls;
  std::vector<KernelRecord> records;

  void launch_begins(const LaunchCall& call) override {
    heard.emplace_back("launch");
    calls.push_back(call);
  }
  void launch_ends(void*, std::uint32_t, const std::uint64_t*, bool launched) override {
    heard.emplace_back(launched ? "launched" : "refused");
  }
  void memory_call_begins(void* context, std::uint32_t correlation) override {
    heard.push_back(fmt::format("memory {} {}", context, correlation));
  }
  void capture_begins(void*) override {
    heard.emplace_back("capture");
  }
  void capture_has_begun(void*, bool capturing) override {
    heard.emplace_back(capturing ? "capturing" : "no capture");
  }
  void capture_has_ended(void*) override {
    heard.emplace_back("captured");
  }
  void graph_gets_conditional() override {
    heard.emplace_back("conditional");
  }
  void graph_instantiated(void* exec, void* graph) override {
    heard.push_back(fmt::format("graph {} of {}", exec, graph));
  }
  void graph_kernel_changed(void* exec, void* node, const LaunchCall& kernel) override {
    heard.push_back(fmt::format("graph {} at {} launches {}", exec, node, text(kernel.grid)));
  }
  void graph_in_graph_changed(void* exec, void* node, void* graph) override {
    heard.push_back(fmt::format("graph {} at {} is {}", exec, node, graph));
  }
  void graph_node_enabled(void* exec, void* node, bool enabled) override {
    heard.push_back(fmt::format("graph {} at {} {}", exec, node, enabled ? "on" : "off"));
  }
  void graph_destroyed(void* exec) override {
    heard.push_back(fmt::format("graph {} gone", exec));
  }
  void stream_created(void*, void*) override {
    heard.emplace_back("stream");
  }
  void stream_destroyed(void*, void*) override {
    heard.emplace_back("stream gone");
  }
  void context_destroyed(void*) override {
    heard.emplace_back("context gone");
  }
  void profiler_started() override {
    heard.emplace_back("profiler");
  }
  void kernel_ran(const KernelRecord& record) override {
    records.push_back(record);
  }
  void records_lost(std::size_t count) override {
    heard.push_back(fmt::format("lost {}", count));
  }
};

/// A driver call as CUPTI reports it, with its two callbacks.
struct DriverCall {
  CUresult result = CUDA_SUCCESS;
  CUpti_CallbackData data{};
  std::uint64_t state = 0;

  DriverCall(const void* params, const char* name) {
    data.functionParams = params;
    data.functionReturnValue = &result;
    data.symbolName = name;
    data.correlationId = 77;
    data.correlationData = &state;
    data.context = reinterpret_cast<CUcontext>(0x10);
  }
  void happen(ProgramEvents& events, CUpti_CallbackId id) {
    for (const auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      data.callbackSite = site;
      events.deliver(CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    }
  }
};

struct Calls {
  std::vector<std::string> names;
  std::string failing;
  int result = CUPTI_ERROR_UNKNOWN;

  CuptiInterceptor interceptor() {
    return [this](std::string_view name, void*) -> int {
      names.emplace_back(name);
      return name == failing ? result : CUPTI_SUCCESS;
    };
  }
};

class ProgramEventsTest : public testing::Test {
 protected:
  Listener listener_;
  Calls calls_;
  ProgramEvents events_{listener_, true, calls_.interceptor()};
};

TEST_F(ProgramEventsTest, TellLaunchesOfEveryForm) {
  cuLaunchKernel_params plain{};
  plain.f = reinterpret_cast<CUfunction>(0x20);
  plain.gridDimX = 66;
  plain.gridDimY = plain.gridDimZ = 1;
  plain.blockDimX = 16;
  plain.blockDimY = 8;
  plain.blockDimZ = 1;
  plain.sharedMemBytes = 1024;
  plain.hStream = reinterpret_cast<CUstream>(0x30);
  DriverCall(&plain, "_Z4spinx").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);

  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[1].value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 132;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 384;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  cuLaunchKernelEx_ptsz_params with_attributes{};
  with_attributes.config = &config;
  DriverCall(&with_attributes, "gemm").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz);

  cuGraphLaunch_ptsz_params graph{};
  graph.hGraphExec = reinterpret_cast<CUgraphExec>(0x40);
  DriverCall(&graph, "nonsense").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);

  EXPECT_THAT(listener_.heard, ElementsAre("launch", "launched", "launch", "launched", "launch", "launched"));
  const LaunchCall& first = listener_.calls[0];
  EXPECT_STREQ(first.name, "_Z4spinx");
  EXPECT_EQ(text(first.grid), "66,1,1");
  EXPECT_EQ(text(first.block), "16,8,1");
  EXPECT_EQ(text(first.cluster), "1,1,1");
  EXPECT_EQ(first.dynamic_shared_bytes, 1024);
  EXPECT_EQ(first.correlation, 77);
  EXPECT_EQ(first.context, reinterpret_cast<void*>(0x10));
  EXPECT_EQ(first.function, reinterpret_cast<void*>(0x20));
  EXPECT_EQ(first.stream, reinterpret_cast<void*>(0x30));
  EXPECT_EQ(text(listener_.calls[1].cluster), "2,1,1");
  EXPECT_EQ(text(listener_.calls[1].block), "384,1,1");
  EXPECT_TRUE(listener_.calls[2].of_graph);
  EXPECT_EQ(listener_.calls[2].function, reinterpret_cast<void*>(0x40));
  EXPECT_STREQ(listener_.calls[2].name, "");
}

TEST_F(ProgramEventsTest, TellWhichLaunchesMayOverlapAndTheDefaultStreamOfAThread) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  CUlaunchConfig config{};
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (const int allowed : {0, 1}) {
    attribute.value.programmaticStreamSerializationAllowed = allowed;
    cuLaunchKernelEx_params legacy{};
    legacy.config = &config;
    DriverCall(&legacy, "gemm").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
    EXPECT_EQ(listener_.calls.back().begins, allowed == 1 ? Begins::early : Begins::after_end);
    EXPECT_EQ(listener_.calls.back().stream, nullptr);
  }
  cuLaunchKernel_ptsz_params of_thread{};
  DriverCall(&of_thread, "gemm").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz);
  EXPECT_EQ(listener_.calls.back().stream, CU_STREAM_PER_THREAD);
}

TEST_F(ProgramEventsTest, TellALaunchThatTheDriverRefused) {
  cuLaunchCooperativeKernel_params params{};
  DriverCall call(&params, "k");
  call.result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  call.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
  EXPECT_THAT(listener_.heard, ElementsAre("launch", "refused"));
}

TEST_F(ProgramEventsTest, TellWhenMemoryIsFilledOrCopied) {
  cuMemsetD8Async_params fill{};
  DriverCall(&fill, "").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
  cuMemcpyDtoDAsync_v2_params copy{};
  DriverCall(&copy, "").happen(events_, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2);
  EXPECT_THAT(listener_.heard, ElementsAre("memory 0x10 77", "memory 0x10 77"));
  calls_.failing = "cuptiEnableCallback";
  EXPECT_NO_THROW(events_.hear_memory_calls());
}

TEST_F(ProgramEventsTest, TellWhenStreamsCapture) {
  cuStreamBeginCapture_v2_params begin{};
  DriverCall good(&begin, nullptr);
  good.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
  DriverCall bad(&begin, nullptr);
  bad.result = CUDA_ERROR_ILLEGAL_STATE;
  bad.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz);
  cuStreamEndCapture_params end{};
  DriverCall ended(&end, nullptr);
  ended.result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;  // it has ended, badly
  ended.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
  DriverCall other_thread(&end, nullptr);
  other_thread.result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  other_thread.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
  EXPECT_THAT(listener_.heard, ElementsAre("capture", "capturing", "capture", "no capture", "captured"));
}

TEST_F(ProgramEventsTest, TellOfGraphsContextsAndStreams) {
  DriverCall(nullptr, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphConditionalHandleCreate);
  CUgraphExec exec = reinterpret_cast<CUgraphExec>(0x40);
  cuGraphInstantiateWithFlags_params instantiate{};
  instantiate.phGraphExec = &exec;
  instantiate.hGraph = reinterpret_cast<CUgraph>(0x50);
  DriverCall(&instantiate, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
  cuGraphExecDestroy_params destroy{};
  destroy.hGraphExec = exec;
  DriverCall(&destroy, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy);
  DriverCall(nullptr, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  CUpti_ResourceData resource{};
  for (const auto id : {CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
    events_.deliver(CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
  }
  EXPECT_THAT(listener_.heard, ElementsAre("conditional", "graph 0x40 of 0x50", "graph 0x40 gone", "profiler",
                                           "stream", "stream gone", "context gone"));
}

TEST_F(ProgramEventsTest, TellWhatAnExecutableGraphIsMadeToLaunch) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.gridDimX = 66;
  node.gridDimY = node.gridDimZ = 1;
  cuGraphExecKernelNodeSetParams_v2_params set{};
  set.hGraphExec = reinterpret_cast<CUgraphExec>(0x40);
  set.hNode = reinterpret_cast<CUgraphNode>(0x60);
  set.nodeParams = &node;
  DriverCall good(&set, nullptr);
  good.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2);
  DriverCall bad(&set, nullptr);
  bad.result = CUDA_ERROR_INVALID_VALUE;
  bad.happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.gridDimX = 67;
  cuGraphExecNodeSetParams_params set_any{set.hGraphExec, set.hNode, &any};
  DriverCall(&set_any, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams);
  any = {};
  any.type = CU_GRAPH_NODE_TYPE_GRAPH;
  any.graph.graph = reinterpret_cast<CUgraph>(0x52);
  DriverCall(&set_any, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams);
  any.type = CU_GRAPH_NODE_TYPE_MEMSET;
  DriverCall(&set_any, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams);
  cuGraphExecChildGraphNodeSetParams_params child{set.hGraphExec, set.hNode, reinterpret_cast<CUgraph>(0x53)};
  DriverCall(&child, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams);
  cuGraphNodeSetEnabled_params enabled{};
  enabled.hGraphExec = reinterpret_cast<CUgraphExec>(0x40);
  DriverCall(&enabled, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled);
  cuGraphExecUpdate_v2_params update{};
  update.hGraphExec = reinterpret_cast<CUgraphExec>(0x40);
  update.hGraph = reinterpret_cast<CUgraph>(0x51);
  DriverCall(&update, nullptr).happen(events_, CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2);
  EXPECT_THAT(listener_.heard,
              ElementsAre("graph 0x40 at 0x60 launches 66,1,1", "graph 0x40 at 0x60 launches 67,0,0",
                          "graph 0x40 at 0x60 is 0x52", "graph 0x40 at 0x60 is 0x53", "graph 0x40 at 0x0 off",
                          "graph 0x40 of 0x51"));
}

TEST_F(ProgramEventsTest, TellWhatARecordSaysOfAKernel) {
  KernelActivity activity{};
  activity.start = 1000;
  activity.end = 5500;
  activity.name = "_Z4spinx";
  activity.deviceId = 1;
  activity.contextId = 3;
  activity.streamId = 13;
  activity.correlationId = 9;
  activity.gridX = 66;
  activity.gridY = 2;
  activity.gridZ = 1;
  activity.blockX = 256;
  activity.blockY = activity.blockZ = 1;
  activity.registersPerThread = 40;
  activity.staticSharedMemory = 16;
  activity.dynamicSharedMemory = 32;
  activity.localMemoryPerThread = 8;
  activity.isSharedMemoryCarveoutRequested = 1;
  activity.sharedMemoryCarveoutRequested = 100;
  activity.graphId = 2;
  activity.graphNodeId = 17;
  events_.deliver_record(&activity);
  activity.end = 0;  // still runs
  events_.deliver_record(&activity);
  ASSERT_EQ(listener_.records.size(), 1);
  const KernelRecord& record = listener_.records[0];
  EXPECT_EQ(record.end_ns - record.start_ns, 4500);
  EXPECT_EQ(text(record.facts.grid), "66,2,1");
  EXPECT_EQ(text(record.facts.cluster), "1,1,1");
  EXPECT_EQ(record.facts.registers_per_thread, 40);
  EXPECT_EQ(record.facts.static_shared_bytes, 16);
  EXPECT_EQ(record.facts.dynamic_shared_bytes, 32);
  EXPECT_EQ(record.facts.local_bytes_per_thread, 8);
  EXPECT_EQ(record.facts.carveout_pct, 100);
  EXPECT_EQ(record.facts.device, 1);
  EXPECT_EQ(record.context, 3);
  EXPECT_EQ(record.stream, 13);
  EXPECT_TRUE(record.of_graph);
  EXPECT_EQ(record.graph_node, 17);
  EXPECT_THAT(events_.why_no_records(), IsEmpty());
}

TEST(ProgramEvents, HearOnlyOfKernelsThatRanWhereNoneIsCounted) {
  Listener listener;
  Calls calls;
  const ProgramEvents events(listener, false, calls.interceptor());
  EXPECT_THAT(calls.names, ElementsAre("cuptiSubscribe", "cuptiEnableCallback",
                                       "cuptiActivityRegisterCallbacks", "cuptiActivityEnable"))
      << "one callback, for conditional nodes of graphs";
}

TEST(ProgramEvents, AreRefusedWhereTheProgramHasASubscriber) {
  Listener listener;
  Calls calls{
      .names = {}, .failing = "cuptiSubscribe", .result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED};
  EXPECT_THAT([&] { ProgramEvents(listener, true, calls.interceptor()); },
              ::testing::Throws<CountersUnavailable>(
                  ::testing::Property(&CountersUnavailable::status, CountersStatus::busy)));
}

TEST(ProgramEvents, WithoutRecordsSayWhy) {
  for (const char* call : {"cuptiActivityRegisterCallbacks", "cuptiActivityEnable"}) {
    Listener listener;
    Calls calls{.names = {}, .failing = call, .result = CUPTI_ERROR_NOT_COMPATIBLE};
    ProgramEvents events(listener, true, calls.interceptor());
    EXPECT_THAT(events.why_no_records(), HasSubstr("NOT_COMPATIBLE")) << call;
    events.flush(true);
    EXPECT_THAT(calls.names, testing::Not(testing::Contains("cuptiActivityFlushAll")));
  }
}

constexpr double kExpectedUs = 100;

/// PM sampling that delivers samples of 1 us.
struct FakeSampling {
  std::size_t samples = 3;
  CUpti_PmSampling_DecodeStopReason stop_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  bool overflow = false;
  std::size_t without_value = std::numeric_limits<std::size_t>::max();  ///< number of a sample
  FakeCupti cupti = {.fill = [this](std::string_view call, void* parameters) { fill(call, parameters); }};

  void fill(std::string_view call, void* parameters) const {
    if (call == "cuptiPmSamplingDecodeData") {
      auto& decode = *static_cast<CUpti_PmSampling_DecodeData_Params*>(parameters);
      decode.decodeStopReason = stop_reason;
      decode.overflow = overflow ? 1 : 0;
    } else if (call == "cuptiPmSamplingGetCounterDataInfo") {
      static_cast<CUpti_PmSampling_GetCounterDataInfo_Params*>(parameters)->numCompletedSamples = samples;
    } else if (call == "cuptiPmSamplingCounterDataGetSampleInfo") {
      auto& when = *static_cast<CUpti_PmSampling_CounterData_GetSampleInfo_Params*>(parameters);
      when.startTimestamp = 1000 * when.sampleIndex;
      when.endTimestamp = when.startTimestamp + 1000;
    } else if (call == "cuptiProfilerHostEvaluateToGpuValues") {
      auto& values = *static_cast<CUpti_Profiler_Host_EvaluateToGpuValues_Params*>(parameters);
      for (std::size_t i = 0; i < values.numMetrics; ++i) {
        values.pMetricValues[i] = values.rangeIndex == without_value ? std::nan("") : static_cast<double>(i);
      }
    }
  }

  ActivitySamples run(const std::function<void()>& launch = [] {}) {
    return sample_launch(Device{}, kExpectedUs, launch, cupti.interceptor());
  }
};

TEST(PmSampling, OneLaunchIsSampledBetweenStartAndStop) {
  FakeSampling fake;
  int launches = 0;
  const ActivitySamples result = fake.run([&] {
    ++launches;
    EXPECT_EQ(fake.cupti.calls.back(), "cuptiPmSamplingStart");
  });
  EXPECT_EQ(launches, 1);
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.samples[1].start_ns, 1000U);
  EXPECT_EQ(result.samples[1].end_ns, 2000U);
  EXPECT_EQ(result.samples[1].warp_cycles, 0);
  EXPECT_EQ(result.samples[1].active_cycles, 1);
  EXPECT_EQ(result.samples[1].elapsed_cycles, 2);
  EXPECT_THAT(result.losses, IsEmpty());
}

TEST(PmSampling, AFullImageIsToldAndItsSamplesAreKept) {
  FakeSampling fake{.samples = 5, .stop_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL};
  const ActivitySamples result = fake.run();
  EXPECT_EQ(result.samples.size(), 5U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("full after 5")));
}

TEST(PmSampling, AnOverflowOfTheHardwaresBufferIsToldAndTheSamplesBeforeAreKept) {
  FakeSampling fake{.samples = 5, .overflow = true};
  const ActivitySamples result = fake.run();
  EXPECT_EQ(result.samples.size(), 5U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("overflowed")));
}

TEST(PmSampling, AnOverflowThatLeavesNothingIsToldAndNotAFault) {
  FakeSampling whole;
  whole.run();
  FakeSampling fake{.samples = 0};
  fake.cupti.failing_call = static_cast<int>(
      std::ranges::find(whole.cupti.calls, "cuptiPmSamplingDecodeData") - whole.cupti.calls.begin());
  fake.cupti.result = CUPTI_ERROR_OUT_OF_MEMORY;
  const ActivitySamples result = fake.run();
  EXPECT_THAT(result.samples, IsEmpty());
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("overflowed")));
}

TEST(PmSampling, ASampleWithoutAValueIsMissingAndTold) {
  FakeSampling fake{.samples = 5, .without_value = 2};
  const ActivitySamples result = fake.run();
  ASSERT_EQ(result.samples.size(), 4U);
  EXPECT_EQ(result.samples[2].start_ns, 3000U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("1 of 5 samples have no value")));
}

TEST(PmSampling, ATriggerThatTheChipDoesNotHaveGivesWayToTheSystemClock) {
  FakeSampling fake;
  std::vector<CUpti_PmSampling_TriggerMode> modes;
  const auto fill = fake.cupti.fill;
  fake.cupti.fill = [&](std::string_view call, void* parameters) {
    fill(call, parameters);
    if (call != "cuptiPmSamplingSetConfig") return;
    modes.push_back(static_cast<CUpti_PmSampling_SetConfig_Params*>(parameters)->triggerMode);
    if (modes.size() == 1) fake.cupti.failing_call = static_cast<int>(fake.cupti.calls.size()) - 1;
  };
  EXPECT_EQ(fake.run().samples.size(), 3U);
  EXPECT_THAT(modes, ElementsAre(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
                                 CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL));
}

TEST(PmSampling, WhateverCuptiCallFailsTheReasonIsToldAndNothingElseBreaks) {
  FakeSampling whole;
  whole.run();
  for (int failing = 0; failing < static_cast<int>(whole.cupti.calls.size()); ++failing) {
    const std::string& name = whole.cupti.calls[static_cast<std::size_t>(failing)];
    FakeSampling fake;
    fake.cupti.failing_call = failing;
    try {
      fake.run();
      // A configuration that is refused is tried in another way.
      EXPECT_TRUE(is_cleaning_up(name) || name == "cuptiPmSamplingSetConfig") << name << " failed unheard";
    } catch (const CountersUnavailable& unavailable) {
      EXPECT_EQ(unavailable.status(), CountersStatus::failed) << name;
      EXPECT_THAT(unavailable.what(), HasSubstr(name));
    }
    const std::size_t enabled = fake.cupti.count("cuptiPmSamplingEnable");
    EXPECT_EQ(fake.cupti.count("cuptiPmSamplingDisable"), name == "cuptiPmSamplingEnable" ? 0 : enabled)
        << name;
  }
}

TEST(PmSampling, AKernelThatFailsLeavesTheSamplingStoppedAndDisabled) {
  FakeSampling fake;
  EXPECT_THROW(fake.run([] { throw std::runtime_error("the kernel failed"); }), std::runtime_error);
  EXPECT_EQ(fake.cupti.count("cuptiPmSamplingStop"), 1U);
  EXPECT_EQ(fake.cupti.count("cuptiPmSamplingDisable"), 1U);
}

TEST(PmSampling, SamplesOfALaunchOfUpToTwentyMillisecondsAreAtMostAMicrosecondApart) {
  for (const double expected_us : {5.0, 100.0, 1000.0, 20'000.0, 200'000.0}) {
    FakeSampling fake;
    std::uint64_t interval = 0;
    fake.cupti.fill = [&, fill = fake.cupti.fill](std::string_view call, void* parameters) {
      fill(call, parameters);
      if (call == "cuptiPmSamplingSetConfig") {
        interval = static_cast<CUpti_PmSampling_SetConfig_Params*>(parameters)->samplingInterval;
      }
    };
    sample_launch(
        Device{}, expected_us, [] {}, fake.cupti.interceptor());
    EXPECT_GT(interval, 0U);
    EXPECT_LE(interval, expected_us > 20'000 ? 10'000U : 1'000U) << expected_us;
  }
}

/// A warp on an SM whose clock runs at 1 GHz and started with the device's.
WarpRecord warp(std::uint32_t sm, std::int64_t start, std::int64_t end) {
  return {.start_cycles = start, .end_cycles = end, .start_ns = start, .end_ns = end, .sm = sm, .slot = 0};
}

TEST(Trace, ABlockLastsFromItsFirstWarpToItsLast) {
  const std::vector<WarpRecord> records = {warp(3, 110, 500), warp(3, 100, 900), warp(7, 0, 10),
                                           warp(7, 5, 8)};
  const std::vector<BlockRecord> blocks = blocks_of(records, 2);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(
      blocks[0],
      (BlockRecord{
          .block = 0, .sm = 3, .start_cycles = 100, .end_cycles = 900, .start_ns = 100, .end_ns = 900}));
  EXPECT_EQ(blocks[1].block, 1);
  EXPECT_EQ(blocks[1].sm, 7U);
}

TEST(Trace, RecordsThatAreNoWholeNumberOfBlocksAreRefused) {
  const std::vector<WarpRecord> records(3);
  EXPECT_THROW(blocks_of(records, 2), InputError);
  EXPECT_THROW(blocks_of(records, 0), InputError);
  EXPECT_THAT(blocks_of({}, 2), IsEmpty());
}

TEST(Trace, IdleTimeBetweenBlocksIsNotActive) {
  // Two warps from 0 to 100, nothing until 200, one warp until 300.
  const std::vector<WarpRecord> records = {warp(0, 0, 100), warp(0, 0, 100), warp(0, 200, 300)};
  const std::vector<SmRecord> sms = sms_of(records, 1);
  ASSERT_EQ(sms.size(), 1U);
  EXPECT_EQ(sms[0].active_cycles, 200);
  EXPECT_EQ(sms[0].warp_cycles, 300);
  EXPECT_DOUBLE_EQ(sms[0].achieved_pct(4), 37.5);  // 1.5 warps of 4
}

TEST(Trace, AWarpInsideAnothersTimeAddsNoActiveCycles) {
  const std::vector<WarpRecord> records = {warp(0, 0, 1000), warp(0, 100, 200), warp(0, 900, 1100)};
  EXPECT_EQ(sms_of(records, 1)[0].active_cycles, 1100);
}

TEST(Trace, OneSlowWarpInEightLeavesAnEighthOfTheBlockForTheRestOfItsTime) {
  // 8 warps of 1000 cycles, one of 16000: 8 x 1000 + 15000 warp-cycles in 16000 cycles.
  std::vector<WarpRecord> records(8, warp(0, 0, 1000));
  records[0].end_cycles = 16000;
  EXPECT_DOUBLE_EQ(sms_of(records, 8)[0].achieved_pct(8), 100.0 * 23000 / (16000 * 8));
}

TEST(Trace, OccupancyOfTheDeviceIsOverTheActiveCyclesOfAllSmsTogether) {
  // Full for 100 cycles on SM 0, half full for 300 on SM 5: 2*100 + 1*300 of 2*400.
  const std::vector<WarpRecord> records = {warp(5, 0, 300), warp(0, 0, 100), warp(0, 0, 100)};
  const std::vector<SmRecord> sms = sms_of(records, 1);
  EXPECT_EQ(sms[0].sm, 0U);
  EXPECT_EQ(sms[1].sm, 5U);
  EXPECT_DOUBLE_EQ(achieved_pct(sms, 2), 62.5);
}

TEST(Trace, ABlockThatStartsAsAnotherEndsIsNotResidentWithIt) {
  const std::vector<WarpRecord> records = {warp(0, 0, 100), warp(0, 0, 150), warp(0, 100, 200),
                                           warp(0, 150, 200)};
  EXPECT_EQ(sms_of(records, 1)[0].most_blocks, 2);
  EXPECT_EQ(sms_of(records, 1)[0].blocks, 4);
  EXPECT_EQ(sms_of(records, 2)[0].most_blocks, 2);
  EXPECT_EQ(sms_of(records, 2)[0].blocks, 2);
}

TEST(Trace, ReplacementLatencyIsFromTheLatestEndOnTheSameSm) {
  const std::vector<WarpRecord> records = {
      warp(0, 0, 100),    // the first of its SM takes nothing over
      warp(1, 0, 500),    // another SM
      warp(0, 0, 300),    // likewise a first
      warp(0, 140, 400),  // 40 after block 0
      warp(0, 420, 600),  // 20 after block 3, not 120 after block 2
  };
  EXPECT_THAT(replacement_latency_cycles(blocks_of(records, 1)), ElementsAre(40, 20));
}

}  // namespace
}  // namespace occbench
