#include "programs/torch_trace.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <zlib.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.hpp"
#include "diagnose/situation.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "resident_bytes.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// As kineto writes them (PyTorch 2.x).
std::string kernel_event(const std::string& name, double duration_us, const std::string& grid,
                         const std::string& block, int registers, int shared, double estimate, int stream = 7,
                         double begin_us = 5121) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": {}, "ts": {}, "dur": {}, "args": {{)"
      R"("External id": 1, "queued": 0, "device": 0, "context": 1, "stream": {}, "correlation": 9, )"
      R"("registers per thread": {}, "shared memory": {}, "blocks per SM": 0.5, "warps per SM": 2, )"
      R"("grid": [{}], "block": [{}], "est. achieved occupancy %": {}}}}})",
      name, stream, begin_us, duration_us, stream, registers, shared, grid, block, estimate);
}

constexpr const char* kDescribedH100 =
    R"({"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85000000000, "computeMajor": 9,)"
    R"( "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32, "numSms": 132})";

std::string trace_text(const std::string& events, const std::string& devices = kDescribedH100) {
  return fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{}], "traceEvents": [)"
      R"({{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9000.5, "args": {{"Input Dims": [[2, 2]]}}}},)"
      R"({{"ph": "M", "name": "process_name", "args": {{"name": "python"}}}},)"
      R"({{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 2, "dur": 3, "args": {{"bytes": 64}}}})"
      R"({}{}], "traceName": "t.json"}})",
      devices, events.empty() ? "" : ", ", events);
}

TorchTrace parsed(const std::string& events, const std::string& devices = kDescribedH100) {
  std::istringstream text(trace_text(events, devices));
  return parse_torch_trace(text, "t.json");
}

TEST(TorchTrace, HasAnEntryForEachKernelAndConfiguration) {
  const TorchTrace trace = parsed(kernel_event("_Z6reducePKfPfi", 4.5, "64,1,1", "128,1,1", 32, 0, 3) + "," +
                                  kernel_event("_Z6reducePKfPfi", 5.5, "64,1,1", "128,1,1", 32, 0, 3, 20) +
                                  "," + kernel_event("gemm", 100, "66,2,1", "384,1,1", 168, 229376, 0));
  ASSERT_EQ(trace.kernels.size(), 2);
  const ProgramEntry& gemm = trace.kernels[0].entry;
  EXPECT_EQ(gemm.kernel.name, "gemm");
  EXPECT_EQ(gemm.seen.launches, 1);
  EXPECT_EQ(gemm.kernel.grid, (Shape{66, 2, 1}));
  EXPECT_EQ(gemm.kernel.dynamic_shared_bytes, 229376);
  EXPECT_EQ(gemm.device.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gemm.device.compute_capability, "9.0");
  EXPECT_EQ(gemm.device.sm_count, 132);
  const ProgramLaunches& reduce = trace.kernels[1].entry.seen;
  EXPECT_EQ(reduce.launches, 2);
  EXPECT_EQ(reduce.total_us, 10);
  EXPECT_THAT(reduce.times_us, ElementsAre(4.5, 5.5));
  EXPECT_THAT(reduce.contexts, ElementsAre(1));
  EXPECT_THAT(reduce.streams, ElementsAre(7, 20));
  EXPECT_EQ(trace.kernels[1].estimate_pct, 3);
}

/// The rows of an import of events.
std::vector<CaseRecord> imported(const std::string& events) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "t.json";
  std::ofstream(file) << trace_text(events);
  std::ostringstream said;
  return import_torch_trace({.file = file, .clock_mhz = 1980}, said).cases;
}

TEST(TorchTrace, SaysThatNoKernelCanBeUsed) {
  EXPECT_THAT(message_of([] { parsed(kernel_event("one", 5, "0,1,1", "128,1,1", 32, 0, 3, 7)); }),
              HasSubstr("has 1 event of kernels, and none with a name, a time, grid"));
}

TEST(TorchTrace, KernelsThatRunAtOnceFillWhatOthersLeaveEmpty) {
  const auto cases = imported(kernel_event("one", 100, "54,1,1", "1024,1,1", 32, 0, 3, 7, 0) + "," +
                              kernel_event("other", 50, "54,1,1", "1024,1,1", 32, 0, 3, 20, 25));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_THAT(cases[0].note, HasSubstr("other kernels ran beside it for 50 % of its time"));
  EXPECT_EQ(cases[1].program.beside_pct, 100);
  EXPECT_EQ(case_record(row_of(cases[1])).program.beside_pct, 100);
  for (const CaseRecord& record : cases) {
    for (const Finding& finding : diagnose(facts_of(record)))
      EXPECT_TRUE(!finding.time || finding.time->share == 0) << finding.sentence;
  }
  const auto apart = imported(kernel_event("one", 100, "54,1,1", "1024,1,1", 32, 0, 3, 7, 0) + "," +
                              kernel_event("other", 50, "54,1,1", "1024,1,1", 32, 0, 3, 20, 100));
  EXPECT_THAT(apart[0].note, testing::Not(HasSubstr("beside")));
}

TEST(TorchTrace, KernelsLeftOutRunBesideOthersAndThoseOfNoTimeDoNot) {
  const auto beside_pct = [](double us, const char* grid) {
    return imported(kernel_event("first", us, grid, "128,1,1", 32, 0, 3, 20, 150) + "," +
                    kernel_event("one", 200, "132,1,1", "128,1,1", 32, 0, 3, 7, 100))
        .front()
        .program.beside_pct;
  };
  EXPECT_EQ(beside_pct(50, "0,1,1"), 25);
  EXPECT_EQ(beside_pct(0, "132,1,1"), 0);
}

TEST(TorchTrace, GivesRowsWithTheTheoryOfTheGpu) {
  const TorchTrace trace = parsed(kernel_event("gemm", 100, "66,2,1", "384,1,1", 168, 229376, 0));
  const Row row = row_of(program_case(trace.kernels[0].entry));
  // One block of 12 warps: its shared memory is all that an SM has.
  EXPECT_EQ(row.blocks_per_sm, 1);
  EXPECT_EQ(row.theoretical_pct, 18.75);
}

EstimateFault fault(const TorchTrace& trace) {
  return fault_of_estimate(trace.kernels[0], program_case(trace.kernels[0].entry));
}

TEST(TorchEstimate, IsZeroAboveTheDefaultOfSharedMemory) {
  const TorchTrace trace = parsed(kernel_event("gemm", 100, "66,2,1", "384,1,1", 168, 229376, 0));
  EXPECT_EQ(fault(trace), EstimateFault::shared_memory);
  EXPECT_THAT(to_string(fault(trace), 0), HasSubstr("48 KB"));
}

TEST(TorchEstimate, OfASmallGridCountsIdleSms) {
  // 64 blocks of 128 threads on 132 SMs of 2,048 threads: 3 %, where theory allows all 16 blocks, 100 %.
  EXPECT_EQ(fault(parsed(kernel_event("fill", 2, "64,1,1", "128,1,1", 32, 0, 3))),
            EstimateFault::spread_over_sms);
}

TEST(TorchEstimate, OfALargeGridIsTheory) {
  EXPECT_EQ(fault(parsed(kernel_event("fill", 2, "64000,1,1", "128,1,1", 32, 0, 100))), EstimateFault::none);
  EXPECT_EQ(fault(parsed(kernel_event("fill", 2, "64000,1,1", "128,1,1", 32, 0, 71))), EstimateFault::other);
}

TEST(TorchTrace, LeavesOutKernelsThatNoLaunchCanBe) {
  const TorchTrace trace = parsed(kernel_event("good", 4.5, "64,1,1", "128,1,1", 32, 0, 3) + "," +
                                  kernel_event("threads", 4.5, "64,1,1", "2048,1,1", 32, 0, 3) + "," +
                                  kernel_event("blocks", 4.5, "0,1,1", "128,1,1", 32, 0, 3) + "," +
                                  kernel_event("half", 4.5, "1.5,1,1", "128,1,1", 32, 0, 3) + "," +
                                  kernel_event("dimensions", 4.5, "64,1", "128,1,1", 32, 0, 3) + "," +
                                  kernel_event("registers", 4.5, "64,1,1", "128,1,1", 300, 0, 3) + "," +
                                  kernel_event("time", -4.5, "64,1,1", "128,1,1", 32, 0, 3));
  EXPECT_EQ(trace.kernels.size(), 1);
  EXPECT_EQ(trace.malformed, 6);
}

std::string refusal_of_trace(const std::string& text) {
  return message_of([&] {
    std::istringstream stream(text);
    parse_torch_trace(stream, "t.json");
  });
}

TEST(TorchTrace, ThatIsNoneIsRefusedWithTheReason) {
  const std::string whole = trace_text(kernel_event("good", 4.5, "64,1,1", "128,1,1", 32, 0, 3));
  EXPECT_EQ(refusal_of_trace(whole), "nothing was thrown");
  EXPECT_THAT(refusal_of_trace(whole.substr(0, whole.size() / 2)),
              HasSubstr("t.json is not a whole JSON file"));
  EXPECT_THAT(refusal_of_trace(""), HasSubstr("not a whole JSON file"));
  EXPECT_THAT(refusal_of_trace("[" + kernel_event("good", 4.5, "64,1,1", "128,1,1", 32, 0, 3) + "]"),
              HasSubstr("t.json is an array without \"deviceProperties\""));
  EXPECT_THAT(refusal_of_trace("7"), HasSubstr("has no kernels"));
  EXPECT_THAT(refusal_of_trace(trace_text("")), HasSubstr("has no kernels"));
  EXPECT_THAT(refusal_of_trace(trace_text(kernel_event("a", 1, "1,1,1", "32,1,1", 8, 0, 1), "")),
              HasSubstr("does not describe GPU 0"));
  EXPECT_THAT(refusal_of_trace(trace_text(kernel_event("a", 1, "1,1,1", "64,1,1", 8, 0, 1),
                                          R"({"id": 0, "name": "AMD Instinct MI300X", "warpSize": 64})")),
              HasSubstr("only NVIDIA"));
}

void write_gzip(const std::filesystem::path& file, const std::string& text) {
  gzFile stream = ::gzopen(file.c_str(), "wb");
  ::gzwrite(stream, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(stream);
}

TEST(TorchTrace, IsReadPlainAndCompressed) {
  const TemporaryFolder folder;
  const std::string text = trace_text(kernel_event("good", 4.5, "64,1,1", "128,1,1", 32, 0, 3));
  std::ofstream(folder.path() / "t.json") << text;
  write_gzip(folder.path() / "t.json.gz", text);
  EXPECT_EQ(read_torch_trace(folder.path() / "t.json").kernels.size(), 1);
  EXPECT_EQ(read_torch_trace(folder.path() / "t.json.gz").kernels.size(), 1);
  // A download that was cut off.
  std::filesystem::copy_file(folder.path() / "t.json.gz", folder.path() / "cut.json.gz");
  std::filesystem::resize_file(folder.path() / "cut.json.gz",
                               std::filesystem::file_size(folder.path() / "t.json.gz") / 2);
  EXPECT_THROW(read_torch_trace(folder.path() / "cut.json.gz"), InputError);
  EXPECT_THROW(read_torch_trace(folder.path() / "none.json"), InputError);
  EXPECT_THROW(read_torch_trace(folder.path()), InputError);
}

TEST(TorchTrace, OfAGpuThatCannotBeIsRefused) {
  for (const int sms : {0, -1, 1025, 100'000'000}) {
    std::string text = trace_text(kernel_event("k", 1, "64,1,1", "128,1,1", 32, 0, 3));
    const std::size_t at = text.find("\"numSms\": ") + 10;
    text.replace(at, text.find_first_of(",}", at) - at, std::to_string(sms));
    std::istringstream stream(text);
    EXPECT_THAT([&] { parse_torch_trace(stream, "t.json"); },
                testing::ThrowsMessage<InputError>(testing::HasSubstr("SMs (numSms); a GPU has 1 to 1024")))
        << sms;
  }
}

TEST(TorchTrace, NestedTooDeepIsRefused) {
  const auto refusal = [](const std::string& text) -> std::string {
    std::istringstream stream(text);
    return message_of([&] { parse_torch_trace(stream, "t.json"); });
  };
  EXPECT_THAT(refusal("{\"traceEvents\": " + std::string(1'000'000, '[')),
              testing::HasSubstr("deeper than 64"));
  EXPECT_THAT(refusal("{\"traceEvents\": [" + std::string(60, '[') + std::string(60, ']') + "]}"),
              testing::HasSubstr("has no kernels"));
}

TEST(TorchTrace, OfAnyLengthTakesTheMemoryOfItsDistinctKernels) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "t.json.gz";
  std::string event;
  for (int i = 0; i < 50; ++i) {
    event += (i > 0 ? "," : "") + kernel_event(fmt::format("k{}", i), 1, "64,1,1", "128,1,1", 32, 0, 3);
  }
  const auto write = [&](int times) {
    std::string text = trace_text(event);
    const std::size_t end = text.rfind("], \"traceName\"");
    gzFile stream = ::gzopen(file.c_str(), "wb1");
    ::gzwrite(stream, text.data(), static_cast<unsigned>(end));
    for (int i = 1; i < times; ++i) {
      ::gzwrite(stream, ",", 1);
      ::gzwrite(stream, event.data(), static_cast<unsigned>(event.size()));
    }
    ::gzwrite(stream, text.data() + end, static_cast<unsigned>(text.size() - end));
    ::gzclose(stream);
  };
  write(200);
  EXPECT_EQ(read_torch_trace(file).kernels.at(0).entry.seen.launches, 200);
  [[maybe_unused]] const std::size_t before = resident_bytes();
#ifdef __SANITIZE_ADDRESS__
  constexpr int kTimes = 400;
#else
  constexpr int kTimes = 2000;  // 36 MB of text
#endif
  write(kTimes);
  const TorchTrace trace = read_torch_trace(file);
  ASSERT_EQ(trace.kernels.size(), 50);
  EXPECT_EQ(trace.kernels[0].entry.seen.launches, kTimes);
  EXPECT_EQ(trace.kernels[0].entry.seen.times_us.size(), 101);
#ifndef __SANITIZE_ADDRESS__  // it keeps what is freed
  EXPECT_LT(resident_bytes() - std::min(before, resident_bytes()), 8'000'000);
#endif
}

TEST(HighestClock, IsThatOfTheGpusName) {
  EXPECT_EQ(highest_clock_mhz("NVIDIA H100 80GB HBM3"), 1980);
  EXPECT_EQ(highest_clock_mhz("NVIDIA H100 PCIe"), 1755);
  EXPECT_EQ(highest_clock_mhz("NVIDIA A100-SXM4-80GB"), 1410);
  EXPECT_EQ(highest_clock_mhz("NVIDIA L40S"), 2520);
  EXPECT_EQ(highest_clock_mhz("NVIDIA L4"), 2040);
  EXPECT_FALSE(highest_clock_mhz("NVIDIA GeForce GT 9999"));
}

}  // namespace
}  // namespace occbench
