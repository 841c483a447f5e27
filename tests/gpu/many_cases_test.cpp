#include <fstream>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include "gpu/error.hpp"
#include "harness/instruments.hpp"
#include "harness/run.hpp"
#include "kernels/spin.hpp"

namespace occbench {
namespace {

constexpr int kCases = 2000;
constexpr int kWarmUp = 200;

struct Memory {
  double host_mib;
  double device_mib;
};

Memory memory_in_use() {
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  constexpr double kMib = 1 << 20;
  return {static_cast<double>(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMib,
          static_cast<double>(all_bytes - free_bytes) / kMib};
}

std::vector<Memory> memory_at_case;

/// Prepares as hold does, and notes what memory the process has by then.
std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device& device) {
  memory_at_case.push_back(memory_in_use());
  return kSpin.prepare(chosen, variant, device);
}

TEST(ManyCasesOnAGpu, TwoThousandCasesInOneProcessTakeNoMoreMemoryThanTwoHundred) {
  Device device;
  try {
    device = open_device("auto");
  } catch (const GpuUnavailable& unavailable) {
    GTEST_SKIP() << unavailable.what();
  }
  const Kernel noting{"noting", "hold, and what memory is in use", kSpin.variants, prepare};
  const Experiment experiment{
      "many", "memory does not grow", "tests/gpu", [&](const Planner&) {
        std::vector<Case> cases;
        for (int i = 0; i < kCases; ++i) {
          cases.push_back({.kernel = &noting,
                           .variant = "plain",
                           .launch = {.block_threads = 64, .grid_blocks = 1 + i % 300},
                           .work = Work::equal(2000),
                           .suite = Suite::smoke,
                           .parameters = {{"order", std::to_string(i)}}});
        }
        return cases;
      }};
  const Options options = parse_options({"--occ_readings=2", "--benchmark_min_time=0.0002"});
  std::vector<std::string> arguments = options.google_benchmark;
  arguments.insert(arguments.begin(), "test");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  const auto instruments = make_gpu_instruments(device, options.readings);
  const Experiment* const experiments[] = {&experiment};
  EXPECT_EQ(run_experiments(experiments, options, device, *instruments), ExitStatus::done);
  ASSERT_EQ(memory_at_case.size(), static_cast<std::size_t>(kCases));
  const Memory early = memory_at_case[kWarmUp];
  const Memory late = memory_at_case.back();
  RecordProperty("host_mib_early", std::to_string(early.host_mib));
  RecordProperty("host_mib_late", std::to_string(late.host_mib));
  EXPECT_LT(late.host_mib, early.host_mib + 8);
  EXPECT_LT(late.device_mib, early.device_mib + 4);
}

}  // namespace
}  // namespace occbench
