#include <memory>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

constexpr Command kCommands[] = {
    {"run", "measure this GPU: theory, time and counters of every case of a suite", declare_run},
    {"sweep", "measure a kernel, ours or yours, over block sizes, registers, shared memory and its own axes",
     declare_sweep},
    {"gate", "a candidate against a baseline: pass, regression or no verdict", declare_gate},
    {"fleet", "GPUs of one model against their peers: which is out of line, in what and since when",
     declare_fleet},
    {"merge", "files of rows as one: parts of a run, or the GPUs of a cluster", declare_merge},
    {"report", "recorded rows as one HTML page, or each chart as a picture", declare_report},
    {"calc", "theoretical occupancy, what limits it and what would change it", declare_calc},
    {"predict", "what the counter will read, and where the rest of the occupancy goes", declare_predict},
    {"trace",
     "every kernel that a command launches, unmodified, or that a PyTorch profile has: theory, prediction, "
     "counter",
     nullptr, declare_trace},
    {"explain", "recorded rows: theory, prediction and counter side by side, and where the rest went",
     declare_explain},
    {"calibrate", "measure a device profile, which predictions of this GPU then use", declare_calibrate},
    {"validate", "launches random: how far the predictions of this GPU are off", declare_validate},
    {"devices", "the GPUs of this machine: what the runtime says that bears on occupancy", declare_devices},
    {"columns", "every column of a recorded run and what it means", declare_columns},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

Action declare_columns(CLI::App& parser) {
  const auto format = std::make_shared<std::string>();
  add_format(parser, *format, {"table", "markdown", "csv", "json"},
             "table, markdown (results/README.md), csv or json");
  return [format](Console& console) {
    fmt::print(console.out, "{}", column_list(*format));
    return ExitStatus::done;
  };
}

}  // namespace occbench
