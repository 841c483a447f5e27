#pragma once

#include <optional>
#include <span>
#include <string>

#include "record/case_record.hpp"
#include "record/kernel_library.hpp"

namespace occbench {

/// Another build of a launch's kernel: the same useful work in the same launch, with other registers and spills.
struct FasterBuild {
  std::string variant;  ///< as the column
  int registers_per_thread = 0;
  double achieved_pct = 0;
  double time_us = 0;
};

/// All that a diagnosis sees of a launch: not which experiment, case, variant or parameters it is. Of its kernel it
/// sees which library's it is, for remedies alone.
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
  /// Without a counter of them: the most cycles that an SM can have been active, by the launch's time.
  std::optional<double> most_cycles_active{};
  Readings readings{};
  Times times{};
  ProgramUse program{};
  const KernelLibrary* library = nullptr;  ///< nullptr = the kernel is the user's own
  std::optional<FasterBuild> faster{};     ///< of those in the same file the fastest
};

/// Of a record whose device is elsewhere: the limits are those that the table has of its compute capability.
LaunchFacts facts_of(const CaseRecord& record);

/// Of a record whose device is here. @param limits  the device's own, which the table may lack
LaunchFacts facts_of(const CaseRecord& record, const Limits* limits);

/// The fastest other build of a record's kernel among `records`, where it takes at most 0.95 of the time. Builds are
/// known to be of one kernel by equal experiment, kernel, parameters, work, launch and useful work per launch, and by
/// registers and spilled bytes that differ.
std::optional<FasterBuild> faster_build_of(const CaseRecord& record, std::span<const CaseRecord> records);

}  // namespace occbench
