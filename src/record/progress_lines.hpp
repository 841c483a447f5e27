#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace occbench {

// How a measuring program tells whoever started it how far it is: a line when a case begins, and one when its row
// is in the file. The file of rows is the only record of what was measured.

/// A case has begun, or has its row in the file. One that begins and does not end took the process with it.
struct CaseProgress {
  std::string full_name;  ///< experiment/case
  bool ended = false;
};

/// "begun NAME" or "ended NAME", with its line end.
inline std::string progress_line(const CaseProgress& progress) {
  return (progress.ended ? "ended " : "begun ") + progress.full_name + "\n";
}

/// Of a line without its end; empty for what progress_line does not write.
inline std::optional<CaseProgress> parse_progress_line(std::string_view line) {
  const bool ended = line.starts_with("ended ");
  if (!ended && !line.starts_with("begun ")) return std::nullopt;
  return CaseProgress{std::string(line.substr(line.find(' ') + 1)), ended};
}

}  // namespace occbench
