#pragma once

#include <optional>

#include "record/case_record.hpp"

namespace occbench {

/// All that a diagnosis sees of a launch: not which experiment, case, kernel, variant or parameters it is.
struct LaunchFacts {
  const Limits* limits = nullptr;  ///< of the GPU; nullptr = not known
  int sm_count = 0;                ///< 0 = not known
  std::optional<Launch> launch{};
  std::optional<Compiled> compiled{};
  std::optional<double> theoretical_pct{};
  std::optional<Work> work{};     ///< that the prediction is made for
  bool work_is_inferred = false;  ///< all blocks are taken as equal
  std::optional<Prediction> prediction{};
  /// Without a prediction: points that the counter loses to the last wave if all blocks take as long.
  std::optional<double> tail_of_equal_blocks{};
  Readings readings{};
  Times times{};
};

/// Of a record whose device is elsewhere: the limits are those that the table has of its compute capability.
LaunchFacts facts_of(const CaseRecord& record);

/// Of a record whose device is here. @param limits  the device's own, which the table may lack
LaunchFacts facts_of(const CaseRecord& record, const Limits* limits);

}  // namespace occbench
