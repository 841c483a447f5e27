#include "harness/session.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "measure/nvml.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/provenance.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

std::string toolkit_version() {
  return fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

Provenance provenance_of(const Device& device, Instruments& instruments) {
  return {
      .schema = kSchema,
      .recorded_at = {},
      .commit = std::string(build_commit()),
      .host = host_name(),
      .gpu = device.name,
      .gpu_uuid = device.uuid,
      .device_index = device.index,
      .compute_capability = device.compute_capability,
      .sm_count = device.sm_count,
      .memory_bus_bits = device.memory_bus_bits > 0 ? std::optional(device.memory_bus_bits) : std::nullopt,
      .driver = driver_version(),
      .cuda_toolkit = toolkit_version(),
      .gpu_settings = instruments.gpu_settings()};
}

ChosenProfile profile_for(const GpuIdentity& gpu, const Options& options) {
  return options.device_profile ? chosen(*options.device_profile, gpu) : choose_profile(gpu);
}

void make_folder(const std::filesystem::path& folder, std::string_view flag) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw InputError(fmt::format("{}={}: the folder cannot be made: {}", flag, folder.string(),
                                 error ? error.message() : "it is a file"));
  }
}

}  // namespace

Session::Session(const Device& device, const Options& options, Instruments& instruments)
    : device_(device),
      options_(options),
      instruments_(instruments),
      provenance_(provenance_of(device, instruments)),
      profile_(profile_for(identity_of(device), options)),
      progress_(options.progress_fd) {}

void Session::open_files(const Experiment& of) {
  if (options_.timeline) make_folder(*options_.timeline, "--occ_timeline");
  if (options_.per_sm) make_folder(*options_.per_sm, "--occ_per_sm");
  if (!options_.csv) return;
  file_.emplace(*options_.csv, options_.resume ? RunFile::Mode::resume : RunFile::Mode::create,
                options_.metrics);
  CaseRecord next;
  next.provenance = provenance_;
  next.identity.experiment = of.name;
  file_->require_same_origin(row_of(next));
}

void Session::check_metrics() {
  if (options_.metrics.empty()) return;
  try {
    const MetricCatalog catalog = instruments_.metric_catalog();
    for (const std::string& metric : options_.metrics) {
      if (catalog.has(metric)) continue;
      throw InputError(fmt::format("--occ_metrics: this GPU ({}) has no metric {}; the nearest are {}",
                                   catalog.chip(), metric, fmt::join(catalog.nearest(metric, 5), ", ")));
    }
    const std::size_t passes = catalog.passes(options_.metrics);
    fmt::print(stderr, "--occ_metrics: {} of them in {} pass{}: each launch that reads them is made {}\n",
               options_.metrics.size(), passes, passes == 1 ? "" : "es",
               passes == 1 ? "once" : fmt::format("{} times", passes));
  } catch (const CountersUnavailable& unavailable) {
    // The columns stay empty, and each row says why.
    fmt::print(stderr, "--occ_metrics: {}\n", unavailable.what());
  }
}

bool Session::is_finished(const CaseIdentity& identity) const {
  return file_ && std::ranges::any_of(file_->finished(), [&](const Row& row) {
           return row.experiment == identity.experiment && row.case_ == identity.name;
         });
}

void Session::begin(const CaseIdentity& identity) {
  progress_.tell(CaseBegun{identity.name});
}

Row Session::end(const CaseRecord& record, std::span<const Sample> samples) {
  if (record.times.status == TimeStatus::failed || record.check == Check::wrong) complete_ = false;
  if (options_.counters == CounterMode::require && record.readings.status != CountersStatus::ok &&
      record.times.status != TimeStatus::skipped) {
    complete_ = false;
  }
  Row row = row_of(record);
  if (file_) file_->append(row, samples);
  progress_.tell(CaseEnded{row});
  return row;
}

Counted Session::count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
  return try_count(last_count_, [&] { return instruments_.count(metrics, launch, before); });
}

Counted Session::count_more(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                            const std::function<void()>& before) {
  return try_count(last_count_of_more_, [&] { return instruments_.count(metrics, launch, before); });
}

Counted Session::try_count(Counted& last, const std::function<CounterReadings()>& read) const {
  if (options_.counters == CounterMode::off) return {.status = CountersStatus::off};
  // A missing permission stays missing; counters that another profiler holds, or that failed once, may be had
  // again.
  if (last.status == CountersStatus::denied || last.status == CountersStatus::unsupported) return last;
  Counted counted;
  try {
    counted.readings = read();
    counted.status = CountersStatus::ok;
  } catch (const CountersUnavailable& unavailable) {
    counted = {.status = unavailable.status(), .note = unavailable.what()};
    if (last.note != counted.note) {
      fmt::print(stderr, "counters {}: {}\n", to_string(counted.status), counted.note);
    }
    last = counted;
  }
  return counted;
}

Sampled Session::sample(double expected_us, const std::function<void()>& launch) {
  Sampled sampled;
  try {
    sampled.samples = instruments_.sample(expected_us, launch);
  } catch (const CountersUnavailable& unavailable) {
    sampled.note = fmt::format("no timeline: {}", unavailable.what());
    if (sampled.note != sampling_note_) fmt::print(stderr, "{}\n", sampled.note);
    sampling_note_ = sampled.note;
  }
  return sampled;
}

Stop Session::stop() const {
  if (context_lost_) return Stop::context_lost;
  return stop_asked() ? Stop::interrupted : Stop::no;
}

}  // namespace occbench
