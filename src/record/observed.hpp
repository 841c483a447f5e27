#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/inferred_work.hpp"
#include "record/case_record.hpp"

namespace occbench {

// A prediction has nothing in it that was measured of the launch it is compared with. Times are those of launches
// that were not counted, so the work of a recorded kernel is inferred from them. Where there are none, it is taken
// from the active cycles of the counted launches themselves: such a prediction is `reconstructed`, and says nothing
// about how good predictions are.

/// An activity record's time of a launch is longer than its warps are active without a record. Median of the 120 launches
/// of the programs that rules were tuned on, on an H100 (driver 580.159.04, CUDA 13.0, commit d7ea04a; docs/notes/tracing.md):
/// half of those shorter than 12 us have 0.69 to 0.88. CUPTI's time stamps are 0.62 of it (commit 16f4abe, whose counters were
/// read with records); the rest is what records take from kernels of short blocks. It is no cost of a launch and no
/// parameter of a device profile: only work that is inferred from such a time depends on it.
inline constexpr double kRecordOverheadUs = 0.75;

/// The note of a record that could not be predicted.
std::string no_prediction(std::string_view why);

/// What is known of launches like a recorded one. Where it was counted, times are read at the highest clock of its GPU, since
/// `sm_clock_mhz` was read with its counters. Active cycles are left out where there is a time.
/// @param profile  names the GPU where the record does not
ObservedLaunch observed_of(const CaseRecord& record, const DeviceProfile& profile);

/// Whether work was inferred or reconstructed, by the column work_source.
bool is_inferred_work(std::string_view source);

/// Whether it was reconstructed from the launch that the prediction is compared with.
bool is_reconstructed_work(std::string_view source);

/// How an inference ended.
enum class Inference {
  predicted,
  too_little,  ///< nothing can be inferred: the record stays as it is
  refused,     ///< theory or the model refuses the launch: a note says why
};

/// Infers the work of a record that lacks it, or whose work was inferred, and predicts it.
Inference infer_and_predict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

}  // namespace occbench
