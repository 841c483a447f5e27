#pragma once

#include <optional>
#include <span>

#include "record/row.hpp"
#include "schedule/inferred_work.hpp"

namespace occbench {

/// An activity record's time of a launch is longer than its warps are active. Seen on an H100 (driver
/// 580.159.04, CUDA 13.0) of a kernel that spins for a known time.
inline constexpr double kRecordOverheadUs = 0.5;

/// What a row knows of its launch that work can be inferred from.
ObservedLaunch observed_of(const Row& row);

/// Whether a row's work was inferred: the column work_source says so.
bool has_inferred_work(const Row& row);

/// The prediction of a row with work that is inferred from what it observed; empty where that is too little.
/// @throws InputError as prediction_of() does
std::optional<ObservedPrediction> observed_prediction(const Row& row,
                                                      const std::optional<DeviceProfile>& profile);

/// Infers the work of a row that lacks it, with its source, and predicts it. Where nothing can be inferred
/// the row stays as it is; where theory refuses the launch a note says why.
void infer_and_predict(Row& row, const std::optional<DeviceProfile>& profile = std::nullopt);

}  // namespace occbench
