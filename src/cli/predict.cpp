#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <ostream>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/gpu_option.hpp"
#include "diagnose/diagnose.hpp"
#include "files/input.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/rules.hpp"
#include "orchestrate/waiting.hpp"
#include "predict/advice.hpp"
#include "predict/inferred_work.hpp"
#include "predict/parallel.hpp"
#include "record/batch_file.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

struct PredictOptions : LaunchOptions {
  std::string profile;
  Chance chance;
  std::optional<std::string> work;
  std::string durations_file;
  bool per_warp = false;
  std::optional<double> clock_mhz;
  ObservedLaunch observed;
  std::optional<double> time_us;
  std::string batch;
  std::string format;
};

/// The given clock, else the highest clock of the named GPU or of the profile's GPU.
std::optional<double> clock_of(const PredictOptions& options, const DeviceProfile& profile) {
  if (options.clock_mhz) return options.clock_mhz;
  const Gpu* const named = named_gpu(options.gpu);
  return named != nullptr ? std::optional<double>(named->clock_mhz) : highest_clock_mhz(profile.gpu);
}

/// The output: the launch and its prediction as columns, and values without a column.
struct Answer {
  Row row;
  Prediction prediction;
  WorkKind kind = WorkKind::even_waves;
  std::optional<Advice> advice;
  std::vector<std::string> remedies;  ///< remedies_of(), paragraphs
  std::string clock_note;             ///< how microseconds became cycles; empty if none were given
};

/// @throws InputError naming the option that is missing
void require_work(const PredictOptions& options) {
  if (!options.work && options.durations_file.empty() && !options.time_us &&
      !options.observed.cycles_active_mean)
    throw InputError(
        "--work: say what the blocks do: --work, --durations, --time-us or --sm-cycles-active-avg");
}

/// The work of the blocks.
struct ChosenWork {
  std::optional<Work> work;  ///< empty if a file has the durations
  std::string source{};
  std::string clock_note{};  ///< how microseconds became cycles; empty if none were given
};

/// The given work, or work inferred from observations.
ChosenWork work_of(const PredictOptions& options, const Asked& asked) {
  const DeviceProfile& profile = asked.chosen.profile;
  const std::optional<double> clock_mhz = clock_of(options, profile);
  if (options.work) {
    const std::string in_cycles = work_in_cycles(*options.work, clock_mhz);
    ChosenWork chosen{.work = parse_work(in_cycles)};
    if (chosen.work->lockstep_cycles) require_lockstep(*chosen.work, profile);
    chosen.source = source_of_given(*chosen.work);
    if (in_cycles != *options.work)
      chosen.clock_note = fmt::format("{} is {} at {:.0f} MHz.", *options.work, in_cycles, *clock_mhz);
    return chosen;
  }
  if (!options.durations_file.empty()) return {};
  ObservedLaunch observed = options.observed;
  if (options.time_us && clock_mhz) observed.elapsed_cycles = cycles_of_record(*options.time_us, *clock_mhz);
  auto inferred = infer_work(asked, observed);
  if (!inferred) throw InputError("--time-us: the GPU's clock is not known: give --clock-mhz");
  return {
      .work = std::move(inferred->work),
      .source = fmt::format("inferred from {}", inferred->source),
      .clock_note = options.time_us
                        ? fmt::format("--time-us is read at {:.0f} MHz, less the {} us that a profiler adds.",
                                      *clock_mhz, kRecordOverheadUs)
                        : ""};
}

Durations durations_of(const PredictOptions& options) {
  return parse_durations(read_text(options.durations_file), options.durations_file, options.per_warp);
}

Tasks tasks_of(const PredictOptions& options, const std::optional<Work>& work, int warps_per_block) {
  const std::int64_t blocks = options.launch.grid_blocks;
  return work ? Tasks(*work, blocks, warps_per_block) : Tasks(durations_of(options), blocks, warps_per_block);
}

/// One simulation of the launch: place and time of each block, for pictures.
std::string blocks_json(const PredictOptions& options) {
  const ChosenProfile chosen = profile_to_predict_with(options.profile, options.gpu);
  const DeviceProfile& profile = chosen.profile;
  const Limits& limits = limits_of(profile.compute_capability);
  check_static_shared(limits, options.usage);
  const Occupancy occupancy = theoretical_occupancy(limits, options.launch, options.usage);
  const Tasks tasks = tasks_of(
      options, work_of(options, {options.launch, options.usage, limits, chosen, options.chance}).work,
      occupancy.warps_per_block);
  require_simulable(limits, tasks);
  std::vector<BlockSpan> spans;
  const Simulation simulation = simulate(options.launch, options.usage, limits, profile.model, tasks,
                                         Seeds(options.chance, profile).of_run(0), &spans);
  std::ranges::sort(spans, {},
                    [](const BlockSpan& span) { return std::tuple(span.sm, span.begin, span.end); });
  Json blocks = Json::array();
  for (const BlockSpan& span : spans) blocks.push_back({span.sm, span.begin, span.end});
  return json_text(
      {{"sm_count", profile.sm_count()},
       {"warps_per_sm", limits.max_warps_per_sm},
       {"achieved_pct", simulation.achieved_pct},
       {"elapsed_pct", simulation.elapsed_pct},
       {"cycles_active_max", simulation.cycles_active_max},
       {"timeline", {{"step_cycles", simulation.timeline.step_cycles}, {"warps", simulation.timeline.warps}}},
       {"blocks", std::move(blocks)}},
      -1);
}

/// A finding of fewer points gets no remedy: a choice.
constexpr double kPointsWorthARemedy = 1;

/// Advice on the limit of theory, with the most time that it can save, and on the largest loss. None on the grid:
/// another grid is advised, or others were found no better. If one is advised, losses get no remedy, except uneven work
/// that costs more time: the counter leaves out SMs that have no block any more.
std::vector<std::string> remedies_of(std::span<const Finding> findings, const Tasks& tasks,
                                     const Prediction& prediction, const std::optional<Advice>& advice) {
  std::vector<std::string> remedies;
  const auto first = [&](FindingList list) {
    return std::ranges::find_if(findings, [&](const Finding& each) {
      return each.list == list && each.points >= kPointsWorthARemedy && each.cause != Cause::tail &&
             each.cause != Cause::small_grid && !each.remedy.empty();
    });
  };
  if (const auto limit = first(FindingList::limits); limit != findings.end()) {
    // Contending warps gain nothing from it, and uneven work may gain more.
    const bool is_told = limit->time && limit->time->is_known && !tasks.contends() && tasks.all_equal();
    remedies.push_back(is_told ? fmt::format("{} {}: {}", limit->remedy, kSavedAlone, limit->time->sentence)
                               : limit->remedy);
  }
  const double empty = 1 - prediction.predicted_elapsed_pct / prediction.theoretical_pct;
  const bool is_uneven = !tasks.all_equal() && empty >= kLeastShare;
  if (advice && (!is_uneven || 100 * empty <= advice->time_saved_pct + 1)) return remedies;
  if (const auto loss = first(FindingList::losses); loss != findings.end()) remedies.push_back(loss->remedy);
  if (is_uneven)
    remedies.push_back(fmt::format(
        "The longest block takes {}{:.0f} % of the launch. The same work that fills all places to the end "
        "takes at most {:.0f} % less time.",
        tasks.contends() ? "at least " : "",
        100 * std::min(1.0, tasks.longest_block_cycles() / prediction.cycles_active_max), 100 * empty));
  return remedies;
}

Answer predict_launch(const PredictOptions& options) {
  const Waiting waiting(fmt::format("predicting {} blocks", grouped(options.launch.grid_blocks)));
  const ChosenProfile chosen = profile_to_predict_with(options.profile, options.gpu);
  const DeviceProfile& profile = chosen.profile;
  const Limits& limits = limits_of(profile.compute_capability);
  const Launch& launch = options.launch;
  const Usage& usage = options.usage;
  check_static_shared(limits, usage);
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);

  Answer answer;
  Asked asked{launch, usage, limits, chosen, options.chance};
  auto [work, work_source, clock_note] = work_of(options, asked);
  answer.clock_note = std::move(clock_note);
  const Tasks tasks = tasks_of(options, work, occupancy.warps_per_block);
  if (is_inferred_work(work_source)) asked.origin = WorkOrigin::inferred;
  answer.kind = kind_of(launch, usage, occupancy, profile.sm_count(), tasks, asked.origin);
  answer.prediction = predict(asked, tasks);
  if (work) answer.advice = advise(asked, *work, answer.prediction);

  CaseRecord record;
  if (const Gpu* const gpu = named_gpu(options.gpu)) record.provenance.gpu = identity_of(*gpu).name;
  record.provenance.compute_capability = profile.compute_capability;
  record.provenance.sm_count = profile.sm_count();
  record.identity.work = work;
  record.identity.work_source = work_source;
  record.launch = launch;
  record.first_gpc = options.chance.first_gpc;
  record.theory = theory_of(occupancy, launch, profile.sm_count(), chosen.known_sms_per_gpc());
  record.prediction = answer.prediction;
  if (chosen.quality == ProfileQuality::generic) note_generic(record.note, launch, work, chosen);
  if (!work && tasks.longest_block_cycles() < 100)
    add_note(record.note, "--durations is read as cycles: microseconds times the clock in MHz");
  if (work) note_draw(record.note, *work);
  if (work) add_note(record.note, why_not_advised(launch, *work));
  add_note(record.note, assumed_cluster_slots(limits, {launch, usage}));
  record.compiled = Compiled{.usage = usage, .code_architecture = {}};
  LaunchFacts facts = facts_of(record);
  facts.sms_per_gpc = chosen.known_sms_per_gpc();
  facts.longest_first = tasks.is_longest_first();
  const std::vector<Finding> findings = diagnose(facts);
  record.explanation = explanation_of(facts, findings);
  answer.remedies = remedies_of(findings, tasks, answer.prediction, answer.advice);
  record.compiled.reset();
  answer.row = row_of(record);
  // The user gives only these parts of its usage.
  answer.row.registers_per_thread = usage.registers_per_thread;
  answer.row.static_shared_bytes = usage.static_shared_bytes;
  return answer;
}

void print_table(const Answer& answer, std::ostream& out) {
  const Prediction& prediction = answer.prediction;
  bool has_gain = false;
  const auto line = [&](std::string_view name, double value, std::string_view unit) {
    const double shown = std::abs(value) < 0.005 ? 0 : value;  // not "-0.00"
    has_gain = has_gain || (unit == "points" && shown > 0);
    fmt::print(out, "{:<34} {:>12.2f} {}\n", name, shown, unit);
  };
  line("theoretical", prediction.theoretical_pct, "%");
  const Losses& losses = prediction.losses;
  line("  grid smaller than one wave", -losses.small_grid, "points");
  line("  partial last wave", -losses.tail, "points");
  line("  uneven blocks", -losses.between_blocks, "points");
  line("  uneven warps within a block", -losses.within_block, "points");
  line("  launch and replacement overhead", -losses.overhead, "points");
  line("  contention", -losses.contention, "points");
  if (has_gain) fmt::print(out, "  (points above 0 are a gain: they give back what lines above lose)\n");
  const auto with_interval = [&](std::string_view name, double value, const Interval& interval) {
    line(name, value,
         fmt::format("% ({})", interval_text(interval, answer.kind, *prediction.profile_quality)));
  };
  with_interval("predicted", prediction.predicted_pct, prediction.interval);
  with_interval("predicted over elapsed cycles", prediction.predicted_elapsed_pct,
                prediction.elapsed_interval);
  line("active cycles of an SM, least", prediction.cycles_active_min, "cycles");
  line("active cycles of an SM, mean", prediction.cycles_active_mean, "cycles");
  line("active cycles of an SM, most", prediction.cycles_active_max, "cycles");
  fmt::print(out, "\n{}\n", answer.row.explanation);
  fmt::print(out, "{}, {} SMs; profile {}{}{}\n",
             answer.row.gpu.empty() ? "Compute capability " + answer.row.compute_capability : answer.row.gpu,
             *answer.row.sm_count, answer.row.device_profile, answer.row.note.empty() ? "." : ": ",
             answer.row.note);
  if (!answer.clock_note.empty()) fmt::print(out, "{}\n", answer.clock_note);
  if (answer.advice) fmt::print(out, "{}\n", answer.advice->sentence);
  for (const std::string& each : answer.remedies) fmt::print(out, "{}\n", each);
}

void print_csv(const Answer& answer, std::ostream& out) {
  fmt::print(out, "{}", flat_csv(std::vector{known_cells(answer.row)}));
}

void print_json(const Answer& answer, std::ostream& out) {
  Json object = known_cells(answer.row);
  object["profile_quality"] = to_string(*answer.prediction.profile_quality);
  object["predicted_elapsed_low_pct"] = answer.prediction.elapsed_interval.low;
  object["predicted_elapsed_high_pct"] = answer.prediction.elapsed_interval.high;
  object["predicted_cycles_active_min"] = answer.prediction.cycles_active_min;
  object["predicted_cycles_active_max"] = answer.prediction.cycles_active_max;
  object["explanation"] = answer.row.explanation;
  if (!answer.remedies.empty()) object["remedies"] = answer.remedies;
  if (const auto& advice = answer.advice)
    object["advice"] = {
        {"grid_blocks", advice->launch.grid_blocks},       {"block_threads", advice->launch.block_threads},
        {"cluster_blocks", advice->launch.cluster_blocks}, {"work", to_string(advice->work)},
        {"predicted_pct", advice->predicted_pct},          {"predicted_low_pct", advice->interval.low},
        {"predicted_high_pct", advice->interval.high},     {"gain_points", advice->gain_points},
        {"time_saved_pct", advice->time_saved_pct},        {"time_saved_low_pct", advice->time_saved.low},
        {"time_saved_high_pct", advice->time_saved.high},  {"sentence", advice->sentence}};
  const Timeline& timeline = answer.prediction.timeline;
  object["timeline"] = {{"step_cycles", timeline.step_cycles}, {"warps", timeline.warps}};
  fmt::print(out, "{}\n", json_text(object));
}

/// Options for the work of the blocks, and what is known of it.
void declare_work(CLI::App& parser, PredictOptions& options) {
  CLI::Option_group* const source = parser.add_option_group("what the blocks do");
  source->add_option("--work", options.work,
                     "work, as in the column of that name: equal:200000, equal:100us, "
                     "uniform:20000:0.5:1.5:seed=1, ...; the forms are below");
  CLI::Option* const file = source->add_option("--durations", options.durations_file,
                                               "file of cycles, a line a block (= --grid), or one for all");
  add_number(*source, "--time-us", options.time_us,
             "time of another launch of the kernel as profilers record it, microseconds: work that is equal "
             "for all blocks is inferred from it",
             kLeastMeasured, kMostMeasured);
  add_number(*source, "--sm-cycles-active-avg", options.observed.cycles_active_mean,
             "sm__cycles_active.avg of another launch of the kernel: likewise", kLeastMeasured,
             kMostMeasured);
  source->require_option(0, 1);
  add_number(parser, "--clock-mhz", options.clock_mhz,
             "clock of the SMs for microseconds (default: the highest of the profile's GPU)", 1, 1e5);
  parser.footer(work_grammar());
  parser.add_flag("--per-warp", options.per_warp, "the file has a line a warp, block by block")->needs(file);
}

constexpr auto kNeededToPredict = std::to_array<std::string_view>(
    {"compute_capability", "sm_count", "block_threads", "grid_blocks", "registers_per_thread"});

constexpr auto kReadToPredict = std::to_array<std::string_view>(
    {"static_shared_bytes", "dynamic_shared_bytes", "carveout_pct", "cluster_blocks", "work", "gpu",
     "sm_clock_mhz", "time_us", "sm_cycles_active_avg", "case", "note"});

/// Output columns, whether the file has them or not.
std::vector<std::string> predicted_columns() {
  std::vector<std::string> names = {"work", "work_source"};
  const Column* const last = find_column("explanation");
  for (const Column* each = find_column("blocks_per_sm"); each <= last; ++each)
    names.emplace_back(each->name);
  names.emplace_back("note");
  return names;
}

Row row_in_cycles(Row row, const std::optional<DeviceProfile>& profile) {
  const std::string_view gpu = row.gpu.empty() && profile ? profile->gpu : row.gpu;
  const std::optional<double> clock_mhz = row.sm_clock_mhz ? row.sm_clock_mhz : highest_clock_mhz(gpu);
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

Theory theory_of(const LaunchOnDevice& on) {
  check_static_shared(on.limits, on.usage);
  return theory_of(theoretical_occupancy(on), on.launch, on.sm_count);
}

/// @throws InputError if no SM can hold a block
void predict_record(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  const LaunchOnDevice on = launch_on_device(record);
  record.theory = theory_of(on);
  if (record.theory->blocks_per_sm == 0)
    throw InputError(why_it_cannot_launch(on.limits, on.launch, on.usage));
  add_note(record.note, assumed_cluster_slots(on.limits, {on.launch, on.usage}));
  if (record.identity.work) {
    repredict(record, profile);
    if (record.identity.work_source.empty())
      record.identity.work_source = source_of_given(*record.identity.work);
    note_draw(record.note, *record.identity.work);
  } else {
    const Inference inference = infer_and_predict(record, profile);
    if (inference == Inference::too_little)
      add_note(record.note, no_prediction("work is empty and cannot be inferred: give work, "
                                          "sm_cycles_active_avg, or time_us with sm_clock_mhz or gpu"));
    if (inference != Inference::predicted) return;
  }
  if (!profile && record.profile_quality == ProfileQuality::generic)
    note_generic(record.note, on.launch, record.identity.work, profile_of(record));
  record.explanation = explanation_of(facts_of(record));
}

/// Measurements on one GPU do not apply to others: work inferred from them is kept, and none is inferred for several.
/// @param gpus  how many --gpu asks each row for; 0 = the row names its own
Row predicted_row(Row row, const std::optional<DeviceProfile>& profile, std::size_t gpus) {
  if (gpus > 0 && is_inferred_work(row.work_source)) {
    row.time_us.reset();
    row.sm_cycles_active_avg.reset();
  }
  // An earlier prediction is not an answer.
  for (const std::string& name : predicted_columns())
    if (name.starts_with("predicted_")) set_cell(row, *find_column(name), "");
  // A recorded case that was skipped has none of them.
  if (!row.block_threads && !row.grid_blocks && !row.registers_per_thread) {
    add_note(row.note, no_prediction("there is no launch"));
  } else if (!row.registers_per_thread) {
    add_note(row.note, no_prediction("registers_per_thread is empty"));
  } else if (gpus > 1 && row.work.empty()) {
    add_note(row.note, no_prediction("work is empty, and what was measured is of one GPU: give one --gpu"));
  } else {
    // A kernel that spills has local memory.
    if (row.spill_bytes > 0)
      row.local_bytes_per_thread = std::max(row.local_bytes_per_thread.value_or(0), *row.spill_bytes);
    CaseRecord record = case_record(row_in_cycles(row, profile));
    record.prediction.reset();
    predict_record(record, profile);
    row = row_of(record);
  }
  return row;
}

/// The theory of a refused row, since only its work may be at fault. Empty if it is not a launch.
Row row_of_theory(Row row) {
  row.work.clear();
  CaseRecord answer;
  try {
    answer.theory = theory_of(launch_on_device(case_record(row)));
  } catch (const InputError&) {
    return {};
  }
  return row_of(answer);
}

std::vector<std::string> predicted_cells(const CsvTable& table, const std::vector<std::string>& cells,
                                         std::span<const std::string> names,
                                         std::span<const std::string> answers,
                                         const std::optional<DeviceProfile>& profile, std::size_t gpus,
                                         Answered& answered) {
  Row row;
  try {
    row = row_of_cells(table, cells);
    row = predicted_row(row, profile, gpus);
    if (!row.predicted_pct) answered.why_not = row.note;
  } catch (const InputError& error) {
    answered = {.why_not = error.what(), .refused = true};
    row = row_of_theory(std::move(row));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (table.names[i] == "work") row.work = cells[i];
      if (table.names[i] == "note") row.note = cells[i];
    }
    add_note(row.note, no_prediction(answered.why_not));
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_answer = std::ranges::find(answers, names[i]) != answers.end();
    out.push_back(is_answer ? cell_text(row, *find_column(names[i])) : cells[i]);
  }
  return out;
}

/// Predicts every row of a CSV file ("-" = standard input), with columns named as in a recorded row. It needs
/// compute_capability, sm_count, block_threads, grid_blocks and registers_per_thread. If the column work is empty or
/// missing, work that is equal for all blocks is inferred from sm_cycles_active_avg, or from time_us and sm_clock_mhz;
/// the column work_source says which. Work may be in microseconds (equal:100us). Without sm_clock_mhz the GPU's highest
/// clock is used, if it is known.
/// @param profile  a built-in one or a file; empty = the best known of each row's GPU
/// @param gpu  of all rows, or a list of GPUs to predict each row for; not given: their columns name it
/// Prints the same rows as CSV, with theory, prediction and explanation added; other columns stay as they are. A row
/// that cannot be predicted says why in the column `note`, and has the theory that is known. It refuses rows that are
/// not a launch, that no SM can hold, or whose work is wrong. @returns as tell_unanswered()
/// @throws InputError with file, line and column
ExitStatus predict_batch(const std::string& file, const std::string& profile, const GpuOption& gpu,
                         Console& console) {
  const std::string source = batch_source(file);
  BatchColumns columns{.command = "predict",
                       .needed = {kNeededToPredict.begin(), kNeededToPredict.end()},
                       .optional = {kReadToPredict.begin(), kReadToPredict.end()}};
  if (gpu.given()) {
    for (const std::string_view name : {"compute_capability", "sm_count"}) {
      std::erase(columns.needed, name);
      columns.optional.push_back(name);
    }
  }
  CsvTable table = read_batch(file, columns);
  std::size_t gpus = 0;
  if (gpu.given()) {
    for (const GpuOption& each : asked_gpus(gpu)) {
      static_cast<void>(identity_of(each));  // its number of SMs must be known
      ++gpus;
    }
    table = rows_on(gpu, table, source);
  }
  std::optional<DeviceProfile> given;
  if (!profile.empty()) given = find_profile(profile);
  const std::vector<std::string> answers = predicted_columns();
  std::vector<std::string> names = table.names;
  std::ranges::copy_if(answers, std::back_inserter(names), [&](const std::string& answer) {
    return std::ranges::find(table.names, answer) == table.names.end();
  });
  std::vector<std::string> lines(table.rows.size());
  Waiting waiting("predicting rows:", lines.size());
  std::vector<Answered> answered(table.rows.size());
  for_each_parallel(lines.size(), [&](std::size_t row) {
    lines[row] =
        csv_record(predicted_cells(table, table.rows[row], names, answers, given, gpus, answered[row]));
    waiting.step();
  });
  const ExitStatus status = tell_unanswered(answered, table, source, console.err);
  fmt::print(console.out, "{}{}", csv_record(names), fmt::join(lines, ""));
  return status;
}

}  // namespace

Action declare_predict(CLI::App& parser) {
  auto options = std::make_shared<PredictOptions>();
  parser.add_option("--profile", options->profile,
                    "device profile: a built-in one or a file (default: the best known of --gpu, of --cc "
                    "with --sm-count, or of this machine's GPU)");
  declare_launch_options(parser, *options);
  add_number(parser, "--seed", options->chance.seed,
             fmt::format("first of the seeds that decide how ties fall (default: {})", options->chance.seed));
  add_number(parser, "--first-gpc", options->chance.first_gpc,
             "GPC that the launch begins with, 0 = that of SM 0, as in the column first_gpc (default: one "
             "after another, because it is not known)");
  declare_work(parser, *options);
  parser.add_option(
      "--batch", options->batch,
      "predict every row of this CSV file (- = standard input), with columns as in a recorded row: the same "
      "rows come out with the prediction; work that is empty is inferred from sm_cycles_active_avg, or from "
      "time_us and sm_clock_mhz (else the highest clock of the row's gpu); beside it --gpu "
      "or --cc with --sm-count, for rows without these columns, also several (a100-sxm4-40gb,h200), and "
      "--profile");
  add_format(
      parser, options->format, {"table", "csv", "json", "blocks"},
      "table, csv or json; blocks = one simulation, as JSON: the SM, begin and end of each block, in cycles");
  return [options, &parser](Console& console) {
    if (!options->batch.empty()) {
      std::vector<std::string_view> beside = {"--batch",    "--gpu",     "--cc",
                                              "--sm-count", "--profile", "--max-size"};
      if (options->format == "csv") beside.emplace_back("--format");
      refuse_all_but(beside, parser, ": columns of the file say what is asked, and rows come out as CSV");
      return predict_batch(options->batch, options->profile, options->gpu, console);
    }
    if (parser.count("--grid") == 0 && !options->durations_file.empty() && !options->per_warp)
      if (const auto blocks = std::ssize(durations_of(*options).cycles); blocks > 1)
        options->launch.grid_blocks = blocks;
    require_launch(*options);
    require_work(*options);
    if (options->format == "blocks") {
      fmt::print(console.out, "{}\n", blocks_json(*options));
      return ExitStatus::done;
    }
    const auto print =
        options->format == "json" ? print_json : (options->format == "csv" ? print_csv : print_table);
    print(predict_launch(*options), console.out);
    return ExitStatus::done;
  };
}

}  // namespace occbench
