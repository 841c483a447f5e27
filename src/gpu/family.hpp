#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "axes/axis.hpp"
#include "axes/point.hpp"
#include "gpu/kernel.hpp"
#include "gpu/runtime_kernel.hpp"

namespace occbench {

/// A kernel and the axes that a sweep can vary.
struct Family {
  std::string name;
  std::string description;  ///< one sentence
  std::vector<SweepAxis> axes;

  /// The case of one configuration: launch, work, usage and preparation. Compiles if needed, and needs no GPU
  /// if Variant::compiled is set. The caller adds the case's name.
  /// @throws InputError for an impossible configuration, DoesNotCompile, GpuUnavailable
  std::function<Case(const Point& at, const Device& device)> configure;
};

/// Axes of every launch, with these values if the user gives none: block-size, grid, threads, waves,
/// dynamic-smem, carveout, cluster.
std::vector<SweepAxis> launch_axes(std::string block_size, std::string waves);

/// The axes `registers` and `min-blocks`, which asked_registers() reads, and `static-smem`.
SweepAxis registers_axis();
SweepAxis min_blocks_axis();
SweepAxis static_shared_axis();

/// `axes`, then `more`.
std::vector<SweepAxis> joined(std::vector<SweepAxis> axes, std::span<const SweepAxis> more);

/// The launch that a configuration asks for; `waves` counts in full waves of a kernel of this usage.
/// @param own_cluster  compiled cluster size of the kernel, used if the launch has no clusters; 0 = none
/// @throws InputError for a value that is not possible in a launch
Launch launch_at(const Point& at, const Device& device, const Usage& usage, int own_cluster = 0);

/// Registers per thread that a configuration asks for.
struct AskedRegisters {
  std::optional<int> cap;  ///< as -maxrregcount; empty: the compiler decides
  bool exactly = false;    ///< only this count is accepted
};
/// @throws InputError if both axes are given, or so many blocks leave no register for a thread
AskedRegisters asked_registers(const Point& at, const Limits& limits);

/// Compiles for the device with the registers and the static shared memory that the configuration asks for.
/// @throws InputError if it asks for an exact count and the compiler gives another, DoesNotCompile
std::shared_ptr<RuntimeKernel> compile_at(const Point& at, const Device& device, const KernelSource& source,
                                          KernelBuild build);

/// A case of an already compiled kernel, without work.
/// @param variant  name of the function on the row
/// @param prepare  receives a variant whose function is loaded
Case case_of(const Kernel& kernel, std::string_view variant, const std::shared_ptr<RuntimeKernel>& code,
             const Launch& launch, Prepare prepare);

/// A variant that owns its name, for one case.
std::shared_ptr<const Variant> built_variant(std::string name, const void* function,
                                             std::optional<Compiled> compiled);

}  // namespace occbench
