#include "gpu/family.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "gpu/launch.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

/// A variant and the name to which it points.
struct NamedVariant {
  std::string name;
  Variant variant;
};

/// Blocks per dimension for at least so many threads; whole clusters along x.
Shape blocks_of_threads(const Shape& threads, const Shape& block, std::int64_t cluster) {
  const auto blocks = [](std::int64_t wanted, std::int64_t each) { return (wanted + each - 1) / each; };
  return {blocks(threads.x, block.x * std::max<std::int64_t>(1, cluster)) * cluster,
          blocks(threads.y, block.y), blocks(threads.z, block.z)};
}

Shape grid_of_waves(const Point& at, const Device& device, const Launch& launch, const Usage& usage) {
  const Occupancy occupancy = theoretical_occupancy(device.limits, launch, usage);
  const auto wave = static_cast<double>(std::int64_t{device.sm_count} * occupancy.blocks_per_sm);
  const double clusters = std::round(at.real("waves") * wave / launch.cluster_blocks);
  return {std::max<std::int64_t>(1, std::llround(clusters)) * launch.cluster_blocks, 1, 1};
}

}  // namespace

std::vector<SweepAxis> launch_axes(std::string block_size, std::string waves) {
  return {
      {"block-size", AxisKind::shape, "threads per block, or their shape: 16x16", std::move(block_size)},
      {"grid", AxisKind::shape, "blocks in the grid, or their shape", ""},
      {"threads", AxisKind::shape, "instead of --grid: threads in the grid, in as many blocks as hold them",
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

Launch launch_at(const Point& at, const Device& device, const Usage& usage, int own_cluster) {
  const Shape block = at.shape("block-size");
  require_within({block.total(), 1, 1}, {kMostOfInt, 1, 1}, "--block-size");
  Launch launch{.block_threads = static_cast<int>(block.total()),
                .cluster_blocks = static_cast<int>(at.integer("cluster")),
                .dynamic_shared_bytes = at.integer("dynamic-smem", std::int64_t{1} << 40),
                .block_shape = block};
  if (launch.cluster_blocks < 1) throw InputError("--cluster 0: a cluster has at least one block");
  if (own_cluster > 0 && launch.cluster_blocks == 1) launch.cluster_blocks = own_cluster;
  if (at.has("carveout")) launch.carveout_pct = static_cast<int>(at.integer("carveout", 100));
  const char* const asked = at.has("grid") ? "grid" : at.has("threads") ? "threads" : "waves";
  launch.grid_shape = at.has("grid") ? at.shape("grid")
                      : at.has("threads")
                          ? blocks_of_threads(at.shape("threads"), block, launch.cluster_blocks)
                          : grid_of_waves(at, device, launch, usage);
  require_within(launch.grid_shape, kMostGridShape, fmt::format("--{} {}: blocks", asked, at.text(asked)));
  // For one-dimensional blocks, theory checks the device's limit.
  if (block.y * block.z > 1) {
    require_within(block, kMostBlockShape, "--block-size");
    if (block.total() > device.limits.max_threads_per_block)
      throw InputError("--block-size {}: {} threads, and compute capability {} allows {}; make it smaller",
                       to_string(block), block.total(), to_string(device.compute_capability),
                       device.limits.max_threads_per_block);
  }
  launch.grid_blocks = launch.grid_shape.total();
  if (launch.grid_shape.x % launch.cluster_blocks != 0)
    throw InputError("--grid {}: {} blocks along x are no whole clusters of {}", to_string(launch.grid_shape),
                     launch.grid_shape.x, launch.cluster_blocks);
  if (launch.grid_blocks > kMostOfInt)
    throw InputError("{} blocks: a grid has at most {}; give each block more threads", launch.grid_blocks,
                     kMostOfInt);
  return launch;
}

AskedRegisters asked_registers(const Point& at, const Limits& limits) {
  constexpr int kMostRegisters = 255;  // CUDA programming guide, compute capabilities
  if (at.has("min-blocks")) {
    if (at.has("registers"))
      throw InputError("--registers and --min-blocks both cap registers: leave one out");
    const std::int64_t blocks = at.integer("min-blocks", kMostOfInt);
    if (blocks == 0) throw InputError("--min-blocks 0: at least one block is to fit");
    const std::int64_t threads = at.shape("block-size").total();
    const int cap = registers_left(
        limits, static_cast<int>(std::min<std::int64_t>(threads, limits.max_threads_per_block)), blocks);
    if (cap == 0)
      throw InputError("--min-blocks {}: so many blocks of {} threads leave none of {} registers of an SM",
                       blocks, threads, limits.registers_per_sm);
    return {cap, false};
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
      throw InputError("--static-smem {}: a kernel declares at most {} bytes; --dynamic-smem takes more",
                       bytes, kMostStaticBytes);
    if (bytes > 0) build.defines.push_back(fmt::format("OCC_STATIC_SHARED_BYTES={}", bytes));
  }
  std::shared_ptr<RuntimeKernel> kernel = compile_kernel(source, build);
  const int given = kernel->compiled().usage.registers_per_thread;
  if (asked.exactly && given != *asked.cap)
    throw InputError("--registers ={}: the compiler gives {} registers", *asked.cap, given);
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
