#include "cli/batch_columns.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

/// What a row of a batch asks, and what names and describes it.
constexpr std::array<std::string_view, 14> kRead = {"compute_capability",
                                                    "block_threads",
                                                    "registers_per_thread",
                                                    "static_shared_bytes",
                                                    "dynamic_shared_bytes",
                                                    "carveout_pct",
                                                    "barriers",
                                                    "cluster_blocks",
                                                    "grid_blocks",
                                                    "sm_count",
                                                    "case",
                                                    "kernel",
                                                    "parameters",
                                                    "note"};

/// Options and common short names, as columns.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kOtherNames = {{
    {"cc", "compute_capability"},
    {"arch", "compute_capability"},
    {"block_size", "block_threads"},
    {"threads", "block_threads"},
    {"registers", "registers_per_thread"},
    {"regs", "registers_per_thread"},
    {"static_smem", "static_shared_bytes"},
    {"dynamic_smem", "dynamic_shared_bytes"},
    {"smem", "dynamic_shared_bytes"},
    {"shared_memory", "dynamic_shared_bytes"},
    {"cluster", "cluster_blocks"},
    {"grid", "grid_blocks"},
}};

bool is_counter(std::string_view name) {
  return name.find("__") != std::string_view::npos && name.find('.') != std::string_view::npos;
}

/// Letters that two words share in the same order, at most.
std::size_t common_letters(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1, 0);
  for (const char letter : one) {
    std::size_t diagonal = 0;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const std::size_t above = row[i + 1];
      row[i + 1] = letter == other[i] ? diagonal + 1 : std::max(above, row[i]);
      diagonal = above;
    }
  }
  return row.back();
}

std::string_view nearest_to(std::string_view name) {
  const auto other =
      std::ranges::find(kOtherNames, name, &std::pair<std::string_view, std::string_view>::first);
  if (other != kOtherNames.end()) return other->second;
  return *std::ranges::max_element(kRead, {}, [name](std::string_view known) {
    return 2.0 * static_cast<double>(common_letters(name, known)) /
           static_cast<double>(name.size() + known.size());
  });
}

}  // namespace

void check_batch_columns(std::span<const std::string> names, std::span<const std::string> answers,
                         std::string_view source) {
  for (const std::string& name : names) {
    if (find_column(name) != nullptr || is_counter(name) || std::ranges::find(answers, name) != answers.end())
      continue;
    throw InputError(
        fmt::format("{}, line 1: calc does not know the column '{}'; the nearest is {} (it reads {})", source,
                    name, nearest_to(name), fmt::join(kRead, ", ")));
  }
}

}  // namespace occbench
