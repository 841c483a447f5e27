#include "record/case_record.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "files/input.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

// Values that have the same form in a cell and a member are listed once for both directions: `way` copies between
// them.
constexpr auto kToRow = [](auto& cell, const auto& value) { cell = value; };
/// An empty cell leaves a number unchanged. A column of an int allows only values of an int.
constexpr auto kFromRow = []<typename Value>(const auto& cell, Value& value) {
  if constexpr (std::is_same_v<Value, std::optional<int>>) {
    value = cell ? std::optional(static_cast<int>(*cell)) : std::nullopt;
  } else if constexpr (std::is_arithmetic_v<Value>) {
    if (cell) value = static_cast<Value>(*cell);
  } else {
    value = cell;
  }
};

void copy_provenance(auto& row, auto& provenance, const auto& way) {
  way(row.schema, provenance.schema);
  way(row.recorded_at, provenance.recorded_at);
  way(row.commit, provenance.commit);
  way(row.host, provenance.host);
  way(row.gpu, provenance.gpu);
  way(row.gpu_uuid, provenance.gpu_uuid);
  way(row.sm_count, provenance.sm_count);
  way(row.driver, provenance.driver);
  way(row.cuda_toolkit, provenance.cuda_toolkit);
}

void copy_identity(auto& row, auto& identity, const auto& way) {
  way(row.experiment, identity.experiment);
  way(row.case_, identity.name);
  way(row.kernel, identity.kernel);
  way(row.variant, identity.variant);
  way(row.work_source, identity.work_source);
  way(row.expected_cause, identity.expected_cause);
}

void copy_launch(auto& row, auto& launch, const auto& way) {
  way(row.block_threads, launch.block_threads);
  way(row.grid_blocks, launch.grid_blocks);
  way(row.cluster_blocks, launch.cluster_blocks);
  way(row.dynamic_shared_bytes, launch.dynamic_shared_bytes);
  way(row.carveout_pct, launch.carveout_pct);
}

void copy_compiled(auto& row, auto& compiled, const auto& way) {
  way(row.registers_per_thread, compiled.usage.registers_per_thread);
  way(row.static_shared_bytes, compiled.usage.static_shared_bytes);
  way(row.local_bytes_per_thread, compiled.usage.local_bytes_per_thread);
  way(row.barriers, compiled.usage.barriers);
  way(row.code_architecture, compiled.code_architecture);
  way(row.spill_bytes, compiled.spill_bytes);
}

void copy_theory(auto& row, auto& theory, const auto& way) {
  way(row.theoretical_pct, theory.theoretical_pct);
  way(row.blocks_per_sm, theory.blocks_per_sm);
  way(row.waves, theory.waves);
}

void copy_prediction(auto& row, auto& prediction, const auto& way) {
  way(row.predicted_pct, prediction.predicted_pct);
  way(row.predicted_low_pct, prediction.interval.low);
  way(row.predicted_high_pct, prediction.interval.high);
  way(row.predicted_elapsed_pct, prediction.predicted_elapsed_pct);
  way(row.predicted_cycles_active, prediction.cycles_active_mean);
  way(row.loss_small_grid_points, prediction.losses.small_grid);
  way(row.loss_tail_points, prediction.losses.tail);
  way(row.loss_between_blocks_points, prediction.losses.between_blocks);
  way(row.loss_within_block_points, prediction.losses.within_block);
  way(row.loss_overhead_points, prediction.losses.overhead);
  way(row.loss_contention_points, prediction.losses.contention);
}

void copy_readings(auto& row, auto& readings, const auto& way) {
  for (const Column& column : columns()) {
    if (column.counter)
      way(row.*std::get<Real Row::*>(column.where), readings.counters.*column.counter->value);
  }
  way(row.achieved_elapsed_pct, readings.achieved_elapsed_pct);
  way(row.achieved_spread_points, readings.achieved_spread_points);
}

void copy_times(auto& row, auto& times, const auto& way) {
  way(row.time_us, times.time_us);
  way(row.time_spread_pct, times.time_spread_pct);
  way(row.repetitions, times.repetitions);
  way(row.throughput, times.throughput);
  way(row.throughput_unit, times.throughput_unit);
}

void copy_program(auto& row, auto& program, const auto& way) {
  way(row.launches, program.launches);
  way(row.total_time_us, program.total_time_us);
  way(row.region, program.regions);
}

std::string origin_text(const ProgramUse& program) {
  return pairs_text(
      known_pairs({{"process", program.processes},
                   {"context", program.contexts},
                   {"stream", program.streams},
                   {"graph_launches", program.of_graphs ? fmt::format("{}", *program.of_graphs) : ""},
                   {"graph_node", program.graph_nodes},
                   {"beside_pct", program.beside_pct ? fmt::format("{}", *program.beside_pct) : ""}}));
}

void read_origin(std::string_view text, ProgramUse& program) {
  for (auto& [key, value] : parse_pairs(text, "origin")) {
    if (key == "process") program.processes = std::move(value);
    if (key == "context") program.contexts = std::move(value);
    if (key == "stream") program.streams = std::move(value);
    if (key == "graph_node") program.graph_nodes = std::move(value);
    for (const auto& [name, number] : {std::pair("graph_launches", &ProgramUse::of_graphs),
                                       std::pair("beside_pct", &ProgramUse::beside_pct)}) {
      if (key != name) continue;
      program.*number = read_number<std::int64_t>(value, 0);
      if (!(program.*number)) throw InputError("origin has {}={}, which is no number from 0 on", key, value);
    }
  }
}

/// A reading out of range is left out and noted.
std::string unit_use_text(const CounterValues& counters, std::string& note) {
  Pairs pairs;
  for (const Unit& unit : units()) {
    const std::optional<double>& use = counters.*unit.counter.value;
    if (!use) continue;
    if (*use >= 0 && *use <= static_cast<double>(use_range().high))
      pairs.emplace_back(unit.key, real_text(*use));
    else
      add_note(note, fmt::format("not recorded: {} = {} is out of range", unit.name, *use));
  }
  return pairs_text(pairs);
}

void read_unit_use(std::string_view text, CounterValues& counters) {
  for (const auto& [key, value] : parse_pairs(text, "unit_use")) {
    const auto unit = std::ranges::find(units(), key, &Unit::key);
    if (unit == units().end()) continue;  // a newer version's
    const std::optional<double> use = read_number<double>(value, 0);
    if (!use || *use > static_cast<double>(use_range().high))
      throw InputError("unit_use has {}={}, which is no number from 0 to {}", key, value, use_range().high);
    counters.*unit->counter.value = use;
  }
}

Limiters parse_limiters(std::string_view text, std::string_view column = "limiter") {
  Limiters limiters;
  if (text.empty()) return limiters;
  for (const std::string_view word : split(text, '+')) {
    const auto* const found =
        std::ranges::find(kAllLimiters, word, [](Limiter limiter) { return to_string(limiter); });
    if (found == std::end(kAllLimiters))
      throw InputError("{} = '{}': there is no limiter '{}'", column, text, word);
    limiters.add(*found, true);
  }
  return limiters;
}

/// The column counters_status also names sources other than counters of whole launches.
std::string status_text(const Readings& readings) {
  if (readings.achieved_source == AchievedSource::sampled) return "sampled";
  if (readings.achieved_source == AchievedSource::simulated) return "simulated";
  return readings.status ? std::string(to_string(*readings.status)) : "";
}

void read_status(const std::string& text, Readings& readings) {
  if (text.empty()) return;
  const bool achieved = readings.counters.achieved_pct.has_value();
  if (text == "sampled") {
    readings.status = CountersStatus::ok;
    readings.achieved_source = AchievedSource::sampled;
  } else if (text == "simulated") {
    readings.status = CountersStatus::off;
    readings.achieved_source = AchievedSource::simulated;
  } else {
    readings.status = parse_counters_status(text);
    if (achieved)
      readings.achieved_source =
          readings.status == CountersStatus::ok ? AchievedSource::counter : AchievedSource::warp_records;
  }
}

/// Name and quality. If the parentheses do not have a known quality, all of it is the name.
std::pair<std::string, std::optional<ProfileQuality>> parse_profile(std::string_view text) {
  for (const ProfileQuality quality : kAllProfileQualities) {
    const std::string end = profile_text("", quality);
    if (text.ends_with(end)) return {std::string(text.substr(0, text.size() - end.size())), quality};
  }
  return {std::string(text), std::nullopt};
}

/// The parsed cell; empty if the cell is.
template <typename Parse>
auto parsed(const Text& cell, Parse parse) -> std::optional<decltype(parse(cell))> {
  if (cell.empty()) return std::nullopt;
  return parse(cell);
}

std::optional<Prediction> prediction_of(const Row& row) {
  Prediction prediction;
  bool whole = true;
  copy_prediction(row, prediction, [&](const Real& cell, double& value) {
    whole = whole && cell;
    value = cell.value_or(0);
  });
  if (!whole) return std::nullopt;
  std::tie(prediction.device_profile, prediction.profile_quality) = parse_profile(row.device_profile);
  prediction.theoretical_pct = row.theoretical_pct.value_or(0);
  return prediction;
}

CaseRecord parse(const Row& row) {
  for (const Column& column : columns()) require_in_range(row, column);
  CaseRecord record;
  copy_provenance(row, record.provenance, kFromRow);
  record.provenance.compute_capability = parsed(row.compute_capability, parse_compute_capability);
  GpuState state = parse_gpu_state(row.gpu_state);
  record.provenance.memory_bus_bits = state.memory_bus_bits;
  record.provenance.gpu_settings = std::move(state.settings);
  record.condition = std::move(state.condition);
  copy_identity(row, record.identity, kFromRow);
  record.identity.parameters = parse_pairs(row.parameters, "parameters");
  record.identity.work = parsed(row.work, parse_work);
  if (row.block_threads) copy_launch(row, record.launch.emplace(), kFromRow);
  kFromRow(row.first_gpc, record.first_gpc);
  if (row.registers_per_thread) copy_compiled(row, record.compiled.emplace(), kFromRow);
  if (row.theoretical_pct) {
    copy_theory(row, record.theory.emplace(), kFromRow);
    record.theory->limiters = parse_limiters(row.limiter);
  }
  std::tie(record.device_profile, record.profile_quality) = parse_profile(row.device_profile);
  record.prediction = prediction_of(row);
  record.explanation = row.explanation;
  copy_readings(row, record.readings, kFromRow);
  read_status(row.counters_status, record.readings);
  read_unit_use(row.unit_use, record.readings.counters);
  record.readings.hardware_limiters = parsed(row.hardware_limiter, parse_hardware_limiter);
  copy_times(row, record.times, kFromRow);
  record.times.status = parsed(row.time_status, parse_time_status);
  record.check = parsed(row.check, parse_check);
  copy_program(row, record.program, kFromRow);
  read_origin(row.origin, record.program);
  record.note = row.note;
  record.extra = row.extra;
  return record;
}

void leave_out_impossible_readings(Row& row) {
  for (const Column& column : columns()) {
    const auto* const member = std::get_if<Real Row::*>(&column.where);
    if (member == nullptr) continue;
    try {
      require_in_range(row, column);
    } catch (const InputError& error) {
      (row.**member).reset();
      add_note(row.note, fmt::format("not recorded: {}", error.what()));
    }
  }
}

constexpr std::string_view kNone = "none";

/// Precedes the hash that distinguishes kernels of one short name.
constexpr std::string_view kBeforeHash = " #";
constexpr std::size_t kDigitsOfHash = 8;

/// Share of the longest stall: allocations that stall this long run out together.
constexpr double kAsLong = 0.9;

constexpr std::string_view kColumn = "gpu_state";

template <typename Number>
Number number_of(std::string_view key, std::string_view text, Number least) {
  if (const auto value = occbench::read_number<Number>(text, least)) return *value;
  throw InputError("{} has {}={}, which is no number from {} on", kColumn, key, text, least);
}

}  // namespace

std::string profile_text(const std::string& name, const std::optional<ProfileQuality>& quality) {
  return quality ? fmt::format("{} ({})", name, to_string(*quality)) : name;
}

std::string_view achieved_source(const Row& row) {
  if (!row.achieved_pct || row.counters_status.empty()) return "";
  for (const std::string_view word : {"sampled", "simulated"}) {
    if (row.counters_status == word) return word;
  }
  return row.counters_status == to_string(CountersStatus::ok) ? "counter" : "warp records";
}

std::string source_of_given(const Work& work) {
  return work.lockstep_cycles ? "reading" : "given";
}

std::string full_name(const CaseIdentity& identity) {
  return fmt::format("{}/{}", identity.experiment, identity.name);
}

std::string whole_name(const Row& row) {
  const std::size_t begin = row.case_.find("<<<");
  if (row.experiment != kTraceExperiment || row.kernel.empty() || begin == std::string::npos)
    return full_name(row);
  std::string_view configuration = std::string_view(row.case_).substr(begin);
  if (const std::size_t hash = configuration.rfind(kBeforeHash);
      hash != configuration.npos && configuration.size() - hash - kBeforeHash.size() == kDigitsOfHash &&
      configuration.find_first_not_of("0123456789abcdef", hash + kBeforeHash.size()) == configuration.npos)
    configuration = configuration.substr(0, hash);
  return fmt::format("{}/{}{}", row.experiment, row.kernel, configuration);
}

std::string exact_name(const Row& row) {
  if (row.experiment != kTraceExperiment) return full_name(row);
  return fmt::format("{}\n{} {} {} {} {}", whole_name(row), row.variant, row.registers_per_thread.value_or(0),
                     row.static_shared_bytes.value_or(0), row.local_bytes_per_thread.value_or(0),
                     row.carveout_pct.value_or(-1));
}

void tell_apart(std::span<const std::pair<std::string*, std::string>> names) {
  std::map<std::string, std::set<std::string>> texts;
  for (const auto& [name, text] : names) texts[*name].insert(text);
  for (const auto& [name, text] : names) {
    if (texts[*name].size() > 1)
      *name += fmt::format("{}{:0{}x}", kBeforeHash, fnv_hash<std::uint32_t>(text), kDigitsOfHash);
  }
}

void tell_apart(std::span<CaseRecord> cases) {
  std::vector<std::pair<std::string*, std::string>> names;
  for (CaseRecord& each : cases) {
    if (each.identity.experiment == kTraceExperiment)
      names.emplace_back(&each.identity.name, each.identity.kernel);
  }
  tell_apart(names);
}

const std::string* find_parameter(const CaseIdentity& identity, std::string_view name) {
  const auto found =
      std::ranges::find(identity.parameters, name, &std::pair<std::string, std::string>::first);
  return found == identity.parameters.end() ? nullptr : &found->second;
}

Theory theory_of(const Occupancy& occupancy, const Launch& launch, int sm_count,
                 std::span<const int> sms_per_gpc) {
  const std::int64_t wave =
      sms_per_gpc.empty() ? full_wave_blocks(occupancy, sm_count)
                          : full_wave_of_clusters(occupancy, launch.cluster_blocks, sm_count, sms_per_gpc);
  return {.theoretical_pct = occupancy.theoretical_pct,
          .blocks_per_sm = occupancy.blocks_per_sm,
          .limiters = occupancy.limiters,
          .waves = waves(launch.grid_blocks, wave)};
}

void SamplesOfCase::add(std::string_view quantity, std::int64_t index, double value) {
  samples_.push_back({experiment_, case_name_, std::string(quantity), index, value});
}

void SamplesOfCase::add(std::string_view quantity, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) add(quantity, static_cast<std::int64_t>(i), values[i]);
  }
}

void add_note(std::string& note, std::string_view more) {
  if (more.empty()) return;
  if (!note.empty()) note += kNoteSeparator;
  note += more;
}

Row row_of(const CaseRecord& record) {
  Row row;
  copy_provenance(row, record.provenance, kToRow);
  if (record.provenance.compute_capability)
    row.compute_capability = to_string(*record.provenance.compute_capability);
  row.gpu_state = to_string(GpuState{.memory_bus_bits = record.provenance.memory_bus_bits,
                                     .settings = record.provenance.gpu_settings,
                                     .condition = record.condition});
  copy_identity(row, record.identity, kToRow);
  row.parameters = pairs_text(record.identity.parameters);
  if (record.identity.work) row.work = to_string(*record.identity.work);
  if (record.launch) copy_launch(row, *record.launch, kToRow);
  row.first_gpc = record.first_gpc;
  if (record.compiled) {
    copy_compiled(row, *record.compiled, kToRow);
    // The runtime does not report their number.
    if (record.compiled->usage.barriers == 0) row.barriers.reset();
  }
  if (record.theory) {
    copy_theory(row, *record.theory, kToRow);
    row.limiter = to_string(record.theory->limiters);
  }
  row.device_profile = profile_text(record.device_profile, record.profile_quality);
  if (const auto& prediction = record.prediction) {
    copy_prediction(row, *prediction, kToRow);
    row.device_profile = profile_text(prediction->device_profile, prediction->profile_quality);
  }
  row.explanation = record.explanation;
  copy_readings(row, record.readings, kToRow);
  row.counters_status = status_text(record.readings);
  copy_times(row, record.times, kToRow);
  if (record.readings.hardware_limiters)
    row.hardware_limiter = hardware_limiter_text(*record.readings.hardware_limiters);
  if (record.times.status) row.time_status = to_string(*record.times.status);
  if (record.check) row.check = to_string(*record.check);
  copy_program(row, record.program, kToRow);
  row.origin = origin_text(record.program);
  row.note = record.note;
  row.unit_use = unit_use_text(record.readings.counters, row.note);
  row.extra = record.extra;
  leave_out_impossible_readings(row);
  return row;
}

CaseRecord case_record(const Row& row) {
  try {
    return parse(row);
  } catch (const InputError& error) {
    if (row.case_.empty()) throw;
    throw InputError("{}: {}", full_name(row), error.what());
  }
}

std::string place_of(const CaseRecord& record) {
  const std::string name = full_name(record.identity);
  return record.file.empty() ? name : fmt::format("{}, line {}: {}", record.file.string(), record.line, name);
}

std::vector<CaseRecord> read_case_records(const std::filesystem::path& file, bool* torn) {
  const std::string text = read_text(file);
  const CsvTable table = parse_row_table(text, file.string());
  if (torn != nullptr) *torn = table.whole_bytes != text.size();
  std::vector<CaseRecord> records;
  for (const Row& row : rows_of(table, file.string())) {
    const std::size_t line = table.lines[records.size()];
    records.push_back(at_line(file.string(), line, [&] { return case_record(row); }));
    records.back().file = file;
    records.back().line = line;
  }
  return records;
}

std::optional<Limiters> hardware_limiters_of(
    std::span<const std::pair<Limiter, std::optional<double>>> stalls) {
  const auto cycles = [](const auto& stall) { return stall.second.value_or(-1); };
  const double longest = cycles(*std::ranges::max_element(stalls, {}, cycles));
  if (longest < 0) return std::nullopt;
  Limiters limiters;
  for (const auto& stall : stalls)
    limiters.add(stall.first, longest > 0 && cycles(stall) >= kAsLong * longest);
  return limiters;
}

std::string hardware_limiter_text(Limiters limiters) {
  return limiters == Limiters() ? std::string(kNone) : to_string(limiters);
}

Limiters parse_hardware_limiter(std::string_view text) {
  return text == kNone ? Limiters() : parse_limiters(text, "hardware_limiter");
}

std::string pairs_text(const Pairs& pairs) {
  const auto texts = mapped(pairs, [](const auto& pair) { return pair.first + "=" + pair.second; });
  return fmt::format("{}", fmt::join(texts, ";"));
}

Pairs known_pairs(Pairs pairs) {
  std::erase_if(pairs, [](const auto& pair) { return pair.second.empty(); });
  return pairs;
}

Pairs parse_pairs(std::string_view text, std::string_view column) {
  Pairs pairs;
  if (text.empty()) return pairs;
  for (const std::string_view one : split(text, ';')) {
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      throw InputError("{} = '{}' has no key=value in '{}'", column, text, one);
    pairs.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return pairs;
}

std::pair<Pairs, Pairs> split_build(const Pairs& parameters) {
  std::pair<Pairs, Pairs> both;
  for (const auto& pair : parameters) {
    const bool of_build =
        pair.first == "register_cap" || pair.first == "registers" || pair.first == "min_blocks";
    (of_build ? both.first : both.second).push_back(pair);
  }
  return both;
}

std::string to_string(const GpuState& state) {
  const auto text = [](const auto& value) { return value ? fmt::format("{}", *value) : ""; };
  const Condition& condition = state.condition;
  Pairs pairs = {{"memory_bus_bits", text(state.memory_bus_bits)}};
  for (auto& pair : parse_pairs(state.settings, kColumn)) pairs.push_back(std::move(pair));
  const Pairs then = {{"memory_clock_mhz", text(condition.memory_clock_mhz)},
                      {"temperature_c", text(condition.temperature_c)},
                      {"power_w", condition.power_w ? real_text(*condition.power_w) : ""},
                      {"throttle_reasons", condition.throttle_reasons},
                      {"other_processes", text(condition.other_processes)}};
  pairs.insert(pairs.end(), then.begin(), then.end());
  return pairs_text(known_pairs(std::move(pairs)));
}

GpuState parse_gpu_state(std::string_view text) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  GpuState state;
  Pairs settings;
  for (auto& [key, value] : parse_pairs(text, kColumn)) {
    Condition& condition = state.condition;
    if (key == "memory_bus_bits") {
      state.memory_bus_bits = number_of(key, value, 1);
    } else if (key == "memory_clock_mhz") {
      condition.memory_clock_mhz = number_of<std::int64_t>(key, value, 0);
    } else if (key == "temperature_c") {
      condition.temperature_c = number_of(key, value, kAny);
    } else if (key == "power_w") {
      condition.power_w = number_of(key, value, 0.0);
    } else if (key == "throttle_reasons") {
      condition.throttle_reasons = value;
    } else if (key == "other_processes") {
      condition.other_processes = number_of<std::int64_t>(key, value, 0);
    } else {
      settings.emplace_back(std::move(key), std::move(value));
    }
  }
  state.settings = pairs_text(settings);
  return state;
}

}  // namespace occbench
