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
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/observed.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

std::string percent(const Real& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string milliseconds(double microseconds) {
  return fmt::format("{:.{}f}", microseconds / 1000, microseconds < 10'000 ? 3 : 1);
}

/// What tells kernels apart stands at both ends of their names.
std::string narrow(const std::string& name) {
  constexpr std::size_t kWidest = 64;
  if (name.size() <= kWidest) return name;
  const std::size_t tail = kWidest / 2;
  return name.substr(0, kWidest - tail - 3) + "..." + name.substr(name.size() - tail);
}

std::vector<std::string> table_line(const Row& row, double all_us) {
  const double total_us = row.total_time_us.value_or(0);
  const Real lost = lost_us(row);
  return {lost ? milliseconds(*lost) : "-",
          milliseconds(total_us),
          all_us > 0 ? fmt::format("{:.1f}", 100 * total_us / all_us) : "-",
          fmt::format("{}", row.launches.value_or(0)),
          percent(row.theoretical_pct),
          percent(row.predicted_pct),
          percent(row.achieved_pct),
          narrow(row.case_),
          row.explanation};
}

}  // namespace

void set_clocks(std::span<Row> rows, std::span<const ProgramEntry> entries) {
  std::map<std::string, std::vector<double>> counted;
  for (const Row& row : rows) {
    if (row.sm_clock_mhz) counted[row.gpu_uuid].push_back(*row.sm_clock_mhz);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (row.sm_clock_mhz) continue;
    if (const auto found = counted.find(row.gpu_uuid); found != counted.end()) {
      row.sm_clock_mhz = median(found->second);
    } else if (const double highest = entries[i].device.highest_clock_mhz; highest > 0) {
      row.sm_clock_mhz = highest;
      row.note +=
          fmt::format("{}sm_clock_mhz is the GPU's highest, not measured", row.note.empty() ? "" : "; ");
    }
  }
}

void predict_all(std::span<Row> rows, const std::optional<DeviceProfile>& profile) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) infer_and_predict(rows[i], profile);
  };
  const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(processors, rows.size()); ++i) others.emplace_back(work);
  work();
}

Real lost_us(const Row& row) {
  const Real reached = row.achieved_pct ? row.achieved_pct : row.predicted_pct;
  if (!reached || !row.theoretical_pct || *row.theoretical_pct <= 0) return std::nullopt;
  return row.total_time_us.value_or(0) * (*row.theoretical_pct - *reached) / *row.theoretical_pct;
}

void write_program(const std::filesystem::path& file, std::span<const Row> rows,
                   std::span<const ProgramEntry> entries) {
  std::string text = csv_header();
  std::string samples = samples_header();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += csv_record(rows[i]);
    for (const Sample& sample : program_samples(rows[i], entries[i].seen)) samples += csv_record(sample);
  }
  replace_text(samples_path(file), samples);
  replace_text(file, text);
}

void print_program(std::span<const Row> rows, std::size_t top, std::ostream& out) {
  double all_us = 0;
  std::int64_t launches = 0;
  std::vector<const Row*> order;
  for (const Row& row : rows) {
    all_us += row.total_time_us.value_or(0);
    launches += row.launches.value_or(0);
    order.push_back(&row);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const Row* row) { return lost_us(*row).value_or(-1e300); });
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> lines = {
      {"lost ms", "time ms", "%", "launches", "theory %", "predicted %", "achieved %", "kernel", "finding"}};
  for (const Row* row : order) lines.push_back(table_line(*row, all_us));
  fmt::print(out, "{}\n", text_table(lines, ">>>>>>><<"));
  fmt::print(out,
             "{} of {} kernels and configurations, {} launches, {} ms. Time lost is time x (theory - "
             "achieved) / theory, "
             "with the prediction where nothing was counted. {}\n",
             order.size(), rows.size(), launches, milliseconds(all_us), agreement(rows));
}

}  // namespace occbench
