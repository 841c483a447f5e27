#include "programs/program_report.hpp"

#include <map>
#include <string>
#include <vector>

#include "diagnose/diagnose.hpp"
#include "predict/parallel.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/observed.hpp"
#include "record/statistics.hpp"

namespace occbench {
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
  for_each_parallel(cases.size(), [&](std::size_t i) {
    infer_and_predict(cases[i], profile);
    cases[i].explanation = explanation_of(facts_of(cases[i]));
  });
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
