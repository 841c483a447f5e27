#include "record/progress_lines.hpp"

#include <fmt/core.h>

namespace occbench {
namespace {

constexpr std::string_view kBegun = "begun ";
constexpr std::string_view kEnded = "ended ";

}  // namespace

std::string progress_line(const CaseProgress& progress) {
  return fmt::format("{}{}\n", progress.ended ? kEnded : kBegun, progress.full_name);
}

std::optional<CaseProgress> parse_progress_line(std::string_view line) {
  if (line.starts_with(kBegun)) return CaseProgress{std::string(line.substr(kBegun.size())), false};
  if (line.starts_with(kEnded)) return CaseProgress{std::string(line.substr(kEnded.size())), true};
  return std::nullopt;
}

}  // namespace occbench
