#include "cli/device_code.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/calc_binary.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

// The expected figures are what ptxas -v said when data/kernels.cu was compiled.
std::vector<DeviceKernel> recorded() {
  std::ifstream output(OCCBENCH_SOURCE_DIR "/tests/cli/data/kernels.cuobjdump.txt");
  return parse_device_code(output);
}

DeviceKernel find(const std::string& name, const std::string& architecture) {
  for (const DeviceKernel& kernel : recorded()) {
    if (source_name(kernel.symbol) == name && kernel.architecture == architecture) return kernel;
  }
  ADD_FAILURE() << "no " << name << " for " << architecture;
  return {};
}

TEST(DeviceCode, ListsEveryKernelOfEveryArchitectureAndNoOtherFunction) {
  std::vector<std::string> names;
  for (const DeviceKernel& kernel : recorded())
    names.push_back(kernel.architecture + " " + source_name(kernel.symbol));
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "sm_80 plain(float*)", "sm_80 shapes::reversed<256>(float*)",
                         "sm_80 shapes::reversed<1024>(float*)", "sm_80 bounded(float*, int)",
                         "sm_80 named_barriers", "sm_80 spilling(float*)", "sm_90 plain(float*)",
                         "sm_90 shapes::reversed<256>(float*)", "sm_90 shapes::reversed<1024>(float*)",
                         "sm_90 bounded(float*, int)", "sm_90 named_barriers", "sm_90 spilling(float*)"));
}

TEST(DeviceCode, HasRegistersBarriersAndLaunchBounds) {
  EXPECT_EQ(find("plain(float*)", "sm_80").usage.registers_per_thread, 8);
  EXPECT_EQ(find("plain(float*)", "sm_80").usage.barriers, 0);
  EXPECT_EQ(find("shapes::reversed<256>(float*)", "sm_90").usage.registers_per_thread, 10);
  EXPECT_EQ(find("shapes::reversed<256>(float*)", "sm_90").usage.barriers, 1);
  EXPECT_EQ(find("named_barriers", "sm_90").usage.barriers, 6);
  EXPECT_EQ(find("bounded(float*, int)", "sm_90").max_block_threads, 256);
  EXPECT_EQ(find("plain(float*)", "sm_90").max_block_threads, 0);
}

TEST(DeviceCode, HasSharedMemoryWithoutTheReserveThatTheLinkerAddsFrom90On) {
  EXPECT_EQ(find("shapes::reversed<1024>(float*)", "sm_80").usage.static_shared_bytes, 4096);
  EXPECT_EQ(find("shapes::reversed<1024>(float*)", "sm_90").usage.static_shared_bytes, 4096);
  EXPECT_EQ(find("plain(float*)", "sm_90").usage.static_shared_bytes, 0);
}

TEST(DeviceCode, CountsSpillsInTheInstructions) {
  // 40 bytes of spill stores and loads in each: eight of 4 bytes and one of 8.
  for (const char* architecture : {"sm_80", "sm_90"}) {
    const DeviceKernel spilling = find("spilling(float*)", architecture);
    EXPECT_EQ(spilling.stack_bytes, 48);
    EXPECT_EQ(spilling.usage.local_bytes_per_thread, 48);
    EXPECT_EQ(spilling.local_stores, 9);
    EXPECT_EQ(spilling.local_loads, 9);
    EXPECT_EQ(find("plain(float*)", architecture).local_stores, 0);
  }
}

TEST(DeviceCode, RunsTheNewestOfItsMajorComputeCapabilityThatIsNotNewerThanTheGpu) {
  const std::vector<DeviceKernel> all = recorded();
  for (const DeviceKernel& kernel : kernels_for(all, ComputeCapability{8, 6}))
    EXPECT_EQ(kernel.architecture, "sm_80");
  EXPECT_EQ(kernels_for(all, ComputeCapability{9, 0}).size(), 6u);
  EXPECT_EQ(kernels_for(all, std::nullopt).size(), 12u);
  for (const ComputeCapability none : {ComputeCapability{7, 5}, ComputeCapability{10, 0}}) {
    EXPECT_THROW(kernels_for(all, none), InputError) << to_string(none);
  }
}

TEST(DeviceCode, IsAnsweredForEveryBlockSizeThatTheLaunchBoundsAllow) {
  const std::vector<DeviceKernel> bounded = {find("bounded(float*, int)", "sm_90")};
  const CsvTable table = parse_csv(answer_binary(bounded, {}, AnswerFormat::csv), "answers");
  EXPECT_EQ(table.rows.size(), 8u);  // 32 to 256
  EXPECT_THAT(answer_binary(bounded, {}, AnswerFormat::table), HasSubstr("bounded(float*, int)"));
}

TEST(DeviceCode, LongNamesKeepWhatNamesTheKernel) {
  DeviceKernel kernel = find("bounded(float*, int)", "sm_90");
  const auto shown = [&](const char* symbol) {
    kernel.symbol = symbol;
    return answer_binary({&kernel, 1}, {}, AnswerFormat::table);
  };
  // occbench::(anonymous namespace)::spin_kernel(occbench::WarpCyclesView, occbench::WarpRecord*)
  EXPECT_THAT(shown("_ZN8occbench39_GLOBAL__N__11ddb033_7_hold_cu_7cbfc14911spin_kernelENS_14WarpCyclesViewE"
                    "PNS_10WarpRecordE"),
              HasSubstr("\noccbench::spin_kernel "));
}

#ifdef OCCBENCH_NVCC
/// What ptxas -v says of an entry function.
struct Assembled {
  int registers = 0;
  int barriers = 0;
  int shared_bytes = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};

std::map<std::string, Assembled> compile(const std::string& architecture, const std::string& cubin) {
  const std::string command =
      fmt::format("'{}' -arch={} -cubin -Xptxas -v -o '{}' '{}/tests/cli/data/kernels.cu' 2>&1",
                  OCCBENCH_NVCC, architecture, cubin, OCCBENCH_SOURCE_DIR);
  FILE* log = popen(command.c_str(), "r");
  std::map<std::string, Assembled> functions;
  Assembled* current = nullptr;
  char line[4096];
  while (fgets(line, sizeof line, log) != nullptr) {
    std::cmatch found;
    if (std::regex_search(line, found, std::regex("Compiling entry function '(.*)' for"))) {
      current = &functions[found[1]];
    }
    if (current == nullptr) continue;
    const auto read = [&](const char* pattern, int& number) {
      if (std::regex_search(line, found, std::regex(pattern))) number = std::stoi(found[1]);
    };
    // The lines of an entry function end with the registers; device functions may follow.
    read("([0-9]+) bytes stack frame", current->stack_bytes);
    read("([0-9]+) bytes spill stores", current->spill_store_bytes);
    read("([0-9]+) bytes spill loads", current->spill_load_bytes);
    read("used ([0-9]+) barriers", current->barriers);
    read("([0-9]+) bytes smem", current->shared_bytes);
    read("Used ([0-9]+) registers", current->registers);
    if (std::string_view(line).find("Used ") != std::string_view::npos) current = nullptr;
  }
  EXPECT_EQ(pclose(log), 0);
  return functions;
}

TEST(DeviceCode, OfAFreshBuildIsWhatTheAssemblerReports) {
  for (const char* architecture : {"sm_80", "sm_90", "sm_120"}) {
    const fs::path cubin =
        fs::temp_directory_path() / fmt::format("occbench_{}_{}.cubin", architecture, getpid());
    const std::map<std::string, Assembled> assembled = compile(architecture, cubin.string());
    ASSERT_EQ(assembled.size(), 6u);
    std::vector<DeviceKernel> kernels;
    try {
      kernels = read_device_code(cubin);
    } catch (const InputError& error) {
      fs::remove(cubin);
      GTEST_SKIP() << error.what();
    }
    fs::remove(cubin);
    EXPECT_EQ(kernels.size(), assembled.size());
    for (const DeviceKernel& kernel : kernels) {
      const Assembled& expected = assembled.at(kernel.symbol);
      EXPECT_EQ(kernel.architecture, architecture);
      EXPECT_EQ(kernel.usage.registers_per_thread, expected.registers) << kernel.symbol;
      EXPECT_EQ(kernel.usage.barriers, expected.barriers) << kernel.symbol;
      EXPECT_EQ(kernel.usage.static_shared_bytes, expected.shared_bytes) << kernel.symbol;
      EXPECT_EQ(kernel.stack_bytes, expected.stack_bytes) << kernel.symbol;
      EXPECT_EQ(kernel.local_stores > 0, expected.spill_store_bytes > 0) << kernel.symbol;
      EXPECT_EQ(kernel.local_loads > 0, expected.spill_load_bytes > 0) << kernel.symbol;
    }
  }
}
#endif

TEST(DeviceCode, IsRefusedWhereThereIsNone) {
  EXPECT_THROW(read_device_code("/no/such/file"), InputError);
  EXPECT_EQ(run_command({"calc", "--from", "/no/such/file"}).status, ExitStatus::usage);
  EXPECT_EQ(run_command({"calc", "--from", "/no/such/file", "--registers", "3"}).status, ExitStatus::usage);
  // Without cuobjdump this names cuobjdump, with it the lack of device code.
  EXPECT_THROW(read_device_code("/proc/self/exe"), InputError);
  std::istringstream nothing;
  EXPECT_TRUE(parse_device_code(nothing).empty());
}

}  // namespace
}  // namespace occbench
