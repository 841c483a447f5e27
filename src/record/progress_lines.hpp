#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace occbench {

// A measuring program reports its progress to its parent: a line when a case begins, and one when its row is in the
// file. Only the file of rows records what was measured.

/// A case has begun, or has its row in the file. A case that begins and does not end has ended the process.
struct CaseProgress {
  std::string full_name;  ///< experiment/case
  bool ended = false;
};

/// "begun NAME" or "ended NAME", with its line end.
inline std::string progress_line(const CaseProgress& progress) {
  return (progress.ended ? "ended " : "begun ") + progress.full_name + "\n";
}

/// Parses a line without its end; empty for lines that progress_line does not write.
inline std::optional<CaseProgress> parse_progress_line(std::string_view line) {
  const bool ended = line.starts_with("ended ");
  if (!ended && !line.starts_with("begun ")) return std::nullopt;
  return CaseProgress{std::string(line.substr(line.find(' ') + 1)), ended};
}

}  // namespace occbench
