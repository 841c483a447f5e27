#include "harness/session.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "measure/nvml.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/provenance.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

std::filesystem::path running_mark(const std::filesystem::path& rows) {
  return rows.string() + ".running";
}

std::string toolkit_version() {
  return fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

Row provenance_of(const Device& device, Instruments& instruments) {
  Row row;
  row.schema = kSchema;
  row.commit = build_commit();
  row.host = host_name();
  row.gpu = device.name;
  row.gpu_uuid = device.uuid;
  row.device_index = device.index;
  row.compute_capability = to_string(device.compute_capability);
  row.sm_count = device.sm_count;
  row.driver = driver_version();
  row.cuda_toolkit = toolkit_version();
  row.gpu_settings = instruments.gpu_settings();
  return row;
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
      provenance_(provenance_of(device, instruments)) {}

void Session::open_files(const Experiment& of) {
  if (options_.timeline) make_folder(*options_.timeline, "--occ_timeline");
  if (options_.per_sm) make_folder(*options_.per_sm, "--occ_per_sm");
  if (!options_.csv) return;
  file_.emplace(*options_.csv, options_.resume ? RunFile::Mode::resume : RunFile::Mode::create,
                options_.metrics);
  file_->require_same_origin(new_row(of));
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

Row Session::new_row(const Experiment& of) const {
  Row row = provenance_;
  row.experiment = of.name;
  return row;
}

bool Session::is_finished(std::string_view experiment_name, std::string_view name) const {
  return file_ && std::ranges::any_of(file_->finished(), [&](const Row& row) {
           return row.experiment == experiment_name && row.case_ == name;
         });
}

void Session::begin(std::string_view name) const {
  if (file_) std::ofstream(running_mark(*options_.csv)) << name << '\n';
}

void Session::end(const Row& row, std::span<const Sample> samples) {
  if (row.time_status == "failed" || row.check == "wrong") complete_ = false;
  if (options_.counters == CounterMode::require && row.counters_status != "ok" &&
      row.time_status != "skipped") {
    complete_ = false;
  }
  if (!file_) return;
  file_->append(row, samples);
  std::error_code ignored;
  std::filesystem::remove(running_mark(*options_.csv), ignored);
}

Counted Session::count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
  if (options_.counters == CounterMode::off) return {.status = CountersStatus::off};
  // A missing permission stays missing; counters that another profiler holds, or that failed once, may be had
  // again.
  if (last_count_.status == CountersStatus::denied || last_count_.status == CountersStatus::unsupported) {
    return last_count_;
  }
  Counted counted;
  try {
    counted.readings = instruments_.count(metrics, launch, before);
    counted.status = CountersStatus::ok;
  } catch (const CountersUnavailable& unavailable) {
    counted = {.status = unavailable.status(), .note = unavailable.what()};
    if (last_count_.note != counted.note) {
      fmt::print(stderr, "counters {}: {}\n", to_string(counted.status), counted.note);
    }
    last_count_ = counted;
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
