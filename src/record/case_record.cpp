#include "record/case_record.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

// Values that a cell and a member hold in the same form are listed once, for both ways: `way` copies from one
// to the other.
constexpr auto kToRow = [](auto& cell, const auto& value) { cell = value; };
constexpr auto kFromRow = [](const auto& cell, auto& value) { value = cell; };

void pass_provenance(auto& row, auto& provenance, const auto& way) {
  way(row.schema, provenance.schema);
  way(row.recorded_at, provenance.recorded_at);
  way(row.commit, provenance.commit);
  way(row.host, provenance.host);
  way(row.gpu, provenance.gpu);
  way(row.gpu_uuid, provenance.gpu_uuid);
  way(row.device_index, provenance.device_index);
  way(row.driver, provenance.driver);
  way(row.cuda_toolkit, provenance.cuda_toolkit);
  way(row.gpu_settings, provenance.gpu_settings);
}

void pass_identity(auto& row, auto& identity, const auto& way) {
  way(row.experiment, identity.experiment);
  way(row.case_, identity.name);
  way(row.kernel, identity.kernel);
  way(row.variant, identity.variant);
  way(row.work_source, identity.work_source);
  way(row.expected_cause, identity.expected_cause);
}

void pass_prediction(auto& row, auto& prediction, const auto& way) {
  way(row.predicted_pct, prediction.predicted_pct);
  way(row.predicted_low_pct, prediction.interval.low);
  way(row.predicted_high_pct, prediction.interval.high);
  way(row.predicted_elapsed_pct, prediction.predicted_elapsed_pct);
  way(row.predicted_elapsed_low_pct, prediction.elapsed_interval.low);
  way(row.predicted_elapsed_high_pct, prediction.elapsed_interval.high);
  way(row.predicted_cycles_active, prediction.cycles_active_mean);
  way(row.loss_small_grid_points, prediction.losses.small_grid);
  way(row.loss_tail_points, prediction.losses.tail);
  way(row.loss_between_blocks_points, prediction.losses.between_blocks);
  way(row.loss_within_block_points, prediction.losses.within_block);
  way(row.loss_overhead_points, prediction.losses.overhead);
  way(row.loss_contention_points, prediction.losses.contention);
}

void pass_readings(auto& row, auto& readings, const auto& way) {
  for (const Column& column : columns()) {
    if (column.counter)
      way(row.*std::get<Real Row::*>(column.where), readings.counters.*column.counter->value);
  }
  way(row.achieved_elapsed_pct, readings.achieved_elapsed_pct);
  way(row.achieved_spread_points, readings.achieved_spread_points);
  way(row.measured_loss_blocks_points, readings.measured_loss_blocks_points);
  way(row.measured_loss_warps_points, readings.measured_loss_warps_points);
}

void pass_times(auto& row, auto& times, const auto& way) {
  way(row.time_us, times.time_us);
  way(row.time_spread_pct, times.time_spread_pct);
  way(row.repetitions, times.repetitions);
  way(row.throughput, times.throughput);
  way(row.throughput_unit, times.throughput_unit);
}

void pass_program(auto& row, auto& program, const auto& way) {
  way(row.launches, program.launches);
  way(row.total_time_us, program.total_time_us);
  way(row.process, program.processes);
  way(row.context, program.contexts);
  way(row.stream, program.streams);
  way(row.graph, program.of_graphs);
  way(row.graph_node, program.graph_nodes);
  way(row.region, program.regions);
}

void pass_condition(auto& row, auto& condition, const auto& way) {
  way(row.memory_clock_mhz, condition.memory_clock_mhz);
  way(row.temperature_c, condition.temperature_c);
  way(row.power_w, condition.power_w);
  way(row.throttle_reasons, condition.throttle_reasons);
  way(row.other_processes, condition.other_processes);
}

std::string parameters_text(const CaseIdentity& identity) {
  std::string text;
  for (const auto& [key, value] : identity.parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_parameters(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(';'));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      throw InputError(fmt::format("parameters = '{}' has no key=value in '{}'", text, one));
    }
    parameters.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return parameters;
}

Limiters parse_limiters(std::string_view text) {
  Limiters limiters;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('+'));
    const auto found =
        std::ranges::find(kAllLimiters, word, [](Limiter limiter) { return to_string(limiter); });
    if (found == std::end(kAllLimiters)) {
      throw InputError(fmt::format("limiter = '{}': there is no limiter '{}'", text, word));
    }
    limiters.add(*found, true);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return limiters;
}

AchievedSource parse_source(std::string_view word) {
  if (word == "counter") return AchievedSource::counter;
  if (word == "trace") return AchievedSource::trace;
  if (word == "sampled") return AchievedSource::sampled;
  if (word == "simulated") return AchievedSource::simulated;
  throw InputError(fmt::format("achieved_source = '{}' is none of counter, trace, sampled, simulated", word));
}

ProfileQuality parse_quality(std::string_view word) {
  for (const ProfileQuality quality : kAllProfileQualities) {
    if (word == to_string(quality)) return quality;
  }
  throw InputError(
      fmt::format("profile_quality = '{}' is none of calibrated_device, calibrated_model, generic", word));
}

std::string_view to_string(AchievedSource source) {
  switch (source) {
    case AchievedSource::counter:
      return "counter";
    case AchievedSource::trace:
      return "trace";
    case AchievedSource::sampled:
      return "sampled";
    case AchievedSource::simulated:
      break;
  }
  return "simulated";
}

/// Of a column whose range is that of an int at most.
int as_int(const Integer& value) {
  return static_cast<int>(value.value_or(0));
}

std::optional<int> as_optional_int(const Integer& value) {
  return value ? std::optional(as_int(value)) : std::nullopt;
}

/// What `parse` makes of a cell; empty where the cell is.
template <typename Parse>
auto parsed(const Text& cell, Parse parse) -> std::optional<decltype(parse(cell))> {
  if (cell.empty()) return std::nullopt;
  return parse(cell);
}

/// @throws InputError where it is no shape of so many
Shape shape_of(const Text& cell, std::string_view column, std::int64_t total) {
  if (cell.empty()) return {};
  const Shape shape = parse_shape(cell, column);
  if (shape.total() != total)
    throw InputError(
        fmt::format("{} {} has {}, and its row has {} in all", column, cell, shape.total(), total));
  return shape;
}

std::optional<Launch> launch_of(const Row& row) {
  if (!row.block_threads) return std::nullopt;
  return Launch{.block_threads = as_int(row.block_threads),
                .grid_blocks = row.grid_blocks.value_or(0),
                .cluster_blocks = row.cluster_blocks ? as_int(row.cluster_blocks) : 1,
                .dynamic_shared_bytes = row.dynamic_shared_bytes.value_or(0),
                .carveout_pct = as_optional_int(row.carveout_pct),
                .block_shape = shape_of(row.block_shape, "block_shape", row.block_threads.value_or(0)),
                .grid_shape = shape_of(row.grid_shape, "grid_shape", row.grid_blocks.value_or(0))};
}

std::optional<Compiled> compiled_of(const Row& row) {
  if (!row.registers_per_thread) return std::nullopt;
  return Compiled{.usage = {.registers_per_thread = as_int(row.registers_per_thread),
                            .static_shared_bytes = row.static_shared_bytes.value_or(0),
                            .local_bytes_per_thread = row.local_bytes_per_thread.value_or(0),
                            .barriers = as_int(row.barriers)},
                  .code_architecture = row.code_architecture,
                  .spill_bytes = row.spill_bytes};
}

std::optional<Theory> theory_of(const Row& row) {
  if (!row.theoretical_pct) return std::nullopt;
  return Theory{.theoretical_pct = *row.theoretical_pct,
                .blocks_per_sm = row.blocks_per_sm,
                .limiters = parse_limiters(row.limiter),
                .waves = row.waves};
}

std::optional<Prediction> prediction_of(const Row& row) {
  Prediction prediction;
  bool whole = true;
  pass_prediction(row, prediction, [&](const Real& cell, double& value) {
    whole = whole && cell;
    value = cell.value_or(0);
  });
  if (!whole) return std::nullopt;
  prediction.device_profile = row.device_profile;
  prediction.profile_quality = parsed(row.profile_quality, parse_quality);
  prediction.theoretical_pct = row.theoretical_pct.value_or(0);
  return prediction;
}

CaseRecord parse(const Row& row) {
  for (const Column& column : columns()) require_in_range(row, column);
  CaseRecord record;
  pass_provenance(row, record.provenance, kFromRow);
  record.provenance.compute_capability = parsed(row.compute_capability, parse_compute_capability);
  record.provenance.sm_count = as_optional_int(row.sm_count);
  record.provenance.memory_bus_bits = as_optional_int(row.memory_bus_bits);
  pass_identity(row, record.identity, kFromRow);
  record.identity.parameters = parse_parameters(row.parameters);
  record.identity.work = parsed(row.work, parse_work);
  record.launch = launch_of(row);
  record.first_gpc = as_optional_int(row.first_gpc);
  record.compiled = compiled_of(row);
  record.theory = theory_of(row);
  record.device_profile = row.device_profile;
  record.profile_quality = parsed(row.profile_quality, parse_quality);
  record.prediction = prediction_of(row);
  record.explanation = row.explanation;
  pass_readings(row, record.readings, kFromRow);
  record.readings.status = parsed(row.counters_status, parse_counters_status);
  record.readings.achieved_source = parsed(row.achieved_source, parse_source);
  record.readings.hardware_limiters = parsed(row.hardware_limiter, parse_hardware_limiter);
  pass_times(row, record.times, kFromRow);
  record.times.status = parsed(row.time_status, parse_time_status);
  record.check = parsed(row.check, parse_check);
  pass_program(row, record.program, kFromRow);
  record.lost_updates_pct = row.lost_updates_pct;
  pass_condition(row, record.condition, kFromRow);
  record.note = row.note;
  record.extra = row.extra;
  return record;
}

void put_launch(Row& row, const Launch& launch) {
  row.block_threads = launch.block_threads;
  row.grid_blocks = launch.grid_blocks;
  row.cluster_blocks = launch.cluster_blocks;
  row.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  row.carveout_pct = launch.carveout_pct;
  // A shape along x alone says no more than the total.
  const auto text = [](const Shape& shape) { return shape.y * shape.z > 1 ? to_string(shape) : ""; };
  row.block_shape = text(launch.block_shape);
  row.grid_shape = text(launch.grid_shape);
}

void put_compiled(Row& row, const Compiled& compiled) {
  row.registers_per_thread = compiled.usage.registers_per_thread;
  row.static_shared_bytes = compiled.usage.static_shared_bytes;
  row.local_bytes_per_thread = compiled.usage.local_bytes_per_thread;
  // The runtime does not say how many there are.
  if (compiled.usage.barriers > 0) row.barriers = compiled.usage.barriers;
  row.code_architecture = compiled.code_architecture;
  row.spill_bytes = compiled.spill_bytes;
}

void put_theory(Row& row, const Theory& theory) {
  row.theoretical_pct = theory.theoretical_pct;
  row.blocks_per_sm = theory.blocks_per_sm;
  row.limiter = to_string(theory.limiters);
  row.waves = theory.waves;
}

void leave_out_impossible_readings(Row& row) {
  for (const Column& column : columns()) {
    const auto* const member = std::get_if<Real Row::*>(&column.where);
    if (member == nullptr) continue;
    try {
      require_in_range(row, column);
    } catch (const InputError& error) {
      (row.**member).reset();
      add_note(row.note, fmt::format("left out: {}", error.what()));
    }
  }
}

void put_quality(Row& row, const std::optional<ProfileQuality>& quality) {
  row.profile_quality = quality ? to_string(*quality) : "";
}

void put_prediction(Row& row, const Prediction& prediction) {
  pass_prediction(row, prediction, kToRow);
  row.device_profile = prediction.device_profile;
  put_quality(row, prediction.profile_quality);
}

}  // namespace

std::string source_of_given(const Work& work) {
  return work.lockstep_cycles ? "reading" : "given";
}

std::string full_name(const CaseIdentity& identity) {
  return fmt::format("{}/{}", identity.experiment, identity.name);
}

const std::string* find_parameter(const CaseIdentity& identity, std::string_view name) {
  const auto found =
      std::ranges::find(identity.parameters, name, &std::pair<std::string, std::string>::first);
  return found == identity.parameters.end() ? nullptr : &found->second;
}

Theory theory_of(const Occupancy& occupancy, const Launch& launch, int sm_count) {
  return {.theoretical_pct = occupancy.theoretical_pct,
          .blocks_per_sm = occupancy.blocks_per_sm,
          .limiters = occupancy.limiters,
          .waves = waves(occupancy, launch.grid_blocks, sm_count)};
}

void add_note(std::string& note, std::string_view more) {
  if (more.empty()) return;
  if (!note.empty()) note += "; ";
  note += more;
}

Row row_of(const CaseRecord& record) {
  Row row;
  pass_provenance(row, record.provenance, kToRow);
  if (record.provenance.compute_capability)
    row.compute_capability = to_string(*record.provenance.compute_capability);
  row.sm_count = record.provenance.sm_count;
  row.memory_bus_bits = record.provenance.memory_bus_bits;
  pass_identity(row, record.identity, kToRow);
  row.parameters = parameters_text(record.identity);
  if (record.identity.work) row.work = to_string(*record.identity.work);
  if (record.launch) put_launch(row, *record.launch);
  row.first_gpc = record.first_gpc;
  if (record.compiled) put_compiled(row, *record.compiled);
  if (record.theory) put_theory(row, *record.theory);
  row.device_profile = record.device_profile;
  put_quality(row, record.profile_quality);
  if (record.prediction) put_prediction(row, *record.prediction);
  row.explanation = record.explanation;
  pass_readings(row, record.readings, kToRow);
  if (record.readings.status) row.counters_status = to_string(*record.readings.status);
  if (record.readings.achieved_source) row.achieved_source = to_string(*record.readings.achieved_source);
  pass_times(row, record.times, kToRow);
  if (record.readings.hardware_limiters)
    row.hardware_limiter = hardware_limiter_text(*record.readings.hardware_limiters);
  if (record.times.status) row.time_status = to_string(*record.times.status);
  if (record.check) row.check = to_string(*record.check);
  pass_program(row, record.program, kToRow);
  row.lost_updates_pct = record.lost_updates_pct;
  pass_condition(row, record.condition, kToRow);
  row.note = record.note;
  row.extra = record.extra;
  leave_out_impossible_readings(row);
  return row;
}

CaseRecord case_record(const Row& row) {
  try {
    return parse(row);
  } catch (const InputError& error) {
    if (row.case_.empty()) throw;
    throw InputError(fmt::format("{}: {}", full_name(row), error.what()));
  }
}

std::string place_of(const CaseRecord& record) {
  const std::string name = full_name(record.identity);
  return record.file.empty() ? name : fmt::format("{}, line {}: {}", record.file.string(), record.line, name);
}

void refuse(const CaseRecord& record, const InputError& error) {
  throw InputError(fmt::format("{}: {}", place_of(record), error.what()));
}

std::vector<CaseRecord> read_case_records(const std::filesystem::path& file) {
  const CsvTable table = parse_row_table(read_text(file), file.string());
  std::vector<CaseRecord> records;
  for (const Row& row : rows_of(table, file.string())) {
    const std::size_t line = table.lines[records.size()];
    try {
      records.push_back(case_record(row));
      records.back().file = file;
      records.back().line = line;
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", file.string(), line, error.what()));
    }
  }
  return records;
}

}  // namespace occbench
