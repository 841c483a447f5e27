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
#include "occupancy/warps.hpp"
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

/// The note of a prediction with a profile that was made on no such GPU.
constexpr const char* kUnverified =
    "unverified: no such GPU was calibrated; the interval covers the range of every parameter of the profile "
    "(docs/any-gpu.md)";

void note_draw(std::string& note, const Work& work) {
  if (const auto seed = work.seed())
    add_note(note,
             fmt::format("the work is the draw of seed {}, and the interval does not cover others", *seed));
}

struct PredictOptions : LaunchOptions {
  std::string profile;
  Chance chance;
  std::optional<std::string> work;
  std::string durations_file;
  bool per_warp = false;
  std::optional<double> clock_mhz;
  ObservedLaunch observed;
  std::optional<double> time_us;
  std::optional<double> achieved_pct;
  std::string batch;
  std::string format;
};

/// The clock that is given, else the highest one of the GPU that is named or that the profile is of.
std::optional<double> clock_of(const PredictOptions& options, const DeviceProfile& profile) {
  if (options.clock_mhz) return options.clock_mhz;
  const Gpu* const named = named_gpu(options.gpu);
  return named != nullptr ? std::optional<double>(named->clock_mhz) : highest_clock_mhz(profile.gpu);
}

/// What is printed: the launch and its prediction as columns, and what has no column.
struct Answer {
  Row row;
  std::optional<double> lockstep_cycles;  ///< that explain what was read
  Prediction prediction;
  WorkKind kind = WorkKind::even_waves;
  std::optional<Advice> advice;
  std::vector<std::string> remedies;  ///< of the limit, and of the largest loss if no other grid is advised
  std::string clock_note;             ///< how microseconds became cycles; empty where none were given
};

/// @throws InputError naming the option that is missing
void require_work(const PredictOptions& options) {
  if (!options.work && options.durations_file.empty() && !options.time_us &&
      !options.observed.cycles_active_mean)
    throw InputError(
        "--work: say what the blocks do: --work, --durations, --time-us or --sm-cycles-active-avg");
}

/// What the blocks do.
struct ChosenWork {
  std::optional<Work> work;  ///< empty where a file has the durations
  std::string source;
  std::string clock_note;  ///< how microseconds became cycles; empty where none were given
};

/// As given, or inferred from what was observed.
ChosenWork work_of(const PredictOptions& options, const Limits& limits, const DeviceProfile& profile) {
  const std::optional<double> clock_mhz = clock_of(options, profile);
  if (options.work) {
    const std::string in_cycles = work_in_cycles(*options.work, clock_mhz);
    ChosenWork chosen{.work = parse_work(in_cycles), .source = {}, .clock_note = {}};
    if (chosen.work->lockstep_cycles) require_lockstep(*chosen.work, profile);
    chosen.source = source_of_given(*chosen.work);
    if (in_cycles != *options.work)
      chosen.clock_note = fmt::format("{} is {} at {:.0f} MHz.", *options.work, in_cycles, *clock_mhz);
    return chosen;
  }
  if (!options.durations_file.empty()) return {};
  ObservedLaunch observed = options.observed;
  if (options.time_us && clock_mhz) observed.elapsed_cycles = *options.time_us * *clock_mhz;
  auto inferred = infer_work(options.launch, options.usage, limits, profile, observed, options.chance);
  if (!inferred) throw InputError("--time-us: the GPU's clock is not known: give --clock-mhz");
  return {.work = std::move(inferred->work),
          .source = fmt::format("inferred from {}", inferred->source),
          .clock_note = {}};
}

Tasks tasks_of(const PredictOptions& options, const std::optional<Work>& work, int warps_per_block) {
  const std::int64_t blocks = options.launch.grid_blocks;
  if (work) return {*work, blocks, warps_per_block};
  return {parse_durations(read_text(options.durations_file), options.durations_file, options.per_warp),
          blocks, warps_per_block};
}

/// One simulation of the launch: when each block was where, for pictures of it.
std::string blocks_json(const PredictOptions& options) {
  const ChosenProfile chosen = profile_to_predict_with(options.profile, options.gpu);
  const DeviceProfile& profile = chosen.profile;
  const Limits& limits = limits_of(profile.compute_capability);
  check_static_shared(limits, options.usage);
  const Occupancy occupancy = theoretical_occupancy(limits, options.launch, options.usage);
  const Tasks tasks = tasks_of(options, work_of(options, limits, profile).work, occupancy.warps_per_block);
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

/// Points of a finding below which nothing is to be done about it: a choice.
constexpr double kPointsWorthARemedy = 1;

/// Of a launch's time, from which on its longest block has to be divided for the launch to take much less.
constexpr double kMostOfLaunch = 0.5;
/// From which on nothing else helps much.
constexpr double kAlmostAllOfLaunch = 0.9;

/// What to do, and the share of the launch's time that it is predicted to save; 0 where it is not known.
struct Remedy {
  double saved = 0;
  double most = 0;  ///< that it could save, where that is more
  std::string sentences;
};

/// Of a launch's time.
double share_of_longest_block(const Tasks& tasks, const Prediction& prediction) {
  return std::min(1.0, tasks.longest_block_cycles() / prediction.cycles_active_max);
}

/// What other shares or another order of the same work are simulated to save.
struct WhatIf {
  double saved = 0;
  std::string sentence;  ///< with a space before; empty where it is too little
};

WhatIf what_if(const Tasks& other, std::string_view how, const auto& cycles_of, const Prediction& now) {
  const double saved = 1 - cycles_of(other) / now.cycles_active_max;
  if (saved < kLeastShare) return {};
  return {saved, fmt::format(" {} predicted to save {:.0f} %.", how, 100 * saved)};
}

WhatIf with_longest_first(const Tasks& tasks, const auto& cycles_of, const Prediction& now) {
  if (tasks.all_equal() || tasks.is_longest_first()) return {};
  return what_if(tasks.longest_first(), "The longest blocks first are", cycles_of, now);
}

/// What the longest block takes of the launch, what the same launch of equal blocks, each as long as the mean, is simulated to save,
/// and what is saved by blocks that fill every place until all end. Dividing blocks costs overheads that are in neither: they are
/// bounds. Where warps contend a block takes longer than alone.
/// @param cycles_of  of the SM that takes longest, with other work in the same launch
Remedy remedy_of_uneven_blocks(const Finding& loss, const Tasks& tasks, const auto& cycles_of,
                               const Prediction& now) {
  const double saved = std::max(0.0, 1 - cycles_of(tasks.even_blocks()) / now.cycles_active_max);
  const double most = std::max(saved, 1 - now.predicted_elapsed_pct / now.theoretical_pct);
  if (most < kLeastShare) return {.sentences = loss.remedy};
  const double share = share_of_longest_block(tasks, now);
  return {.saved = saved,
          .most = most,
          .sentences = fmt::format(
              "The longest block takes {}{:.0f} % of the launch{} Equal blocks of the same work take up to "
              "{:.0f} % "
              "less in this grid, and blocks that fill all places to the end at most {:.0f} %. {}",
              tasks.contends() ? "at least " : "", 100 * share, share < kMostOfLaunch ? "." : ": divide it.",
              100 * saved, 100 * most,
              share < kAlmostAllOfLaunch
                  ? loss.remedy + with_longest_first(tasks, cycles_of, now).sentence
                  : fmt::format("Another order saves {:.0f} % at most.", 100 * (1 - share)))};
}

Remedy remedy_of_uneven_warps(const Finding& loss, const Tasks& tasks, const auto& cycles_of,
                              const Prediction& now) {
  const WhatIf equal =
      what_if(tasks.even_within_blocks(), "Equal shares for the warps of each block are", cycles_of, now);
  const WhatIf order = with_longest_first(tasks, cycles_of, now);
  return {.saved = std::max(equal.saved, order.saved),
          .sentences = loss.remedy + equal.sentence + order.sentence};
}

/// One of the remedies of a limit: a change, or two.
struct NamedChanges {
  std::string name;
  std::vector<Change> changes;
};

/// In the order of sentences(). @pre there is one
std::vector<NamedChanges> named_changes(const TheoryAdvice& advice) {
  std::vector<NamedChanges> all;
  const auto add = [&](const std::optional<Step>& step) {
    if (step) all.push_back({to_string(step->change), {step->change}});
  };
  for (const Step& step : advice.highest) add(step);
  add(advice.below);
  add(advice.carveout);
  add(advice.beyond);
  for (const auto& pair : {advice.within_reach, advice.pair}) {
    if (pair) all.push_back({"both changes", {pair->first, pair->second}});
  }
  return all;
}

/// A launch with other theory and the same work.
struct Changed {
  Configuration configuration;
  Tasks tasks;
  std::optional<Work> work;  ///< that `tasks` are of; empty where a file has their durations
};

/// Empty where another block size would be another draw, or the work is not known.
std::optional<Changed> changed_by(const std::vector<Change>& changes, const Configuration& now,
                                  const std::optional<Work>& work, const Tasks& tasks) {
  Configuration changed = now;
  for (const Change& change : changes) changed = with(change.axis, change.to, changed);
  const int threads = changed.launch.block_threads;
  if (threads == now.launch.block_threads) return Changed{changed, tasks, work};
  if (!work || work->seed()) return std::nullopt;
  changed.launch.block_threads = now.launch.block_threads;
  const LaunchOfWork same = with_block_size(changed.launch, *work, threads);
  if (same.launch.grid_blocks > kMostGridShape.x || same.launch.grid_blocks % now.launch.cluster_blocks != 0)
    return std::nullopt;
  changed.launch = same.launch;
  return Changed{changed, Tasks(same.work, same.launch.grid_blocks, warps_of_block(threads)), same.work};
}

/// Why nothing is saved, a clause; empty where it is not that warps share something.
std::string_view why_no_time(const Configuration& now, const Tasks& tasks, const Changed& other,
                             const auto& cycles_with) {
  if (!tasks.contends()) return "";
  const double alone = cycles_with(now, tasks.alone());
  if (1 - cycles_with(other.configuration, other.tasks.alone()) / alone < kLeastShare) return "";
  return tasks.rates().bytes > 0 ? ": warps share memory, which is busy"
                                 : ": warps share issue slots or a pipe, which are busy";
}

/// What each remedy of a limit is predicted to save. Blocks of another size do the same work, where that is known and not drawn for
/// each: else a bound is told.
/// @param cycles_with  of the SM that takes longest, with a configuration and work
/// @param whole_waves_of  a Changed: the whole waves next to its grid
Remedy remedy_of_limit(const Finding& limit, const Configuration& now, const std::optional<Work>& work,
                       const Tasks& tasks, const auto& cycles_with, const auto& whole_waves_of,
                       const Prediction& prediction) {
  const std::vector<NamedChanges> all =
      limit.advice ? named_changes(*limit.advice) : std::vector<NamedChanges>();
  if (all.empty()) return {.sentences = limit.remedy};
  const double left = 1 - share_of_longest_block(tasks, prediction);
  double most = 0;
  bool is_simulated = false;
  bool is_bounded = false;
  bool is_grid_changed = false;
  std::vector<std::string> saved;
  std::string_view why;
  for (const auto& [name, changes] : all) {
    const auto other = changed_by(changes, now, work, tasks);
    if (!other) {
      if (!limit.time || limit.time->share <= 0) continue;
      is_bounded = true;
      saved.push_back(fmt::format("at most {:.0f} % with {}", 100 * std::min(left, limit.time->share), name));
      continue;
    }
    is_simulated = true;
    double share = 1 - cycles_with(other->configuration, other->tasks) / prediction.cycles_active_max;
    std::string with_grid = name;
    for (const LaunchOfWork& whole : whole_waves_of(*other)) {
      const Tasks same(whole.work, whole.launch.grid_blocks, warps_of_block(whole.launch.block_threads));
      const double of_whole =
          1 - cycles_with({whole.launch, other->configuration.usage}, same) / prediction.cycles_active_max;
      if (of_whole < share + kLeastShare) continue;
      share = of_whole;
      with_grid = fmt::format("{} and {} blocks", name, grouped(whole.launch.grid_blocks));
      is_grid_changed = true;
    }
    most = std::max(most, share);
    saved.push_back(share < kLeastShare ? fmt::format("nothing with {}", with_grid)
                                        : fmt::format("{:.0f} % with {}", 100 * share, with_grid));
    if (why.empty()) why = why_no_time(now, tasks, *other, cycles_with);
  }
  if (!is_simulated) {
    if (limit.time && limit.time->share > left)
      return {.sentences =
                  fmt::format("{} Time saved: at most {:.0f} %, for the longest block takes the rest.",
                              limit.remedy, 100 * left)};
    return {.sentences = limit.remedy + (limit.time ? " Time saved: " + limit.time->sentence : "")};
  }
  if (most < kLeastShare && !is_bounded)
    return {.sentences = fmt::format("{} It is predicted to save no time{}.", limit.remedy, why)};
  if (all.size() == 1 && !is_grid_changed)
    return {.saved = most,
            .sentences =
                fmt::format("{} It is predicted to save {:.0f} % of the time.", limit.remedy, 100 * most)};
  return {.saved = most,
          .sentences = fmt::format("{} Predicted to save: {}.", limit.remedy, fmt::join(saved, ", "))};
}

/// What to do about the limit of theory and about the largest loss, with the time that it is predicted to save. None about
/// the grid: another one is advised, or others were found no better. What saves more comes first.
/// @param work         that `tasks` are of; empty where a file has their durations
/// @param cycles_with  of the SM that takes longest, with a configuration and work
/// @param whole_waves_of  a Changed: the whole waves next to its grid
/// @param prediction   of the launch as it is
/// @param other_grid   is advised: of losses nothing is said, but of uneven blocks that cost more than it saves
std::vector<std::string> remedies_of(const std::vector<Finding>& findings, const Configuration& now,
                                     const std::optional<Work>& work, const Tasks& tasks,
                                     const auto& cycles_with, const auto& whole_waves_of,
                                     const Prediction& prediction, const std::optional<Advice>& other_grid) {
  std::vector<Remedy> remedies;
  const auto saves_more = [&](double share) {
    return !other_grid || 100 * share > other_grid->time_saved_pct;
  };
  const auto first = [&](FindingList list) {
    return std::ranges::find_if(findings, [&](const Finding& each) {
      return each.list == list && each.points >= kPointsWorthARemedy && each.cause != Cause::tail &&
             each.cause != Cause::small_grid && !each.remedy.empty();
    });
  };
  if (const auto limit = first(FindingList::limits); limit != findings.end())
    remedies.push_back(remedy_of_limit(*limit, now, work, tasks, cycles_with, whole_waves_of, prediction));
  if (const auto loss = first(FindingList::losses); loss != findings.end()) {
    const auto cycles_of = [&](const Tasks& other) { return cycles_with(now, other); };
    const Remedy remedy =
        loss->cause == Cause::uneven_blocks  ? remedy_of_uneven_blocks(*loss, tasks, cycles_of, prediction)
        : loss->cause == Cause::uneven_warps ? remedy_of_uneven_warps(*loss, tasks, cycles_of, prediction)
                                             : Remedy{.sentences = loss->remedy};
    if (saves_more(std::max(remedy.saved, remedy.most))) remedies.push_back(remedy);
  }
  const auto idle = std::ranges::find(findings, Cause::idle_sms, &Finding::cause);
  if (tasks.all_equal() && idle != findings.end() && idle->time && idle->time->share >= kLeastShare &&
      saves_more(idle->time->share))
    remedies.push_back({.saved = idle->time->share,
                        .sentences = fmt::format("{} {} Time saved: {}", idle->sentence, idle->remedy,
                                                 idle->time->sentence)});
  std::ranges::stable_sort(remedies, std::ranges::greater(), &Remedy::saved);
  return mapped(remedies, &Remedy::sentences);
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
  auto [work, work_source, clock_note] = work_of(options, limits, profile);
  answer.clock_note = std::move(clock_note);
  if (options.achieved_pct) {
    work =
        lockstep_as_read(launch, usage, limits, profile, work.value(), *options.achieved_pct, options.chance);
    answer.lockstep_cycles = work->lockstep_cycles;
  }
  const Tasks tasks = tasks_of(options, work, occupancy.warps_per_block);
  const WorkOrigin origin = is_inferred_work(work_source) ? WorkOrigin::inferred : WorkOrigin::given;
  answer.kind = kind_of(launch, usage, occupancy, profile.sm_count(), tasks, origin);
  answer.prediction = predict(launch, usage, limits, chosen, tasks, options.chance, origin);
  if (work) {
    answer.advice = advise(launch, usage, limits, chosen, *work, answer.prediction, options.chance, origin);
  }

  CaseRecord record;
  if (const Gpu* const gpu = named_gpu(options.gpu)) record.provenance.gpu = gpu->driver_name;
  record.provenance.compute_capability = profile.compute_capability;
  record.provenance.sm_count = profile.sm_count();
  record.identity.work = work;
  record.identity.work_source = work_source;
  record.launch = launch;
  record.first_gpc = options.chance.first_gpc;
  record.theory = theory_of(occupancy, launch, profile.sm_count(), chosen.known_sms_per_gpc());
  record.prediction = answer.prediction;
  if (chosen.quality == ProfileQuality::generic) record.note = kUnverified;
  if (work) note_draw(record.note, *work);
  if (work) add_note(record.note, why_not_advised(launch, *work));
  record.compiled = Compiled{.usage = usage, .code_architecture = {}};
  LaunchFacts facts = facts_of(record);
  facts.sms_per_gpc = chosen.known_sms_per_gpc();
  facts.longest_first = tasks.is_longest_first();
  const std::vector<Finding> findings = diagnose(facts);
  record.explanation = explanation_of(facts, findings);
  const auto cycles_with = [&](const Configuration& changed, const Tasks& work_of_it) {
    return predict(changed.launch, changed.usage, limits, chosen, work_of_it, options.chance, origin)
        .cycles_active_max;
  };
  const auto whole_waves_of = [&](const Changed& changed) {
    const bool is_quick = changed.work && changed.work->distribution.form == WorkForm::equal &&
                          simulation_microseconds(limits, changed.tasks) <= kMostTriedMicroseconds;
    return is_quick ? whole_waves({changed.configuration.launch, *changed.work}, changed.configuration.usage,
                                  limits, profile.model.topology)
                    : std::vector<LaunchOfWork>();
  };
  answer.remedies = remedies_of(findings, {launch, usage}, work, tasks, cycles_with, whole_waves_of,
                                answer.prediction, answer.advice);
  record.compiled.reset();
  answer.row = row_of(record);
  // All of its usage that the user gives.
  answer.row.registers_per_thread = usage.registers_per_thread;
  answer.row.static_shared_bytes = usage.static_shared_bytes;
  return answer;
}

void print_table(const Answer& answer, std::ostream& out) {
  const Prediction& prediction = answer.prediction;
  const auto line = [&](std::string_view name, double value, std::string_view unit) {
    const double rounded = std::round(value * 100) / 100 + 0.0;  // + 0: not "-0.00"
    fmt::print(out, "{:<34} {:>12.2f} {}\n", name, rounded, unit);
  };
  line("theoretical", prediction.theoretical_pct, "%");
  const Losses& losses = prediction.losses;
  line("  grid smaller than one wave", -losses.small_grid, "points");
  line("  partial last wave", -losses.tail, "points");
  line("  uneven blocks", -losses.between_blocks, "points");
  line("  uneven warps within a block", -losses.within_block, "points");
  line("  launch and replacement overhead", -losses.overhead, "points");
  line("  contention", -losses.contention, "points");
  const double least = std::min({losses.small_grid, losses.tail, losses.between_blocks, losses.within_block,
                                 losses.overhead, losses.contention});
  if (least <= -kLeastPoints)
    fmt::print(out, "  (points above 0 are a gain: lines before it lose less with it)\n");
  const auto with_interval = [&](std::string_view name, double value, const Interval& interval) {
    line(name, value,
         fmt::format("% ({})", interval_text(interval, answer.kind, *prediction.profile_quality)));
  };
  with_interval(answer.lockstep_cycles ? "fitted to what was read" : "predicted", prediction.predicted_pct,
                prediction.interval);
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
  if (answer.lockstep_cycles) {
    fmt::print(out,
               "What was read is explained by warps that stay in lockstep for {} cycles. For other launches "
               "of the same code: --work {}\n",
               *answer.lockstep_cycles, answer.row.work);
  }
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
    object["advice"] = {{"grid_blocks", advice->launch.grid_blocks},
                        {"block_threads", advice->launch.block_threads},
                        {"work", to_string(advice->work)},
                        {"predicted_pct", advice->predicted_pct},
                        {"predicted_low_pct", advice->interval.low},
                        {"predicted_high_pct", advice->interval.high},
                        {"gain_points", advice->gain_points},
                        {"time_saved_pct", advice->time_saved_pct},
                        {"sentence", advice->sentence}};
  const Timeline& timeline = answer.prediction.timeline;
  object["timeline"] = {{"step_cycles", timeline.step_cycles}, {"warps", timeline.warps}};
  fmt::print(out, "{}\n", json_text(object));
}

/// What the blocks do, and what is known of it.
void declare_work(CLI::App& parser, PredictOptions& options) {
  CLI::Option_group* const source = parser.add_option_group("what the blocks do");
  CLI::Option* const work =
      source->add_option("--work", options.work,
                         "work, as in the column of that name: equal:200000, equal:100us, "
                         "uniform:20000:0.5:1.5:seed=1, ...; the forms are below");
  CLI::Option* const file = source->add_option("--durations", options.durations_file,
                                               "file of cycles, a line a block, or one line for all");
  add_number(*source, "--time-us", options.time_us,
             "time of another launch of the kernel, microseconds: work that is equal for all blocks is "
             "inferred from it",
             kLeastMeasured, kMostMeasured);
  add_number(*source, "--sm-cycles-active-avg", options.observed.cycles_active_mean,
             "sm__cycles_active.avg of another launch of the kernel: likewise", kLeastMeasured,
             kMostMeasured);
  source->require_option(0, 1);
  add_number(parser, "--clock-mhz", options.clock_mhz,
             "clock of the SMs for microseconds (default: the highest of the profile's GPU)", 1, 1e5);
  parser.footer(work_grammar());
  add_number(parser, "--achieved", options.achieved_pct,
             "what the counter read of this launch, %, where warps can issue in every cycle: says for how "
             "long they stay in lockstep, :lockstep=N, for the work of other launches of the same code",
             0, 100)
      ->needs(work);
  parser.add_flag("--per-warp", options.per_warp, "the file has a line a warp, block by block")->needs(file);
}

constexpr auto kNeededToPredict = std::to_array<std::string_view>(
    {"compute_capability", "sm_count", "block_threads", "grid_blocks", "registers_per_thread"});

constexpr auto kReadToPredict = std::to_array<std::string_view>(
    {"static_shared_bytes", "dynamic_shared_bytes", "carveout_pct", "cluster_blocks", "work", "gpu",
     "sm_clock_mhz", "time_us", "sm_cycles_active_avg", "case", "note"});

/// Columns that come out whether the file has them or not.
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

/// @throws InputError where no SM can hold a block
void predict_record(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  const LaunchOnDevice on = launch_on_device(record);
  record.theory = theory_of(on);
  if (record.theory->blocks_per_sm == 0)
    throw InputError(why_it_cannot_launch(on.limits, on.launch, on.usage));
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
  if (!profile && record.profile_quality == ProfileQuality::generic) add_note(record.note, kUnverified);
  record.explanation = explanation_of(facts_of(record));
}

Row predicted_row(Row row, const std::optional<DeviceProfile>& profile) {
  // What was predicted before is no answer.
  for (const std::string& name : predicted_columns())
    if (name.starts_with("predicted_")) set_cell(row, *find_column(name), "");
  // A recorded case that was skipped has none of them.
  if (!row.block_threads && !row.grid_blocks && !row.registers_per_thread) {
    add_note(row.note, no_prediction("there is no launch"));
  } else if (!row.registers_per_thread) {
    add_note(row.note, no_prediction("registers_per_thread is empty"));
  } else {
    // What spills has local memory.
    if (!row.local_bytes_per_thread && row.spill_bytes > 0) row.local_bytes_per_thread = row.spill_bytes;
    CaseRecord record = case_record(row_in_cycles(row, profile));
    record.prediction.reset();
    predict_record(record, profile);
    row = row_of(record);
  }
  return row;
}

/// Of a row that is refused, the theory: its work alone may be at fault. Empty where it is no launch.
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
                                         const std::optional<DeviceProfile>& profile, Answered& answered) {
  Row row;
  try {
    row = row_of_cells(table, cells);
    row = predicted_row(row, profile);
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

/// Predicts every row of a CSV file ("-" = standard input), whose columns are named as in a recorded row: needed
/// are compute_capability, sm_count, block_threads, grid_blocks and registers_per_thread. Where the column work
/// is empty or not there, work that is equal for all blocks is inferred from sm_cycles_active_avg, or from
/// time_us and sm_clock_mhz; the column work_source says which. Work may be in microseconds (equal:100us) where
/// sm_clock_mhz is given.
/// @param profile  a built-in one or a file; empty = the best known of each row's GPU
/// @param gpu  of all rows; not given: their columns say it
/// Prints the same rows as CSV, with theory, prediction and explanation added; other columns stay as they are. A row that
/// cannot be predicted says why in the column `note`, and has the theory that is known. Refused is one that is no launch,
/// that no SM can hold, or whose work is wrong. @returns as tell_unanswered()
/// @throws InputError with file, line and column
ExitStatus predict_batch(const std::string& file, const std::string& profile, const GpuOption& gpu,
                         Console& console) {
  const std::string source = batch_source(file);
  BatchColumns columns{.command = "predict",
                       .needed = {kNeededToPredict.begin(), kNeededToPredict.end()},
                       .optional = {kReadToPredict.begin(), kReadToPredict.end()},
                       .answers = {}};
  if (gpu.given()) {
    for (const std::string_view name : {"compute_capability", "sm_count"}) {
      std::erase(columns.needed, name);
      columns.optional.push_back(name);
    }
  }
  CsvTable table = read_batch(file, columns);
  if (gpu.given()) {
    static_cast<void>(identity_of(gpu));  // one GPU whose number of SMs is known
    table = rows_on(std::span(&gpu, 1), table, source);
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
    lines[row] = csv_record(predicted_cells(table, table.rows[row], names, answers, given, answered[row]));
    waiting.step();
  });
  const ExitStatus status = tell_unanswered(answered, table, source, console.err);
  fmt::print(console.out, "{}{}", csv_record(names), fmt::join(lines, ""));
  return status;
}

/// @throws InputError naming an option that is given beside one that takes only these
void refuse_all_but(std::span<const std::string_view> allowed, const CLI::App& parser) {
  std::vector<const CLI::App*> all = {&parser};
  const auto groups = parser.get_subcommands([](const CLI::App*) { return true; });
  all.insert(all.end(), groups.begin(), groups.end());
  for (const CLI::App* const group : all) {
    for (const CLI::Option* const other : group->get_options()) {
      const std::string name = other->get_name();
      if (other->count() > 0 && std::ranges::find(allowed, name) == allowed.end())
        throw InputError(
            "{} does not go with {}: columns of the file say what is asked, and rows come out as CSV", name,
            allowed.front());
    }
  }
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
      "or --cc with --sm-count, for rows without these columns, and --profile");
  add_format(
      parser, options->format, {"table", "csv", "json", "blocks"},
      "table, csv or json; blocks = one simulation, as JSON: the SM, begin and end of each block, in cycles");
  return [options, &parser](Console& console) {
    if (!options->batch.empty()) {
      std::vector<std::string_view> beside = {"--batch",    "--gpu",     "--cc",
                                              "--sm-count", "--profile", "--max-size"};
      if (options->format == "csv") beside.emplace_back("--format");
      refuse_all_but(beside, parser);
      return predict_batch(options->batch, options->profile, options->gpu, console);
    }
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
