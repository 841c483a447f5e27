#pragma once

#include <cstdint>
#include <vector>

namespace occbench {

/// The same on every machine and in every run.
std::vector<std::uint32_t> random_words(std::size_t count);

}  // namespace occbench
