#pragma once

#include <optional>

#include "record/progress_lines.hpp"

namespace occbench {

/// Tells whoever started this program how far it is. What cannot be told costs nothing else.
class ProgressWriter {
 public:
  /// @param descriptor  to write to; empty: nobody listens
  /// @throws InputError if it is not open
  explicit ProgressWriter(std::optional<int> descriptor);

  void tell(const CaseProgress& progress);

 private:
  std::optional<int> descriptor_;
};

}  // namespace occbench
