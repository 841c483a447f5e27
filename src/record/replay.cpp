#include "record/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// The profile that a case names, beside its rows.
std::optional<DeviceProfile> profile_beside(const CaseRecord& record) {
  const fs::path name = record.device_profile + ".profile";
  const fs::path file = record.file.parent_path() / name;
  // A name from a file of rows must not lead to another folder.
  std::error_code ignored;
  if (name.has_parent_path() || record.file.empty() || !fs::is_regular_file(file, ignored)) return {};
  DeviceProfile profile = find_profile(file.string());
  const bool of_another = !profile.gpu_uuid.empty() && profile.gpu_uuid != record.provenance.gpu_uuid;
  return of_another ? std::nullopt : std::optional(std::move(profile));
}

constexpr std::string_view kInferred = "inferred from ";
constexpr std::string_view kReconstructed = "reconstructed from ";

std::optional<double> above_zero(const std::optional<double>& value) {
  return value && *value > 0 ? value : std::nullopt;
}

/// The note of a prediction with a profile that was made on no such GPU.
constexpr const char* kUnverified =
    "unverified: no such GPU was calibrated, and none but GH100s was ever compared with its counters; on "
    "GH100s "
    "held out, ranges of all parameters (docs/any-gpu.md) had 95 % of 434 launches, but 69 % of 26 of uneven "
    "blocks "
    "and 60 % of 10 in clusters";

bool is_sampled(const CaseRecord& record) {
  return record.readings.achieved_source == AchievedSource::sampled;
}

std::optional<double> clock_mhz(const CaseRecord& record, const DeviceProfile& profile) {
  const CounterValues& counters = record.readings.counters;
  if (!counters.achieved_pct && above_zero(counters.sm_clock_mhz)) return counters.sm_clock_mhz;
  return highest_clock_mhz(record.provenance.gpu.empty() ? profile.gpu : record.provenance.gpu);
}

/// The kind that the case was drawn for; for other cases their experiment.
std::string drawn_kind(const CaseIdentity& identity) {
  const std::string* const kind = find_parameter(identity, "kind");
  return kind == nullptr ? identity.experiment : *kind;
}

}  // namespace

GpuIdentity identity_of(const Provenance& provenance) {
  return {.name = provenance.gpu,
          .uuid = provenance.gpu_uuid,
          .memory_bus_bits = provenance.memory_bus_bits.value_or(0),
          .compute_capability = provenance.compute_capability.value_or(ComputeCapability{}),
          .sm_count = provenance.sm_count.value_or(0)};
}

ChosenProfile profile_of(const CaseRecord& record) {
  const GpuIdentity gpu = identity_of(record.provenance);
  if (record.device_profile.empty()) return choose_profile(gpu);
  if (std::optional<DeviceProfile> beside = profile_beside(record)) return chosen(std::move(*beside), gpu);
  const std::vector<std::string_view> built_in = built_in_profiles();
  const bool is_built_in = std::ranges::find(built_in, record.device_profile) != built_in.end();
  return is_built_in ? chosen(find_profile(record.device_profile), gpu) : choose_profile(gpu);
}

Occupancy theoretical_occupancy(const LaunchOnDevice& on) {
  return theoretical_occupancy(on.limits, on.launch, on.usage);
}

Prediction predict(const LaunchOnDevice& on, const Work& work, const ChosenProfile& profile,
                   std::optional<int> first_gpc, WorkOrigin origin) {
  const Tasks tasks(work, on.launch.grid_blocks, theoretical_occupancy(on).warps_per_block);
  return predict({on.launch, on.usage, on.limits, profile, {.first_gpc = first_gpc}, origin}, tasks);
}

LaunchOnDevice launch_on_device(const CaseRecord& record) {
  const auto need = [&](bool there, const char* column) {
    if (!there) throw InputError("there is no {}", column);
  };
  need(record.provenance.compute_capability.has_value(), "compute_capability");
  need(record.provenance.sm_count.has_value(), "sm_count");
  need(record.launch.has_value(), "block_threads");
  need(record.launch->grid_blocks > 0, "grid_blocks");
  need(record.compiled.has_value(), "registers_per_thread");
  return {*record.launch, record.compiled->usage, limits_of(*record.provenance.compute_capability),
          *record.provenance.sm_count};
}

void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  if (!record.identity.work) {
    record.prediction.reset();
    record.device_profile.clear();
    record.profile_quality.reset();
    return;
  }
  const bool is_inferred = is_inferred_work(record.identity.work_source);
  if (is_inferred && infer_and_predict(record, profile) == Inference::predicted) return;
  const LaunchOnDevice on = launch_on_device(record);
  const ChosenProfile with = profile ? chosen(*profile, identity_of(record.provenance)) : profile_of(record);
  record.prediction = predict(on, *record.identity.work, with, record.first_gpc,
                              is_inferred ? WorkOrigin::inferred : WorkOrigin::given);
  record.device_profile = record.prediction->device_profile;
  record.profile_quality = record.prediction->profile_quality;
}

std::string prediction_text(const CaseRecord& record) {
  if (!record.prediction) return "";
  const Prediction& prediction = *record.prediction;
  const bool reconstructed = is_reconstructed_work(record.identity.work_source);
  const ProfileQuality quality = prediction.profile_quality.value_or(ProfileQuality::generic);
  std::string interval = named(prediction.interval, quality);
  const auto& capability = record.provenance.compute_capability;
  if (record.identity.work && capability && find_limits(*capability)) {
    const LaunchOnDevice on = launch_on_device(record);
    const Occupancy occupancy = theoretical_occupancy(on);
    const Tasks tasks(*record.identity.work, on.launch.grid_blocks, occupancy.warps_per_block);
    const WorkOrigin origin =
        is_inferred_work(record.identity.work_source) ? WorkOrigin::inferred : WorkOrigin::given;
    interval = interval_text(prediction.interval,
                             kind_of(on.launch, on.usage, occupancy, on.sm_count, tasks, origin), quality);
  }
  return fmt::format("{} {:.1f} % ({})", reconstructed ? "reconstructed" : "predicted",
                     prediction.predicted_pct, interval);
}

std::set<std::string> remarks_on_profiles(std::span<const CaseRecord> cases) {
  std::set<std::string> remarks;
  for (const CaseRecord& each : cases) {
    if (each.prediction && each.profile_quality)
      remarks.insert(remark_on(each.device_profile, *each.profile_quality, each.provenance.gpu));
  }
  remarks.erase("");
  return remarks;
}

double cycles_of_record(double time_us, double clock_mhz) {
  return std::max(1.0, (time_us - kRecordOverheadUs) * clock_mhz);
}

void note_generic(std::string& note, const Launch& launch, const std::optional<Work>& work,
                  const ChosenProfile& chosen) {
  add_note(note, kUnverified);
  if (work && work->rates().bytes > 0)
    add_note(
        note,
        fmt::format(
            "device memory is taken to move {:.3g} B a cycle for each SM{}",
            chosen.profile.model.parameters.bytes_per_cycle / chosen.profile.sm_count(),
            chosen.has_bandwidth_of_others
                ? ", the middle of GPUs of the nearest compute capability: another card may have more or less"
                : ""));
  if (launch.cluster_blocks > 1)
    add_note(
        note,
        "the GPCs are not known and taken as equal: fewer clusters may fit at once, which takes more rounds");
}

void note_draw(std::string& note, const Work& work) {
  if (const auto seed = work.seed())
    add_note(note,
             fmt::format("the work is the draw of seed {}, and the interval does not cover others", *seed));
}

ObservedLaunch observed_of(const CaseRecord& record, const DeviceProfile& profile) {
  ObservedLaunch observed;
  const std::optional<double> clock = clock_mhz(record, profile);
  if (above_zero(record.times.time_us) && clock) {
    const double time_us = *record.times.time_us;
    observed.elapsed_cycles =
        is_sampled(record) ? std::max(1.0, time_us * *clock) : cycles_of_record(time_us, *clock);
  } else {
    observed.cycles_active_mean = above_zero(record.readings.counters.sm_cycles_active_avg);
  }
  return observed;
}

bool is_inferred_work(std::string_view source) {
  return source.starts_with(kInferred) || is_reconstructed_work(source);
}

bool is_reconstructed_work(std::string_view source) {
  return source.starts_with(kReconstructed);
}

std::string no_prediction(std::string_view why) {
  return fmt::format("no prediction: {}", why);
}

Inference infer_and_predict(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  if (!record.theory || record.theory->theoretical_pct == 0 || !record.provenance.sm_count)
    return Inference::too_little;
  try {
    const LaunchOnDevice on = launch_on_device(record);
    const ChosenProfile chosen_one =
        profile ? chosen(*profile, identity_of(record.provenance)) : profile_of(record);
    const ObservedLaunch observed = observed_of(record, chosen_one.profile);
    auto inferred = infer_work({on.launch, on.usage, on.limits, chosen_one}, observed);
    if (!inferred) return Inference::too_little;
    record.prediction = predict(on, inferred->work, chosen_one, record.first_gpc, WorkOrigin::inferred);
    record.device_profile = record.prediction->device_profile;
    record.profile_quality = record.prediction->profile_quality;
    record.identity.work = std::move(inferred->work);
    // Samples give the times of the same launches whose occupancy they give.
    const bool its_own =
        record.readings.counters.achieved_pct && (observed.cycles_active_mean || is_sampled(record));
    record.identity.work_source = fmt::format("{}{}", its_own ? kReconstructed : kInferred, inferred->source);
    return Inference::predicted;
  } catch (const InputError& refused) {
    add_note(record.note, no_prediction(refused.what()));
    return Inference::refused;
  }
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases) {
  std::vector<ErrorsOfKind> kinds;
  for (const CaseRecord& each : cases) {
    const std::string kind = drawn_kind(each.identity);
    auto of = std::ranges::find(kinds, kind, &ErrorsOfKind::kind);
    if (of == kinds.end()) of = kinds.insert(of, ErrorsOfKind{kind, {}, {}, {}, {}, 0});
    const CounterValues& counters = each.readings.counters;
    of->theory.push_back(std::abs(each.theory->theoretical_pct - *counters.achieved_pct));
    of->predicted.push_back(std::abs(each.prediction->predicted_pct - *counters.achieved_pct));
    of->widths.push_back(each.prediction->interval.width());
    if (each.prediction->interval.contains(*counters.achieved_pct)) ++of->inside;
    if (counters.sm_cycles_active_avg) {
      of->active_pct.push_back(
          100 * std::abs(each.prediction->cycles_active_mean / *counters.sm_cycles_active_avg - 1));
    }
  }
  return kinds;
}

}  // namespace occbench
