#include "programs/program_report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "diagnose/diagnose.hpp"
#include "files/output.hpp"
#include "predict/parallel.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

double share_saved(const Finding& finding) {
  return finding.time ? finding.time->share : 0;
}

CaseToTell to_tell(const CaseRecord& record) {
  const std::vector<Finding> findings = diagnose(facts_of(record));
  const auto is_behind = [](const Finding& one, const Finding& other) {
    const auto rank = [](const Finding& each) {
      return std::tuple(share_saved(each), each.list == FindingList::losses, each.points);
    };
    return rank(one) < rank(other);
  };
  const auto first = std::ranges::max_element(findings, is_behind);
  if (first == findings.end()) return {&record, std::nullopt, 0};
  return {&record, *first, share_saved(*first) * record.program.total_time_us.value_or(0)};
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

void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile,
                 const std::function<void()>& predicted) {
  for_each_parallel(cases.size(), [&](std::size_t i) {
    infer_and_predict(cases[i], profile);
    cases[i].explanation = explanation_of(facts_of(cases[i]));
    predicted();
  });
}

std::vector<CaseToTell> by_time_saved(std::span<const CaseRecord> cases) {
  std::vector<CaseToTell> all;
  for (const CaseRecord& record : cases) all.push_back(to_tell(record));
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const CaseToTell& each) {
    return std::pair(each.us, each.record->program.total_time_us.value_or(0));
  });
  return all;
}

void sort_by_time_saved(std::vector<CaseRecord>& cases) {
  std::vector<CaseRecord> sorted;
  for (const CaseToTell& each : by_time_saved(cases)) sorted.push_back(*each.record);
  cases = std::move(sorted);
}

void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries) {
  std::string text = csv_header();
  std::string samples = samples_header();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += csv_record(row_of(cases[i]));
    for (const Sample& sample : program_samples(cases[i], entries[i].seen)) samples += csv_record(sample);
  }
  OutputFile samples_file(samples_path(file));
  OutputFile rows_file(file);
  samples_file.write(samples);
  rows_file.write(text);
  samples_file.complete();
  rows_file.complete();  // a disk that is full leaves the rows and samples of before
  samples_file.keep();
  rows_file.keep();
}

}  // namespace occbench
