#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fleet/deviations.hpp"
#include "fleet_fixture.hpp"
#include "recorded_gpus.hpp"

namespace occbench {
namespace {

// docs/fleet.md states figures of recorded runs and of made-up fleets.

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

double standard_deviation(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

class FleetPage : public Fleet {
 protected:
  /// Of the distances of GPUs, by quantity.
  std::map<std::string, double> spreads_of(const std::vector<Row>& rows) {
    fleet({write("all.csv", text_of(rows)), "--format", "json"});
    std::map<std::string, std::vector<double>> distances;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto gpu = nlohmann::json::parse(line);
      for (const auto& [quantity, distance] : gpu["distances"].items())
        if (!distance.is_null()) distances[quantity].push_back(distance.get<double>());
    }
    std::map<std::string, double> spreads;
    for (const auto& [quantity, values] : distances) spreads[quantity] = standard_deviation(values);
    return spreads;
  }
};

TEST_F(FleetPage, HasTheSpreadsOfRecordedRuns) {
  const std::map<std::string, double> recorded[] = {
      spreads_of(five_recorded_h200s({})), spreads_of(five_h100s()), spreads_of(runs_as_gpus(kH200, "")),
      spreads_of(runs_as_gpus(kGpus, "GPU-57106549"))};
  const std::map<std::string, Cells> page = table_of_page("| quantity | assumed");
  ASSERT_EQ(page.size(), kFleetQuantities.size());
  for (const FleetQuantity quantity : kFleetQuantities) {
    const std::string name(to_string(quantity));
    const Cells& cells = page.at(name);
    EXPECT_EQ(std::stod(cells[0]), natural_spread(quantity).sigma) << name;
    for (std::size_t i = 0; i < std::size(recorded); ++i) {
      const auto found = recorded[i].find(name);
      const std::string said = found == recorded[i].end() ? "" : fmt::format("{:.3f}", found->second);
      EXPECT_EQ(cells[1 + i], said) << name << " " << i;
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
  for (; line != "```" && page; std::getline(page, line)) {
    if (line == "...") continue;
    // The page leaves columns out between the distances and the verdict.
    EXPECT_THAT(out_, testing::HasSubstr(line.substr(0, line.rfind("0  ")))) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 10);
}

TEST_F(FleetPage, HasTheSmallestDistancesThatAreNamed) {
  const std::map<std::string, Cells> page = table_of_page("| GPUs |");
  for (const int gpus : {3, 8, 40, 1000}) {
    fleet({fleet_file(1, gpus, {})});
    const std::size_t begin = out_.find("is named from");
    ASSERT_NE(begin, std::string::npos);
    std::istringstream words(out_.substr(begin + std::string_view("is named from").size()));
    const Cells& cells = page.at(std::to_string(gpus));
    for (std::size_t i = 0; i < kFleetQuantities.size(); ++i) {
      std::string said;
      words >> said;
      EXPECT_EQ(cells[i], said) << gpus << " " << to_string(kFleetQuantities[i]);
    }
  }
}

}  // namespace
}  // namespace occbench
