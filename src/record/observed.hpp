#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/inferred_work.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// An activity record's time of a launch is longer than its warps are active without a record. Median of the 120 launches
/// of the programs that rules were tuned on, on an H100 (driver 580.159.04, CUDA 13.0, commit d7ea04a; docs/any-program.md):
/// half of those shorter than 12 us have 0.69 to 0.88. CUPTI's time stamps are 0.62 of it (commit 16f4abe, whose counters were
/// read with records); the rest is what records take from kernels of short blocks. It is no cost of a launch and no
/// parameter of a device profile: only work that is inferred from such a time alone depends on it.
inline constexpr double kRecordOverheadUs = 0.75;

/// The note of a record that could not be predicted.
std::string no_prediction(std::string_view why);

/// What is known of a recorded launch that work can be inferred from.
ObservedLaunch observed_of(const CaseRecord& record);

/// Whether work was inferred, by its source: the column work_source, `identity.work_source` of a record.
bool is_inferred_work(std::string_view source);

/// The prediction of a record with work that is inferred from what was observed; empty where that is too
/// little. @throws InputError as launch_on_device() and predict() do
std::optional<ObservedPrediction> observed_prediction(const CaseRecord& record,
                                                      const std::optional<DeviceProfile>& profile);

/// How an inference ended.
enum class Inference {
  predicted,
  too_little,  ///< nothing can be inferred: the record stays as it is
  refused,     ///< theory or the model refuses the launch: a note says why
};

/// Infers the work of a record that lacks it, with its source, and predicts it.
Inference infer_and_predict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

}  // namespace occbench
