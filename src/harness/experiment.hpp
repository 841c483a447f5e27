#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/family.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {

/// Device properties for an experiment that declares its cases, so that sizes come from the limits and the code has
/// nothing about one GPU.
class Planner {
 public:
  explicit Planner(const Device& device) : device_(&device) {}

  const Device& device() const {
    return *device_;
  }
  const Limits& limits() const {
    return device_->limits;
  }

  /// Theoretical occupancy of a variant on this device. @throws GpuUnavailable if there is no code for it
  Occupancy occupancy(const Kernel& kernel, std::string_view variant, const Launch& launch) const;

  /// Blocks of one full wave: SMs x blocks per SM.
  std::int64_t wave(const Kernel& kernel, std::string_view variant, const Launch& launch) const;

  /// Blocks of `waves` waves, rounded to the nearest whole block, at least 1.
  std::int64_t grid(const Kernel& kernel, std::string_view variant, const Launch& launch, double waves) const;

  /// Cause of the loss from the grid alone, as the column expected_cause names it: small_grid, tail or none.
  std::string cause_of_grid(const Kernel& kernel, std::string_view variant, const Launch& launch) const;

  /// Cause of the loss from a kernel's limiters alone, likewise: `limit` if theory is below 100 %, else `otherwise`.
  std::string cause_of_limit(const Kernel& kernel, std::string_view variant, const Launch& launch,
                             const std::string& limit, const std::string& otherwise) const;

  /// Whether a variant has local memory, where spilled registers go.
  bool has_local_memory(const Kernel& kernel, std::string_view variant) const;

  /// Number of blocks with `times` as many threads as all SMs can hold at once: the same total work for any kernel
  /// and block size, whatever its occupancy.
  std::int64_t blocks_of_full_device(int block_threads, int times) const;

  /// Least dynamic shared memory per block with which an SM holds exactly `blocks` blocks; empty if no amount does.
  std::optional<std::int64_t> shared_bytes_for(const Kernel& kernel, std::string_view variant,
                                               const Launch& launch, int blocks) const;

  /// One whole wave of `launch` with exactly `blocks_per_sm` blocks on each SM, limited by padding dynamic shared
  /// memory; empty if no amount does.
  std::optional<Launch> padded_wave(const Kernel& kernel, std::string_view variant, const Launch& launch,
                                    int blocks_per_sm) const;

 private:
  const Device* device_;
};

/// One question about the hardware: a file in bench/.
struct Experiment {
  std::string_view name;    ///< as in the column `experiment`
  std::string_view claim;   ///< the documented behaviour, one sentence
  std::string_view source;  ///< the source of the claim
  std::function<std::vector<Case>(const Planner&)> cases;
  std::function<std::vector<Family>()> families = {};  ///< its axes for `occbench sweep`
};

/// The experiment of a program that has one (main.cpp).
extern const Experiment experiment;

/// The case's name, unique in its experiment: kernel/variant/key=value/...
std::string case_name(const Case& chosen);

/// From `first` to `last` in steps, both included.
std::vector<double> steps(double first, double last, double step);

}  // namespace occbench
