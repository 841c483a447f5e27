#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fleet/compare.hpp"
#include "fleet_fixture.hpp"
#include "recorded_gpus.hpp"

namespace occbench {
namespace {

// docs/fleet.md states figures of recorded runs.

using Cells = std::vector<std::string>;

/// Cells without spaces, backquotes and thousands separators.
Cells cells_of(std::string line) {
  std::erase_if(line, [](char c) { return c == ' ' || c == '`' || c == ','; });
  Cells cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
  return cells;
}

/// The lines of the page's table whose header begins so, by their first cell.
std::map<std::string, Cells> table_of_page(std::string_view header) {
  std::ifstream page(OCCBENCH_SOURCE_DIR "/docs/fleet.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with(header)) {
  }
  std::getline(page, line);
  std::map<std::string, Cells> table;
  while (std::getline(page, line) && line.starts_with("|")) {
    const Cells cells = cells_of(line);
    table[cells[0]] = Cells(cells.begin() + 1, cells.end());
  }
  return table;
}

class FleetPage : public Fleet {
 protected:
  /// Of the distances of GPUs from each other, by quantity.
  std::map<std::string, double> largest_distances(const std::vector<Row>& rows) {
    fleet({write("all.csv", text_of(rows)), "--format", "json"});
    std::map<std::string, double> largest;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto gpu = nlohmann::json::parse(line);
      for (const auto& [quantity, distance] : gpu["distances"].items()) {
        if (!distance.is_null())
          largest[quantity] = std::max(largest[quantity], std::abs(distance.get<double>()));
      }
    }
    return largest;
  }

  /// Likewise, of all GPUs and of any three of them.
  std::map<std::string, double> largest_of_any_three(const std::vector<Row>& rows) {
    std::map<std::string, double> largest = largest_distances(rows);
    const std::map<std::string, std::vector<Row>> gpus = by_gpu(rows);
    for (auto a = gpus.begin(); a != gpus.end(); ++a) {
      for (auto b = std::next(a); b != gpus.end(); ++b) {
        for (auto c = std::next(b); c != gpus.end(); ++c) {
          std::vector<Row> three = a->second;
          three.insert(three.end(), b->second.begin(), b->second.end());
          three.insert(three.end(), c->second.begin(), c->second.end());
          for (const auto& [quantity, distance] : largest_distances(three))
            largest[quantity] = std::max(largest[quantity], distance);
        }
      }
    }
    return largest;
  }
};

TEST_F(FleetPage, HasTheLargestDistancesOfRecordedRunsWhichAreFarBelowThoseThatAreNamed) {
  const std::map<std::string, double> recorded[] = {
      largest_of_any_three(five_recorded_h200s({})), largest_of_any_three(five_h100s()),
      largest_distances(runs_as_gpus(kH200, "")), largest_distances(runs_as_gpus(kGpus, "GPU-57106549")),
      largest_distances(three_more_h100s())};
  const std::map<std::string, Cells> page = table_of_page("| quantity | named from");
  ASSERT_EQ(page.size(), kFleetQuantities.size());
  for (const FleetQuantity quantity : kFleetQuantities) {
    const FleetQuantityFacts& facts = facts_of(quantity);
    const std::string name(facts.name);
    const Cells& cells = page.at(name);
    EXPECT_EQ(std::stod(cells[0]), facts.named_from) << name;
    for (std::size_t i = 0; i < std::size(recorded); ++i) {
      const auto found = recorded[i].find(name);
      const std::string said = found == recorded[i].end() ? "" : fmt::format("{:.2f}", found->second);
      EXPECT_EQ(cells[1 + i], said) << name << " " << i;
      const double largest = found == recorded[i].end() ? 0 : found->second;
      EXPECT_GE(facts.named_from, 2.5 * largest) << name << " " << i;
    }
  }
}

TEST_F(FleetPage, ShowsWhatACopyWithASlowClockLooksLike) {
  std::vector<Row> rows = five_h100s();
  for (Row copy : five_h100s()) {
    if (!copy.gpu_uuid.starts_with("GPU-57106549")) continue;
    copy.gpu_uuid = "GPU-slow";
    copy.host = "node07";
    slow_clock(copy);
    rows.push_back(std::move(copy));
  }
  fleet({write("all.csv", text_of(rows))});
  std::ifstream page(OCCBENCH_SOURCE_DIR "/docs/fleet.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("out of line: GPU-slow")) {
  }
  std::size_t lines = 0;
  for (; line != "```" && page; std::getline(page, line), ++lines)
    EXPECT_THAT(out_, testing::HasSubstr(line)) << line;
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace occbench
