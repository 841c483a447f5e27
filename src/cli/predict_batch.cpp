#include "cli/predict_batch.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "cli/batch_file.hpp"
#include "cli/waiting.hpp"
#include "diagnose/diagnose.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::array<std::string_view, 5> kNeededToPredict = {
    "compute_capability", "sm_count", "block_threads", "grid_blocks", "registers_per_thread"};

constexpr std::array<std::string_view, 11> kReadToPredict = {"static_shared_bytes",
                                                             "dynamic_shared_bytes",
                                                             "carveout_pct",
                                                             "cluster_blocks",
                                                             "work",
                                                             "gpu",
                                                             "sm_clock_mhz",
                                                             "time_us",
                                                             "sm_cycles_active_avg",
                                                             "case",
                                                             "note"};

/// Columns that come out whether the file has them or not.
constexpr std::array<std::string_view, 20> kPredictedColumns = {"work",
                                                                "work_source",
                                                                "blocks_per_sm",
                                                                "limiter",
                                                                "waves",
                                                                "theoretical_pct",
                                                                "device_profile",
                                                                "predicted_pct",
                                                                "predicted_low_pct",
                                                                "predicted_high_pct",
                                                                "predicted_elapsed_pct",
                                                                "predicted_cycles_active",
                                                                "loss_small_grid_points",
                                                                "loss_tail_points",
                                                                "loss_between_blocks_points",
                                                                "loss_within_block_points",
                                                                "loss_overhead_points",
                                                                "loss_contention_points",
                                                                "explanation",
                                                                "note"};

/// Of the GPU that a row names, or else the given profile; empty where neither is known.
std::optional<double> highest_clock_mhz(const Row& row, const std::optional<DeviceProfile>& profile) {
  const Gpu* const gpu = find_gpu_by_driver_name(row.gpu.empty() && profile ? profile->gpu : row.gpu);
  return gpu == nullptr ? std::nullopt : std::optional<double>(gpu->clock_mhz);
}

Row row_of_cells(const CsvTable& table, const std::vector<std::string>& cells,
                 const std::optional<DeviceProfile>& profile) {
  Row row;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (const Column* column = find_column(table.names[cell])) set_cell(row, *column, cells[cell]);
  }
  const std::optional<double> clock_mhz =
      row.sm_clock_mhz ? row.sm_clock_mhz : highest_clock_mhz(row, profile);
  const auto note_highest_clock = [&](std::string_view column) {
    add_note(row.note, fmt::format("{} is read at {} MHz, the GPU's highest clock", column, *clock_mhz));
  };
  if (!row.work.empty()) {
    const std::string cycles = work_in_cycles(row.work, clock_mhz);
    if (cycles != row.work && !row.sm_clock_mhz) note_highest_clock("work");
    row.work = cycles;
  } else if (row.time_us && !row.sm_clock_mhz && !row.sm_cycles_active_avg && clock_mhz) {
    row.sm_clock_mhz = clock_mhz;
    note_highest_clock("time_us");
  }
  return row;
}

void predict_record(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  const LaunchOnDevice on = launch_on_device(record);
  check_static_shared(on.limits, on.usage);
  record.theory = theory_of(theoretical_occupancy(on), on.launch, on.sm_count);
  if (record.theory->blocks_per_sm == 0) {
    add_note(record.note, why_it_cannot_launch(on.limits, on.launch, on.usage));
    return;
  }
  if (record.identity.work) {
    repredict(record, profile);
    if (record.identity.work_source.empty())
      record.identity.work_source = source_of_given(*record.identity.work);
  } else {
    const Inference inference = infer_and_predict(record, profile);
    if (inference == Inference::too_little)
      add_note(record.note, no_prediction("work is empty and cannot be inferred: give work, "
                                          "sm_cycles_active_avg, or time_us with sm_clock_mhz or gpu"));
    if (inference != Inference::predicted) return;
  }
  if (!profile && record.profile_quality == ProfileQuality::generic) add_note(record.note, kUnverified);
  record.explanation = explanation_of(facts_of(record));
}

std::vector<std::string> names_out(const CsvTable& table) {
  std::vector<std::string> names(table.names.begin(), table.names.end());
  for (const std::string_view answer : kPredictedColumns) {
    if (std::ranges::find(names, answer) == names.end()) names.emplace_back(answer);
  }
  return names;
}

std::vector<std::string> predicted_cells(const CsvTable& table, const std::vector<std::string>& cells,
                                         std::span<const std::string> names,
                                         const std::optional<DeviceProfile>& profile) {
  CaseRecord record = case_record(row_of_cells(table, cells, profile));
  record.prediction.reset();
  predict_record(record, profile);
  const Row row = row_of(record);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool answered = std::ranges::find(kPredictedColumns, names[i]) != kPredictedColumns.end();
    out.push_back(answered ? cell_text(row, *find_column(names[i])) : cells[i]);
  }
  return out;
}

}  // namespace

std::string predict_batch(const std::string& file, const std::string& profile) {
  const std::string source = batch_source(file);
  const CsvTable table = read_batch(file, {.command = "predict",
                                           .needed = {kNeededToPredict.begin(), kNeededToPredict.end()},
                                           .optional = {kReadToPredict.begin(), kReadToPredict.end()},
                                           .answers = {}});
  std::optional<DeviceProfile> given;
  if (!profile.empty()) given = find_profile(profile);
  const std::vector<std::string> names = names_out(table);
  std::string text = csv_record(names);
  Waiting waiting("predicting rows:", table.rows.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    try {
      text += csv_record(predicted_cells(table, table.rows[row], names, given));
      waiting.step();
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", source, table.lines[row], error.what()));
    }
  }
  return text;
}

}  // namespace occbench
