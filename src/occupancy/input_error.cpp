#include "occupancy/input_error.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace occbench {
namespace {

/// Levenshtein distance: letters to insert, delete or replace.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> known,
                                       std::size_t count) {
  std::vector<std::tuple<bool, bool, std::size_t, std::string_view>> ranked;
  for (const std::string& name : known) {
    ranked.emplace_back(!name.starts_with(wanted), name.find(wanted) == std::string::npos,
                        edit_distance(wanted, name), name);
  }
  const std::size_t kept = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < kept; ++i) nearest.emplace_back(std::get<std::string_view>(ranked[i]));
  return nearest;
}

}  // namespace occbench
