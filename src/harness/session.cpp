#include "harness/session.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "measure/nvml.hpp"
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

Row provenance_of(const Device& device) {
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
  return row;
}

}  // namespace

Session::Session(const Device& device, const Options& options, Instruments& instruments)
    : device_(device), options_(options), instruments_(instruments), provenance_(provenance_of(device)) {}

void Session::open_file(const Experiment& of) {
  if (!options_.csv) return;
  file_.emplace(*options_.csv, options_.resume ? RunFile::Mode::resume : RunFile::Mode::create);
  file_->require_same_origin(new_row(of));
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

Counted Session::count(const std::vector<std::string>& metrics, const std::function<void()>& launch) {
  if (options_.counters == CounterMode::off) return {.status = CountersStatus::off};
  // A missing permission stays missing; counters that another profiler holds, or that failed once, may be had
  // again.
  if (last_count_.status == CountersStatus::denied || last_count_.status == CountersStatus::unsupported) {
    return last_count_;
  }
  Counted counted;
  try {
    counted.readings = instruments_.count(metrics, launch);
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

Stop Session::stop() const {
  if (context_lost_) return Stop::context_lost;
  return stop_asked() ? Stop::interrupted : Stop::no;
}

}  // namespace occbench
