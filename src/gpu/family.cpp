#include "gpu/family.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "gpu/launch.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

/// A variant and the text that it names.
struct NamedVariant {
  std::string name;
  Variant variant;
};

constexpr std::int64_t kMostInt = 2'147'483'647;
constexpr std::int64_t kMostThreads = kMostInt * 1024;

/// Blocks, and whole clusters of them, that have at least so many threads.
std::int64_t blocks_of_threads(std::int64_t threads, const Launch& launch) {
  const std::int64_t of_cluster =
      std::max<std::int64_t>(1, std::int64_t{launch.block_threads} * launch.cluster_blocks);
  return (threads + of_cluster - 1) / of_cluster * launch.cluster_blocks;
}

}  // namespace

std::vector<SweepAxis> launch_axes(std::string block_size, std::string waves) {
  return {
      {"block-size", AxisKind::integer, "threads per block", std::move(block_size)},
      {"grid", AxisKind::integer, "blocks in the grid", ""},
      {"threads", AxisKind::integer, "instead of --grid: threads in the grid, in as many blocks as hold them",
       ""},
      {"waves", AxisKind::real, "instead of --grid: blocks as full waves of the device", std::move(waves)},
      {"dynamic-smem", AxisKind::bytes, "dynamic shared memory per block, bytes", "0"},
      {"carveout", AxisKind::integer, "preferred shared-memory carveout, %", ""},
      {"cluster", AxisKind::integer, "blocks per cluster", "1"}};
}

SweepAxis registers_axis() {
  return {"registers", AxisKind::registers,
          "cap on registers per thread; =N asks for exactly N and skips what cannot be had", ""};
}

SweepAxis min_blocks_axis() {
  return {"min-blocks", AxisKind::integer,
          "instead of --registers: blocks that must fit on an SM, as of __launch_bounds__", ""};
}

SweepAxis static_shared_axis() {
  return {"static-smem", AxisKind::bytes, "static shared memory per block, bytes", ""};
}

std::vector<SweepAxis> joined(std::vector<SweepAxis> axes, std::span<const SweepAxis> more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

Launch launch_at(const Point& at, const Device& device, const Usage& usage) {
  Launch launch{.block_threads = static_cast<int>(at.integer("block-size")),
                .cluster_blocks = static_cast<int>(at.integer("cluster")),
                .dynamic_shared_bytes = at.integer("dynamic-smem", std::int64_t{1} << 40)};
  if (at.has("carveout")) launch.carveout_pct = static_cast<int>(at.integer("carveout", 100));
  if (at.has("grid")) {
    launch.grid_blocks = at.integer("grid", kMostInt);
  } else if (at.has("threads")) {
    launch.grid_blocks = blocks_of_threads(at.integer("threads", kMostThreads), launch);
  } else {
    const Occupancy occupancy = theoretical_occupancy(device.limits, launch, usage);
    const auto wave = static_cast<double>(std::int64_t{device.sm_count} * occupancy.blocks_per_sm);
    const double clusters = std::round(at.real("waves") * wave / launch.cluster_blocks);
    launch.grid_blocks = std::max<std::int64_t>(1, std::llround(clusters)) * launch.cluster_blocks;
  }
  if (launch.grid_blocks < 1)
    throw InputError(
        fmt::format("--{} 0: a grid has at least one block", at.has("threads") ? "threads" : "grid"));
  if (launch.grid_blocks > kMostInt)
    throw InputError(fmt::format("{} blocks: a grid has at most {}", launch.grid_blocks, kMostInt));
  return launch;
}

AskedRegisters asked_registers(const Point& at, const Limits& limits) {
  constexpr int kMostRegisters = 255;  // CUDA programming guide, compute capabilities
  if (at.has("min-blocks")) {
    if (at.has("registers"))
      throw InputError("--registers and --min-blocks both cap registers: leave one out");
    const std::int64_t warps = warps_of_block(static_cast<int>(at.integer("block-size")));
    const std::int64_t threads = at.integer("min-blocks", kMostInt) * warps * kThreadsPerWarp;
    if (threads == 0) throw InputError("--min-blocks 0: at least one block is to fit");
    // Registers are allocated to a warp in whole units.
    const std::int64_t unit = limits.register_allocation_unit / kThreadsPerWarp;
    const std::int64_t cap = limits.registers_per_sm / threads / unit * unit;
    if (cap == 0)
      throw InputError(fmt::format("--min-blocks {}: {} threads leave none of {} registers of an SM for each",
                                   at.text("min-blocks"), threads, limits.registers_per_sm));
    return {static_cast<int>(std::min<std::int64_t>(cap, kMostRegisters)), false};
  }
  if (!at.has("registers")) return {};
  const std::string& text = at.text("registers");
  const bool exactly = text.starts_with('=');
  Point count_alone;
  count_alone.set(registers_axis(), exactly ? text.substr(1) : text, false);
  const auto count = static_cast<int>(count_alone.integer("registers", kMostRegisters));
  if (count < 1) throw InputError("--registers 0: a thread has at least one register");
  return {count, exactly};
}

std::shared_ptr<RuntimeKernel> compile_at(const Point& at, const Device& device, const KernelSource& source,
                                          KernelBuild build) {
  const AskedRegisters asked = asked_registers(at, device.limits);
  build.register_cap = asked.cap;
  if (at.has("static-smem")) {
    constexpr std::int64_t kMostStaticBytes = 48 * 1024;  // CUDA programming guide: more must be dynamic
    const std::int64_t bytes = at.integer("static-smem", std::int64_t{1} << 40);
    if (bytes > kMostStaticBytes)
      throw InputError(
          fmt::format("--static-smem {}: a kernel declares at most {} bytes; --dynamic-smem takes more",
                      bytes, kMostStaticBytes));
    if (bytes > 0) build.defines.push_back(fmt::format("OCC_STATIC_SHARED_BYTES={}", bytes));
  }
  std::shared_ptr<RuntimeKernel> kernel = compile_kernel(source, build);
  const int given = kernel->compiled().usage.registers_per_thread;
  if (asked.exactly && given != *asked.cap)
    throw InputError(fmt::format("--registers ={}: the compiler gives {} registers", *asked.cap, given));
  return kernel;
}

std::shared_ptr<const Variant> built_variant(std::string name, const void* function,
                                             std::optional<Compiled> compiled) {
  auto named = std::make_shared<NamedVariant>();
  named->name = std::move(name);
  named->variant = {.name = named->name, .function = function, .compiled = std::move(compiled)};
  return {named, &named->variant};
}

Case case_of(const Kernel& kernel, std::string_view variant, const std::shared_ptr<RuntimeKernel>& code,
             const Launch& launch, Prepare prepare) {
  Case chosen{.kernel = &kernel, .launch = launch};
  chosen.built = built_variant(std::string(variant), nullptr, code->compiled());
  chosen.variant = chosen.built->name;
  chosen.note = code->note();
  chosen.prepare = [code, prepare = std::move(prepare)](const Case& of, const Variant& named,
                                                        const Device& device) {
    Variant loaded = named;
    loaded.function = code->function();
    return prepare(of, loaded, device);
  };
  return chosen;
}

}  // namespace occbench
