#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "predict/inferred_work.hpp"
#include "predict/prediction.hpp"
#include "record/case_record.hpp"

namespace occbench {

// A recorded case has all that theory and prediction need, so both can be computed again anywhere.

/// A launch on a device, as theory and prediction need it.
struct LaunchOnDevice {
  Launch launch;
  Usage usage;
  Limits limits;
  int sm_count = 0;
};

/// Theoretical occupancy of the launch.
Occupancy theoretical_occupancy(const LaunchOnDevice& on);

/// Predicts the launch from the work of its blocks.
/// @param first_gpc  the GPC that it begins with; empty = not known
/// @throws InputError as predict() does
Prediction predict(const LaunchOnDevice& on, const Work& work, const ChosenProfile& profile,
                   std::optional<int> first_gpc, WorkOrigin origin = WorkOrigin::given);

/// The launch that a case records, with the limits of its compute capability.
/// @throws InputError naming the missing column, or a compute capability that the limits table lacks
LaunchOnDevice launch_on_device(const CaseRecord& record);

/// The GPU that a case records. Fields that the row lacks are empty or 0.
GpuIdentity identity_of(const Provenance& provenance);

/// The profile that a case's prediction names: NAME.profile beside the rows, if it was made on the case's GPU or
/// names no GPU, else a built-in one; else the best known one for its GPU. @throws InputError if that file is
/// malformed
ChosenProfile profile_of(const CaseRecord& record);

/// Re-predicts a case from its launch, first GPC, usage, work and GPU, with the given profile, else with
/// profile_of(). Inferred work is inferred again. A case without work (the kernel's is not known, or the case is
/// several launches) loses its prediction. @throws InputError as launch_on_device() and predict() do.
void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

/// A case's predicted occupancy with its interval: "predicted 75.2 % (90 %: 62 to 92; ...)", or "reconstructed 75.2 %
/// ..."; empty if the case has none.
std::string prediction_text(const CaseRecord& record);

/// A line for each GPU whose predictions used a profile that was not made on it (remark_on()).
std::set<std::string> remarks_on_profiles(std::span<const CaseRecord> cases);

// A prediction uses no measurement of the launch it is compared with. Recorded times are of launches that were not
// counted, so the work of a recorded kernel is inferred from them. Without times it is taken from the active cycles
// of the counted launches themselves, or from the samples that gave their occupancy. Such a prediction is
// `reconstructed`, and says nothing about how good predictions are.

/// An activity record's time of a launch is longer than its warps are active without a record. Median of the 120
/// launches of the programs on which rules were tuned, on an H100 (driver 580.159.04, CUDA 13.0, commit d7ea04a;
/// docs/notes/tracing.md); half of those shorter than 12 us have 0.69 to 0.88. CUPTI's time stamps are 0.62 of it
/// (commit 16f4abe, whose counters were read with records). The rest is what records cost kernels of short blocks. It
/// is not a cost of a launch and not a parameter of a device profile: only work that is inferred from such a time
/// depends on it. Times by samples do not include it.
inline constexpr double kRecordOverheadUs = 0.75;
/// Active SM cycles in such a time, at least 1.
double cycles_of_record(double time_us, double clock_mhz);

/// Notes how certain a prediction is whose profile was made on no such GPU, and which figures it assumes.
/// @param work  if it uses device memory, the assumed bandwidth is noted
void note_generic(std::string& note, const Launch& launch, const std::optional<Work>& work,
                  const ChosenProfile& chosen);
/// Notes that drawn work is one draw.
void note_draw(std::string& note, const Work& work);

/// The note of a record that could not be predicted.
std::string no_prediction(std::string_view why);

/// Measurements of launches like a recorded one. If it was counted, times are converted at the GPU's highest clock,
/// because `sm_clock_mhz` was read with its counters. Active cycles are left out if there is a time.
/// @param profile  names the GPU if the record does not
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

/// Errors of predictions and theory against the counter, over the launches of one kind.
struct ErrorsOfKind {
  std::string kind;
  std::vector<double> theory;      ///< |theoretical - counter|, points
  std::vector<double> predicted;   ///< |predicted - counter|, points
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles
  std::vector<double> widths;      ///< of the 90 % intervals, points
  int inside = 0;                  ///< launches whose counter is inside
};

double mean(const std::vector<double>& values);

/// Kinds in the order of their first cases. @pre all cases have theory, a prediction and a counter's value
std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases);

}  // namespace occbench
