#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "record/csv.hpp"

namespace occbench {

/// What `occbench ARGUMENTS` printed and how it ended.
struct Outcome {
  ExitStatus status;
  std::string out;
  std::string err;
};

inline Outcome run_command(std::span<const char* const> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const ExitStatus status = run_occbench(arguments, console);
  return {status, out.str(), err.str()};
}

inline Outcome run_command(std::initializer_list<const char*> arguments) {
  return run_command(std::span(arguments.begin(), arguments.size()));
}

inline Outcome run_command(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return run_command(pointers);
}

inline std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

inline Outcome run_command(const std::string& words) {
  return run_command(words_of(words));
}

/// What a command says on standard error that ends as wrong use.
inline std::string refusal(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, ExitStatus::usage) << outcome.out;
  return outcome.err;
}
inline std::string refusal(std::initializer_list<const char*> arguments) {
  return refusal(run_command(arguments));
}
inline std::string refusal(const std::string& words) {
  return refusal(run_command(words));
}

/// What a command prints that does what it was asked.
inline std::string printed(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  return outcome.out;
}
inline std::string printed(std::initializer_list<const char*> arguments) {
  return printed(run_command(arguments));
}
inline std::string printed(const std::string& words) {
  return printed(run_command(words));
}

/// A cell of what a command wrote as CSV. @param row from 0
inline std::string table_cell(const CsvTable& table, std::size_t row, std::string_view name) {
  const auto column = std::ranges::find(table.names, name);
  return column == table.names.end()
             ? "no such column"
             : table.rows.at(row).at(static_cast<std::size_t>(column - table.names.begin()));
}

}  // namespace occbench
