#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "entries/entry_paths.hpp"
#include "fake_gpu.hpp"
#include "files/output.hpp"
#include "programs/process_entries.hpp"
#include "trace/tracer.hpp"

namespace occbench {

inline void* handle(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

inline constexpr std::string_view kAchieved = "sm__warps_active.avg.pct_of_peak_sustained_active";
inline constexpr const char* kGraphKernel = "_Z5graphv";

inline GraphNode kernel_node(const char* name = kGraphKernel) {
  GraphNode node{GraphNode::Kind::kernel, handle(0x95), {}};
  node.launch.function = handle(0x90);
  node.launch.name = name;
  node.launch.block = {256, 1, 1};
  return node;
}

/// A program that launches kernels and graphs, as CUPTI would tell it.
struct Program {
  Tracer* tracer;
  FakeGpu& gpu;
  std::atomic<std::uint32_t> correlation{0};
  bool has_records = true;
  bool refused = false;  ///< the driver takes no launch
  void* stream = nullptr;
  std::uint32_t registers = 40;
  int carveout_pct = -1;
  std::uint64_t nanoseconds = 10'000;  ///< of a kernel, by its record
  std::uint64_t start_ns = 0;          ///< of its record; 0 = after any time at which nothing ran

  void launch(std::uint32_t grid, void* context = handle(0x10), const char* name = "_Z6reducePf",
              std::uint32_t dynamic_shared_bytes = 0, void* function = nullptr) {
    LaunchCall call;
    call.dynamic_shared_bytes = dynamic_shared_bytes;
    call.context = context;
    call.function = function != nullptr ? function : handle(0x20 + std::strlen(name));
    call.name = name;
    call.grid = {grid, 1, 1};
    call.block = {256, 1, 1};
    make(call);
  }
  void launch_graph(void* exec, void* context = handle(0x10)) {
    LaunchCall call;
    call.context = context;
    call.function = exec;
    call.of_graph = true;
    make(call, 1);
  }

 private:
  void make(LaunchCall call, std::uint32_t grid_of_graph = 0) {
    std::uint64_t state = 0;
    call.stream = stream;
    call.correlation = ++correlation;
    call.state = &state;
    tracer->launch_begins(call);
    const bool recorded = has_records && gpu.keeps_records(call.context);
    if (!refused) gpu.launch(call.context);
    tracer->launch_ends(call.context, call.correlation, call.state, !refused);
    if (!recorded || refused) return;
    KernelRecord record;
    record.name = call.of_graph ? kGraphKernel : call.name;
    record.start_ns = start_ns > 0 ? start_ns : std::uint64_t{1} << 62;
    record.end_ns = record.start_ns + nanoseconds;
    record.correlation = call.correlation;
    record.of_graph = call.of_graph;
    record.facts.grid = call.of_graph ? EntryExtent{grid_of_graph, 1, 1} : call.grid;
    record.facts.block = {256, 1, 1};
    record.facts.registers_per_thread = registers;
    record.facts.carveout_pct = carveout_pct;
    tracer->kernel_ran(record);
  }
};

struct TracerTest : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path file = make_entry_file(folder.path() / "run.csv", 41);
  FakeGpu gpu;
  FakeDriver driver{gpu};
  std::vector<std::string> said;      ///< to be read once the tracer has finished
  std::atomic<bool> has_said{false};  ///< while its threads run
  std::unique_ptr<Tracer> tracer = make(options(3));
  Program program{tracer.get(), gpu};
  std::atomic<bool> capturing_{false};

  TracerOptions options(int counted, bool paced = false, std::optional<Patience> samples_after = {}) const {
    return {file,
            {std::string(kAchieved)},
            {.counted = counted, .paced = paced, .after = 0, .wanted = {}},
            samples_after,
            kShortTimes};
  }
  std::unique_ptr<Tracer> make(TracerOptions options) {
    return std::make_unique<Tracer>(std::move(options), driver, [this](const std::string& line) {
      said.push_back(line);
      has_said = true;
    });
  }
  /// The program is told of to another tracer from here on.
  void use(TracerOptions options) {
    tracer = make(std::move(options));
    program.tracer = tracer.get();
  }
  /// What the parent makes of the file.
  std::vector<Row> rows() {
    std::vector<Row> rows;
    for (const CaseRecord& record : program_cases(merged(read_entry_file(file).entries)))
      rows.push_back(row_of(record));
    return rows;
  }
  std::size_t samples() {
    std::size_t count = 0;
    for (const ProgramEntry& entry : read_entry_file(file).entries)
      count += program_samples(program_case(entry), entry.seen).size();
    return count;
  }
  void finish() {
    tracer->finish([] {});
  }
};

}  // namespace occbench
