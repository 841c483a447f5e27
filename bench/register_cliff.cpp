#include <algorithm>
#include <string>
#include <utility>

#include "harness/experiment.hpp"
#include "kernels/live_registers.hpp"

namespace occbench::bench_register_cliff {
namespace {

constexpr int kBlockSizes[] = {128, 192, 256, 384, 512, 768, 1024};
constexpr LiveRegistersBody kBodies[] = {LiveRegistersBody::throughput, LiveRegistersBody::latency};

/// Every case has the same total work, as many threads as fill the device this many times. 15 is a whole
/// number of waves at 100, 75, 62.5 and 50 % (15, 20, 24, 30), so no tail hides the effect of occupancy on
/// time.
constexpr int kFullWaves = 15;

/// About 35,000 cycles for a warp alone, 140,000 if 16 share a scheduler or wait for L2.
int rounds_of(LiveRegistersBody body) {
  return body == LiveRegistersBody::throughput ? 64 : 4;
}

std::string_view name_of(LiveRegistersBody body) {
  return body == LiveRegistersBody::throughput ? "throughput" : "latency";
}

/// Most registers per thread with which an SM still holds all its warps.
int registers_at_full_occupancy(const Limits& limits) {
  const int unit = limits.register_allocation_unit / limits.threads_per_warp;
  return limits.registers_per_sm / limits.max_threads_per_sm() / unit * unit;
}

/// The two sides of this SM's own cliff, and 31 registers, the documents' example.
bool at_the_cliff(const Limits& limits, int registers) {
  const int most = registers_at_full_occupancy(limits);
  const auto above = std::ranges::upper_bound(kLiveRegisterCounts, most);
  const bool below = registers == *std::prev(above);
  return registers == 31 || below || (above != std::end(kLiveRegisterCounts) && registers == *above);
}

Case make_case(const Planner& on, LiveRegistersBody body, int registers, int block_threads) {
  const Limits& limits = on.limits();
  const bool telling = at_the_cliff(limits, registers);
  const bool smoke = telling && registers != 31 && block_threads == 512;
  const bool quick = telling && (block_threads == 256 || block_threads == 512 || block_threads == 1024);
  return {
      .kernel = &kLiveRegisters,
      .variant = live_registers_variant(body, registers),
      .launch = {.block_threads = block_threads,
                 .grid_blocks = on.blocks_of_full_device(block_threads, kFullWaves)},
      .work = live_registers_work(body, registers, rounds_of(body)),
      .suite = smoke   ? Suite::smoke
               : quick ? Suite::quick
                       : Suite::full,
      .parameters = {{"body", std::string(name_of(body))}, {"block_threads", std::to_string(block_threads)}}};
}

/// Warps of the largest blocks fill an SM no better than registers do.
void expect_limit(const Planner& on, Case& made, const std::string& limit) {
  made.expected_cause =
      on.cause_of_limit(*made.kernel, made.variant, made.launch, limit + "+block_size_limit", "");
}

/// The control: the fewest registers, and as many blocks per SM as with `registers`, limited by shared
/// memory.
std::optional<Case> make_control(const Planner& on, LiveRegistersBody body, int registers,
                                 int block_threads) {
  const Case imitated = make_case(on, body, registers, block_threads);
  Case control = make_case(on, body, kLiveRegisterCounts[0], block_threads);
  const int blocks = on.occupancy(*imitated.kernel, imitated.variant, imitated.launch).blocks_per_sm;
  const std::optional<std::int64_t> padding =
      on.shared_bytes_for(*control.kernel, control.variant, control.launch, blocks);
  if (!padding || *padding == 0) return std::nullopt;
  control.launch.dynamic_shared_bytes = *padding;
  control.parameters.emplace_back("padded_as", std::to_string(registers));
  control.suite = imitated.suite == Suite::smoke ? Suite::quick : Suite::full;
  expect_limit(on, control, "shared_memory_limit");
  return control;
}

/// One warp on the whole device: the time of a warp without contention.
Case make_lone_warp(const Planner& on, LiveRegistersBody body) {
  Case alone = make_case(on, body, kLiveRegisterCounts[0], on.limits().threads_per_warp);
  alone.launch.grid_blocks = 1;
  alone.suite = Suite::quick;
  alone.parameters.emplace_back("grid", "one_warp");
  alone.expected_cause = "small_grid+block_size_limit";
  return alone;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const LiveRegistersBody body : kBodies) {
    cases.push_back(make_lone_warp(on, body));
    for (const int block_threads : kBlockSizes) {
      for (const int registers : kLiveRegisterCounts) {
        Case made = make_case(on, body, registers, block_threads);
        expect_limit(on, made, "register_limit");
        cases.push_back(std::move(made));
        const bool imitate = registers == 33 || registers == 41 || registers == 66;
        if (!imitate || block_threads % 256 != 0) continue;
        if (auto control = make_control(on, body, registers, block_threads)) cases.push_back(*control);
      }
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "register_cliff",
    "blocks of 512 threads go from 100 to 75 % occupancy when a thread needs 33 registers instead of 31, and "
    "lose "
    "performance with it",
    "resource-partitioning note, the performance cliff; CUDA C++ Programming Guide, compute capabilities",
    cases};

}  // namespace occbench::bench_register_cliff
