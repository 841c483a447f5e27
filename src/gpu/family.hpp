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

/// A kernel and what a sweep of it can vary.
struct Family {
  std::string name;
  std::string description;  ///< one sentence
  std::vector<SweepAxis> axes;

  /// The case of one configuration: launch, work, usage and how it is made ready. Compiles where it has to,
  /// and needs no GPU where Variant::compiled is set. What names the case is the caller's to add.
  /// @throws InputError for what cannot be, DoesNotCompile, GpuUnavailable
  std::function<Case(const Point& at, const Device& device)> configure;
};

/// Axes of every launch with these values where the user gives none: block-size, grid, threads, waves,
/// dynamic-smem, carveout, cluster.
std::vector<SweepAxis> launch_axes(std::string block_size, std::string waves);

/// The axes `registers` and `min-blocks`, which asked_registers() reads, and `static-smem`.
SweepAxis registers_axis();
SweepAxis min_blocks_axis();
SweepAxis static_shared_axis();

/// `more` behind `axes`.
std::vector<SweepAxis> joined(std::vector<SweepAxis> axes, std::span<const SweepAxis> more);

/// The launch that a configuration asks for; `waves` counts in full waves of a kernel of this usage.
/// @param own_cluster  blocks of the clusters that the kernel is compiled for, which a launch without clusters gets; 0 = none
/// @throws InputError for a value that no launch can have
Launch launch_at(const Point& at, const Device& device, const Usage& usage, int own_cluster = 0);

/// What a configuration asks of the registers of a thread.
struct AskedRegisters {
  std::optional<int> cap;  ///< as -maxrregcount; empty: as the compiler likes it
  bool exactly = false;    ///< and no other count will do
};
/// @throws InputError where both axes are given, or so many blocks leave no register for a thread
AskedRegisters asked_registers(const Point& at, const Limits& limits);

/// Compiles for the device with the registers and the static shared memory that the configuration asks for.
/// @throws InputError where it asks for an exact count and the compiler gives another, DoesNotCompile
std::shared_ptr<RuntimeKernel> compile_at(const Point& at, const Device& device, const KernelSource& source,
                                          KernelBuild build);

/// A case of a kernel that is compiled already, without work.
/// @param variant  names the function on the row
/// @param prepare  gets a variant whose function is loaded
Case case_of(const Kernel& kernel, std::string_view variant, const std::shared_ptr<RuntimeKernel>& code,
             const Launch& launch, Prepare prepare);

/// A variant that owns its name, for one case.
std::shared_ptr<const Variant> built_variant(std::string name, const void* function,
                                             std::optional<Compiled> compiled);

}  // namespace occbench
