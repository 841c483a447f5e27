#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace occbench {

/// Threads of a block, or blocks of a grid, along x, y and z. All 0: empty.
struct Shape {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;

  bool empty() const {
    return x == 0;
  }
  std::int64_t total() const {
    return x * y * z;
  }
  auto operator<=>(const Shape&) const = default;
};

/// CUDA counts threads, registers, barriers and blocks by this type.
inline constexpr int kMostOfInt = std::numeric_limits<int>::max();

/// The most along each dimension. Source: CUDA C++ Programming Guide, table "Technical Specifications per
/// Compute Capability", the same from 3.0 on.
inline constexpr Shape kMostBlockShape{1024, 1024, 64};
inline constexpr Shape kMostGridShape{kMostOfInt, 65'535, 65'535};

/// Reads "256", "16x16" or "8x8x4"; omitted dimensions are 1.
/// @param what  for the message: "--block-size"
/// @throws InputError if the text is not a shape, a dimension is 0, or the total is more than 2^53
Shape parse_shape(std::string_view text, std::string_view what);

/// "256", "16x16", "8x8x4": without ones at the end.
std::string to_string(const Shape& shape);

/// @throws InputError with dimension, value and limit if one is more than `most` allows
void require_within(const Shape& shape, const Shape& most, std::string_view what);

/// The choices of a caller that launches a kernel.
struct Launch {
  int block_threads = 0;                  ///< threads per block, 1 to 1024 (512 on compute capability 1.x)
  std::int64_t grid_blocks = 0;           ///< blocks in the grid; 0 if the question is only about the SM
  int cluster_blocks = 1;                 ///< blocks per cluster, 1 without clusters
  std::int64_t dynamic_shared_bytes = 0;  ///< dynamic shared memory per block, bytes
  std::optional<int> carveout_pct{};  ///< preferred shared-memory carveout, 0 to 100 % of the SM's maximum;
                                      ///< empty = the driver's default
  Shape block_shape = {};             ///< its total is block_threads; empty: all along x
  Shape grid_shape = {};              ///< its total is grid_blocks; empty: all along x

  bool operator==(const Launch&) const = default;
};

/// The resources that a compiled kernel needs of an SM, as the compiler decided.
struct Usage {
  int registers_per_thread = 0;                          ///< 0 to 255
  std::int64_t static_shared_bytes = 0;                  ///< static shared memory per block, bytes
  std::optional<std::int64_t> local_bytes_per_thread{};  ///< stack and spills, bytes; empty = not known
  int barriers = 0;                                      ///< named barriers per block, 0 to 16

  bool operator==(const Usage&) const = default;
};

/// A kernel's usage, and its code for a device.
struct Compiled {
  Usage usage;
  std::string code_architecture;  ///< "sm_90", or "sm_90 from compute_75" if the driver compiled the PTX
  std::optional<std::int64_t> spill_bytes =
      {};  ///< spill stores plus loads, as the assembler reported them at build

  bool operator==(const Compiled&) const = default;
};

}  // namespace occbench
