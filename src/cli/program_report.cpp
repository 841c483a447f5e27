#include "cli/program_report.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/ostream.h>

#include "cli/text_table.hpp"
#include "cli/waiting.hpp"
#include "diagnose/diagnose.hpp"
#include "orchestrate/progress.hpp"
#include "predict/parallel.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/observed.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

/// What tells kernels apart stands at both ends of their names.
std::string narrow(const std::string& name) {
  constexpr std::size_t kWidest = 44;
  if (name.size() <= kWidest) return name;
  const std::size_t tail = kWidest / 2;
  return name.substr(0, kWidest - tail - 3) + "..." + name.substr(name.size() - tail);
}

std::string interval_of_line(const CaseRecord& record) {
  if (!record.prediction) return "-";
  return is_reconstructed_work(record.identity.work_source) ? "reconstructed"
                                                            : to_string(record.prediction->interval);
}

/// A case with the finding whose advice can save most of its time; where none can, its largest loss below theory.
struct Told {
  const CaseRecord* record;
  std::optional<Finding> finding;
  double saved_us;
};

double share_saved(const Finding& finding) {
  return finding.time ? finding.time->share : 0;
}

Told told(const CaseRecord& record) {
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

/// Those that can save most time first, then those that take most.
std::vector<Told> by_time_saved(std::span<const CaseRecord> cases) {
  std::vector<Told> all;
  for (const CaseRecord& record : cases) all.push_back(told(record));
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const Told& each) {
    return std::pair(each.saved_us, each.record->program.total_time_us.value_or(0));
  });
  return all;
}

/// "88 points small_grid (PyTorch)"
std::string finding_text(const Told& told) {
  if (!told.finding) return told.record->explanation;
  const KernelLibrary* const library = library_of(told.record->identity.kernel);
  std::string text(to_string(told.finding->cause));
  if (told.finding->points > 0) text = fmt::format("{:.0f} points {}", told.finding->points, text);
  return library == nullptr ? text : fmt::format("{} ({})", text, library->name);
}

std::vector<std::string> table_line(const Told& told, double all_us) {
  const CaseRecord& record = *told.record;
  const double total_us = record.program.total_time_us.value_or(0);
  return {milliseconds(told.saved_us),
          milliseconds(total_us),
          all_us > 0 ? fmt::format("{:.1f}", 100 * total_us / all_us) : "-",
          fmt::format("{}", record.program.launches.value_or(0)),
          record.theory ? percent(record.theory->theoretical_pct) : "-",
          interval_of_line(record),
          percent(record.readings.counters.achieved_pct),
          narrow(record.identity.name),
          finding_text(told)};
}

}  // namespace

std::string milliseconds(double microseconds) {
  return fmt::format("{:.{}f}", microseconds / 1000, microseconds < 10'000 ? 3 : 1);
}

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
  Waiting waiting("predicting kernels:", cases.size());
  for_each_parallel(cases.size(), [&](std::size_t i) {
    infer_and_predict(cases[i], profile);
    cases[i].explanation = explanation_of(facts_of(cases[i]));
    waiting.step();
  });
}

void sort_by_time_saved(std::vector<CaseRecord>& cases) {
  std::vector<CaseRecord> sorted;
  for (const Told& each : by_time_saved(cases)) sorted.push_back(*each.record);
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
  replace_text(samples_path(file), samples);
  replace_text(file, text);
}

void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out) {
  double all_us = 0;
  std::int64_t launches = 0;
  for (const CaseRecord& record : cases) {
    all_us += record.program.total_time_us.value_or(0);
    launches += record.program.launches.value_or(0);
  }
  std::vector<Told> order = by_time_saved(cases);
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> lines = {{"max saved ms", "time ms", "% of time", "launches",
                                                  "theory %", "predicted, 90 %", "achieved %", "kernel",
                                                  "finding"}};
  for (const Told& each : order) lines.push_back(table_line(each, all_us));
  fmt::print(out, "{}\n", text_table(lines, ">>>>>>><<"));
  fmt::print(
      out,
      "{} of {} kernels and configurations, {} launches, {} ms. Max saved is the most time that the remedy "
      "of the finding could save, which `occbench explain` names with its conditions. {}\n",
      order.size(), cases.size(), launches, milliseconds(all_us), agreement(cases));
}

}  // namespace occbench
