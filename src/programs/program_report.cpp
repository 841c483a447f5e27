#include "programs/program_report.hpp"

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "diagnose/diagnose.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/observed.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

std::optional<double> prediction_pct(const CaseRecord& record) {
  return record.prediction ? std::optional(record.prediction->predicted_pct) : std::nullopt;
}

}  // namespace

void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries) {
  std::map<std::string, std::vector<double>> counted;
  for (const CaseRecord& record : cases) {
    if (const auto& clock = record.readings.counters.sm_clock_mhz)
      counted[record.provenance.gpu_uuid].push_back(*clock);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CaseRecord& record = cases[i];
    std::optional<double>& clock = record.readings.counters.sm_clock_mhz;
    if (clock) continue;
    if (const auto found = counted.find(record.provenance.gpu_uuid); found != counted.end()) {
      clock = median(found->second);
    } else if (const double highest = entries[i].device.highest_clock_mhz; highest > 0) {
      clock = highest;
      add_note(record.note, "sm_clock_mhz is the GPU's highest, not measured");
    }
  }
}

void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      infer_and_predict(cases[i], profile);
      cases[i].explanation = explanation_of(facts_of(cases[i]));
    }
  };
  const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(processors, cases.size()); ++i) others.emplace_back(work);
  work();
}

std::optional<double> lost_us(const CaseRecord& record) {
  const auto& achieved = record.readings.counters.achieved_pct;
  const std::optional<double> reached = achieved ? achieved : prediction_pct(record);
  if (!reached || !record.theory || record.theory->theoretical_pct <= 0) return std::nullopt;
  return record.program.total_time_us.value_or(0) * (record.theory->theoretical_pct - *reached) /
         record.theory->theoretical_pct;
}

void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries) {
  std::string text = csv_header();
  std::string samples = samples_header();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += csv_record(row_of(cases[i]));
    for (const Sample& sample : program_samples(cases[i], entries[i].seen)) samples += csv_record(sample);
  }
  replace_text(samples_path(file), samples);
  replace_text(file, text);
}

}  // namespace occbench
