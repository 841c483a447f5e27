#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "files/output.hpp"
#include "made_up_fleet.hpp"

namespace occbench {

using Causes = std::map<std::string, std::set<std::string>>;  // by UUID

/// Runs `occbench fleet` on files of rows in a folder that goes with the test.
class Fleet : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& rows) {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << csv_header() << rows;
    return file.string();
  }

  ExitStatus fleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fleet");
    const Outcome outcome = run_command(arguments);
    out_ = outcome.out;
    err_ = outcome.err;
    return outcome.status;
  }

  /// What `occbench fleet --format json` names, notes aside.
  Causes causes_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    fleet(arguments);
    Causes causes;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      for (const auto& finding : object["findings"]) {
        if (!finding["note"].get<bool>())
          causes[object["gpu_uuid"]].insert(finding["cause"].get<std::string>());
      }
    }
    return causes;
  }

  /// A fleet of so many GPUs with faults of some of them.
  std::string fleet_file(unsigned seed, int gpus, const std::map<int, Fault>& faults) {
    MadeUpFleet fleet(seed);
    std::string text;
    for (int number = 0; number < gpus; ++number) {
      const auto fault = faults.find(number);
      text += text_of(fleet.gpu(number, fault == faults.end() ? Fault() : fault->second));
    }
    return write(fmt::format("fleet-{}-{}.csv", seed, gpus), text);
  }

  TemporaryFolder folder_;
  std::string out_, err_;
};

}  // namespace occbench
