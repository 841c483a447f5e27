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

// A recorded case says everything that theory and prediction need: both can be computed again anywhere.

/// A launch on a device, as theory and prediction need it.
struct LaunchOnDevice {
  Launch launch;
  Usage usage;
  Limits limits;
  int sm_count = 0;
};

/// Theoretical occupancy of it.
Occupancy theoretical_occupancy(const LaunchOnDevice& on);

/// What is predicted for it from what its blocks do.
/// @param first_gpc  the GPC that it begins with; empty = not known
/// @throws InputError as predict() does
Prediction predict(const LaunchOnDevice& on, const Work& work, const ChosenProfile& profile,
                   std::optional<int> first_gpc, WorkOrigin origin = WorkOrigin::given);

/// The launch that a case records, with the limits table's line of its compute capability.
/// @throws InputError naming the column that is needed and lacking, or a compute
/// capability that the table lacks
LaunchOnDevice launch_on_device(const CaseRecord& record);

/// The GPU that a case records. What the row does not say is empty or 0.
GpuIdentity identity_of(const Provenance& provenance);

/// The profile that a case's prediction names: NAME.profile beside the rows, if it was made on the case's GPU
/// or on no GPU in particular, else a built-in one; else the best that is known of its GPU.
/// @throws InputError if that file is malformed
ChosenProfile profile_of(const CaseRecord& record);

/// Predicts a case again, from its launch, the GPC that it began with, usage, work and GPU, with the given
/// profile, else with profile_of() it. Inferred work is inferred again. A case without work (no kernel's work is known, or the
/// case is several launches) loses the prediction that it had. @throws InputError as launch_on_device() and predict() do.
void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

/// What a case's prediction says of occupancy, with its interval: "predicted 75.2 % (90 %: 62 to 92; ...)", or
/// "reconstructed 75.2 % ..."; empty where the case has none.
std::string prediction_text(const CaseRecord& record);

/// A line for each GPU that predictions of cases did not know by a profile of its own (remark_on()).
std::set<std::string> remarks_on_profiles(std::span<const CaseRecord> cases);

// A prediction has nothing in it that was measured of the launch it is compared with. Times are those of launches
// that were not counted, so the work of a recorded kernel is inferred from them. Where there are none, it is taken
// from the active cycles of the counted launches themselves, or from the samples that say their occupancy: such a
// prediction is `reconstructed`, and says nothing about how good predictions are.

/// An activity record's time of a launch is longer than its warps are active without a record. Median of the 120 launches
/// of the programs that rules were tuned on, on an H100 (driver 580.159.04, CUDA 13.0, commit d7ea04a; docs/notes/tracing.md):
/// half of those shorter than 12 us have 0.69 to 0.88. CUPTI's time stamps are 0.62 of it (commit 16f4abe, whose counters were
/// read with records); the rest is what records take from kernels of short blocks. It is no cost of a launch and no
/// parameter of a device profile: only work that is inferred from such a time depends on it. Times by samples
/// have none of it.
inline constexpr double kRecordOverheadUs = 0.75;
/// Cycles that SMs are active in such a time, at least 1.
double cycles_of_record(double time_us, double clock_mhz);

/// Says of a prediction with a profile that was made on no such GPU how sure it is, and what it takes for known.
/// @param work  that uses device memory has its bandwidth told
void note_generic(std::string& note, const Launch& launch, const std::optional<Work>& work,
                  const ChosenProfile& chosen);
/// Says of drawn work that it is one draw.
void note_draw(std::string& note, const Work& work);

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

/// How far predictions and theory are from the counter, over the launches of one kind.
struct ErrorsOfKind {
  std::string kind;
  std::vector<double> theory;      ///< |theoretical - counter|, points
  std::vector<double> predicted;   ///< |predicted - counter|, points
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles
  std::vector<double> widths;      ///< of the 90 % intervals, points
  int inside = 0;                  ///< launches whose counter is inside
};

double mean(const std::vector<double>& values);

/// In the order of their first cases, all of which have theory, a prediction and a counter's value.
std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases);

}  // namespace occbench
