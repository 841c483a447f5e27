#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "occupancy/limits.hpp"

namespace occbench {

/// A limit of a compute capability as `occbench calc --limits` names it.
struct LimitColumn {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  std::int64_t (*value)(const Limits&);
};

/// Every number of a line of the limits table, in the order of print. The carveouts, which are several, are not
/// among them.
std::span<const LimitColumn> limit_columns();

}  // namespace occbench
