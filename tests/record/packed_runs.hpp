#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "files/input.hpp"
#include "record/csv.hpp"

namespace occbench {

/// The runs of a file under tests/data whose first column, `run`, names them.
inline std::map<std::string, std::vector<Row>> packed_runs(const std::string& name) {
  const std::string file = (std::filesystem::path(OCCBENCH_SOURCE_DIR) / "tests/data" / name).string();
  std::map<std::string, std::vector<Row>> runs;
  for (Row& row : parse_rows(read_text(file), file)) {
    const std::string run = row.extra.front().second;
    row.extra.clear();
    runs[run].push_back(std::move(row));
  }
  return runs;
}

}  // namespace occbench
