#include <map>
#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "record/columns.hpp"

namespace occbench {

Action declare_columns(CLI::App& parser) {
  static const std::map<std::string, ColumnListFormat> kFormats = {{"table", ColumnListFormat::table},
                                                                   {"markdown", ColumnListFormat::markdown},
                                                                   {"csv", ColumnListFormat::csv},
                                                                   {"json", ColumnListFormat::json}};
  auto format = std::make_shared<std::string>("table");
  parser.add_option("--format", *format, "table, markdown (results/README.md), csv or json")
      ->check(CLI::IsMember(kFormats));
  return [format](Console& console) {
    fmt::print(console.out, "{}", column_list(kFormats.at(*format)));
    return ExitStatus::done;
  };
}

}  // namespace occbench
