#pragma once

#include <span>
#include <string>

#include "cli/calc_batch.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// Limits of compute capabilities. As CSV and JSON an object each, named as limit_columns, with
/// `carveouts_kb` last. As a table one capability is a line a limit with its meaning; several are a line
/// each, with what most configurations are limited by.
std::string limits_text(std::span<const Limits> all, AnswerFormat format);

}  // namespace occbench
