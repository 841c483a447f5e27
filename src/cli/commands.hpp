#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace occbench {

// One subcommand is one file, one line here and one in the table of commands.cpp.
Action declare_calc(CLI::App& parser);
Action declare_calibrate(CLI::App& parser);
Action declare_columns(CLI::App& parser);
Action declare_explain(CLI::App& parser);
Action declare_fleet(CLI::App& parser);
Action declare_gate(CLI::App& parser);
Action declare_devices(CLI::App& parser);
Action declare_merge(CLI::App& parser);
Action declare_predict(CLI::App& parser);
Action declare_report(CLI::App& parser);
Action declare_run(CLI::App& parser);
Action declare_sweep(CLI::App& parser);
Action declare_trace(CLI::App& parser, std::vector<std::string> words);
Action declare_validate(CLI::App& parser);

}  // namespace occbench
