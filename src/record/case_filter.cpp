#include "record/case_filter.hpp"

#include <regex>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

std::string full_name(const Row& row) {
  return fmt::format("{}/{}", row.experiment, row.case_);
}

std::function<bool(const std::string&)> case_filter(const std::string& text) {
  if (text.empty() || text == "all") {
    return [](const std::string&) { return true; };
  }
  const bool negative = text.front() == '-';
  try {
    const std::regex pattern(text.substr(negative ? 1 : 0), std::regex::extended);
    return [=](const std::string& name) { return std::regex_search(name, pattern) != negative; };
  } catch (const std::regex_error& error) {
    throw InputError(fmt::format("'{}' is not a regular expression: {}", text, error.what()));
  }
}

}  // namespace occbench
