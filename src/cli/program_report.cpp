#include "cli/program_report.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <thread>

#include <fmt/ostream.h>

#include "cli/row_table.hpp"
#include "cli/text_table.hpp"
#include "diagnose/diagnose.hpp"
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
  constexpr std::size_t kWidest = 64;
  if (name.size() <= kWidest) return name;
  const std::size_t tail = kWidest / 2;
  return name.substr(0, kWidest - tail - 3) + "..." + name.substr(name.size() - tail);
}

std::optional<double> prediction_pct(const CaseRecord& record) {
  return record.prediction ? std::optional(record.prediction->predicted_pct) : std::nullopt;
}

std::string interval_of_line(const CaseRecord& record) {
  if (!record.prediction) return "-";
  return is_reconstructed_work(record.identity.work_source) ? "reconstructed"
                                                            : to_string(record.prediction->interval);
}

/// What costs most of the points below theory, as lost time does: a limit of theory only where nothing else is
/// lost.
std::string what_costs_time(const CaseRecord& record) {
  const std::vector<Finding> findings = diagnose(facts_of(record));
  const auto found = std::ranges::find_if(
      findings, [](const Finding& finding) { return finding.points > 0 && !finding.of_theory; });
  return found == findings.end() ? record.explanation : found->sentence;
}

std::vector<std::string> table_line(const CaseRecord& record, double all_us) {
  const double total_us = record.program.total_time_us.value_or(0);
  const std::optional<double> lost = lost_us(record);
  return {lost ? milliseconds(*lost) : "-",
          milliseconds(total_us),
          all_us > 0 ? fmt::format("{:.1f}", 100 * total_us / all_us) : "-",
          fmt::format("{}", record.program.launches.value_or(0)),
          record.theory ? percent(record.theory->theoretical_pct) : "-",
          percent(prediction_pct(record)),
          interval_of_line(record),
          percent(record.readings.counters.achieved_pct),
          narrow(record.identity.name),
          what_costs_time(record)};
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

void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out) {
  double all_us = 0;
  std::int64_t launches = 0;
  std::vector<const CaseRecord*> order;
  for (const CaseRecord& record : cases) {
    all_us += record.program.total_time_us.value_or(0);
    launches += record.program.launches.value_or(0);
    order.push_back(&record);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const CaseRecord* record) { return lost_us(*record).value_or(-1e300); });
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> lines = {{"lost ms", "time ms", "% of time", "launches", "theory %",
                                                  "predicted %", "90 %", "achieved %", "kernel", "finding"}};
  for (const CaseRecord* record : order) lines.push_back(table_line(*record, all_us));
  fmt::print(out, "{}\n", text_table(lines, ">>>>>>>><<"));
  fmt::print(out,
             "{} of {} kernels and configurations, {} launches, {} ms. Time lost is time x (theory - "
             "achieved) / theory, "
             "with the prediction where nothing was counted. {}\n",
             order.size(), cases.size(), launches, milliseconds(all_us), agreement(cases));
}

}  // namespace occbench
