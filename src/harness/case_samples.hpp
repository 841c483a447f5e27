#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/case_record.hpp"
#include "record/row.hpp"

namespace occbench {

/// The readings behind a case's medians, in the order in which they were added.
class CaseSamples {
 public:
  explicit CaseSamples(const CaseIdentity& of) : experiment_(of.experiment), case_name_(of.name) {}

  void add(std::string_view quantity, std::int64_t index, double value);

  /// Those of the values that are numbers; the index is the value's place.
  void add(std::string_view quantity, std::span<const double> values);

  const std::vector<Sample>& all() const {
    return samples_;
  }

 private:
  std::string experiment_;
  std::string case_name_;
  std::vector<Sample> samples_;
};

}  // namespace occbench
