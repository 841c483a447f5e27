#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/command.hpp"
#include "cli/gpu_option.hpp"
#include "cli/program_table.hpp"
#include "diagnose/diagnose.hpp"
#include "diagnose/finding.hpp"
#include "occupancy/configuration.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/installation.hpp"
#include "orchestrate/progress.hpp"
#include "orchestrate/waiting.hpp"
#include "predict/device_profile.hpp"
#include "predict/parallel.hpp"
#include "programs/program.hpp"
#include "record/case_filter.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"
#include "record/simulated.hpp"

namespace occbench {

namespace {

/// A launch known only by numbers, as a profiler's page shows them.
struct NumbersOption : LaunchOptions {
  Readings readings;
  std::optional<double> time_us;
  std::optional<double> clock_mhz;
};

/// As reals in rows: with up to four decimals.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

/// The lists of findings under their headings, indented. Each finding has a line with its confidence, then its remedy,
/// unless the finding before has the same one, and the time that it can save.
/// @param reached_pct  the end of the losses; empty = theory less the losses
/// @param by  the source of reached_pct if not a counter
void print_findings(std::span<const Finding> findings, double theoretical_pct,
                    std::optional<double> reached_pct, std::string_view by, std::ostream& out) {
  std::string_view remedy_before;
  bool has_saved = false;
  const auto print = [&](FindingList list, const std::string& heading) {
    bool is_first = true;
    // The unexplained rest comes after all causes, however large it is.
    for (const bool unexplained : {false, true})
      for (const Finding& finding : findings) {
        if (finding.list != list || (finding.cause == Cause::unexplained) != unexplained) continue;
        if (std::exchange(is_first, false)) fmt::print(out, "  {}\n", heading);
        fmt::print(out, "    {} [{}, {}]\n", finding.sentence, to_string(finding.cause),
                   to_string(finding.confidence));
        if (finding.remedy != std::exchange(remedy_before, finding.remedy))
          fmt::print(out, "      {}\n", finding.remedy);
        if (!finding.time) continue;
        const bool is_further = finding.time->share > 0 && std::exchange(has_saved, true);
        fmt::print(out, "      {}{}: {}\n", kSavedAlone, is_further ? ", not to be added" : "",
                   finding.time->sentence);
      }
  };
  double losses = 0;
  for (const Finding& finding : findings)
    if (finding.list == FindingList::losses) losses += finding.points;
  print(FindingList::limits, fmt::format("Limits of theory: 100 to {:.4g} %", theoretical_pct));
  print(FindingList::losses, fmt::format("Lost below theory{}: {:.4g} to {:.4g} %", by, theoretical_pct,
                                         reached_pct.value_or(theoretical_pct - losses)));
  print(FindingList::remarks, "Remarks");
}

/// An array with one object per finding: cause, list, points, confidence, evidence (an object of columns and values),
/// remedy, sentence. A finding about time also has time in words and time_saved_at_most_pct; a limit has steps as in
/// `calc`.
Json findings_json(std::span<const Finding> findings) {
  Json array = Json::array();
  for (const Finding& finding : findings) {
    Json evidence = Json::object();
    for (const auto& [column, value] : finding.evidence) evidence[std::string(column)] = rounded(value);
    Json object = {{"cause", to_string(finding.cause)}, {"list", to_string(finding.list)},
                   {"points", rounded(finding.points)}, {"confidence", to_string(finding.confidence)},
                   {"evidence", std::move(evidence)},   {"remedy", finding.remedy},
                   {"sentence", finding.sentence}};
    if (finding.time) {
      object["time"] = finding.time->sentence;
      object["time_saved_at_most_pct"] = rounded(100 * finding.time->share);
    }
    if (finding.advice) object["steps"] = steps_json(*finding.advice);
    array.push_back(std::move(object));
  }
  return array;
}

struct ExplainOptions {
  std::vector<std::string> files;
  NumbersOption numbers;
  std::string filter;
  std::string profile;
  std::size_t top = 20;
  bool repredict = false;
  std::string format;

  bool predicts() const {
    return repredict || !profile.empty();
  }
};

std::vector<CaseRecord> all_cases(const ExplainOptions& options, std::ostream& err) {
  std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (files.empty()) {
    const std::optional<std::filesystem::path> recorded = recorded_suite();
    if (!recorded)
      throw InputError(
          "no recorded rows were found near this program or the current folder: name a FILE.csv");
    files.push_back(*recorded);
  }
  std::vector<CaseRecord> cases;
  SimulatedOrMeasured kind;
  for (const std::filesystem::path& file : files) {
    bool torn = false;
    std::vector<CaseRecord> of_file = read_case_records(file, &torn);
    if (torn) tell_torn(file, err);
    if (options.files.empty() && !of_file.empty())
      fmt::print(err, "no FILE is named: these rows are those of the project, {}, of {}\n", file.string(),
                 of_file.front().provenance.gpu);
    for (CaseRecord& each : of_file) {
      kind.add(each.times.status ? to_string(*each.times.status) : "", file.string());
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

/// The total of all matching rows of programs, also those without a counter's value; empty if there are none.
std::string total_of_programs(std::span<const CaseRecord> all, const ExplainOptions& options) {
  const auto matches = identity_filter(options.filter);
  std::vector<CaseRecord> cases(all.begin(), all.end());
  std::erase_if(cases,
                [&](const CaseRecord& each) { return !each.program.launches || !matches(each.identity); });
  return cases.empty()
             ? ""
             : fmt::format("\nTogether {}. The column kernel has whole names.\n", program_total(cases));
}

/// Matching cases with theory and a counter's value, or with work inferred from their time. `left_out` says how many
/// others match.
std::vector<CaseRecord> counted_cases(std::span<const CaseRecord> all, const ExplainOptions& options,
                                      std::string& left_out) {
  const auto matches = identity_filter(options.filter);
  std::vector<CaseRecord> cases(all.begin(), all.end());
  std::erase_if(cases, [&](const CaseRecord& each) { return !matches(each.identity); });
  tell_apart(cases);
  const std::size_t others = std::erase_if(cases, [](const CaseRecord& each) {
    const bool is_counted = each.readings.counters.achieved_pct.has_value();
    return !each.theory || !(is_counted || is_inferred_work(each.identity.work_source));
  });
  if (others > 0)
    left_out =
        fmt::format(" Left out: {} without theory, or neither counted nor of inferred work (see note).",
                    counted(static_cast<std::int64_t>(others), "row"));
  const std::string uncounted = cases.empty() ? total_of_programs(all, options) : "";
  if (!uncounted.empty())
    throw InputError("no row has a counter's value; `occbench trace --counters 3` reads one of each.{}",
                     uncounted);
  if (cases.empty())
    throw InputError(
        options.filter.empty()
            ? "no row has both theory (theoretical_pct) and a counter's value (achieved_pct); a launch is "
              "explained without one by its numbers: --cc or "
              "--gpu, --block-size, --grid, --registers, --achieved"
            : fmt::format("no row has theory, a counter's value and a name that --filter '{}' is found in",
                          options.filter));
  return cases;
}

double lost_points(const CaseRecord& record) {
  const double reached = record.readings.counters.achieved_pct.value_or(
      record.prediction ? record.prediction->predicted_pct : 0);
  return record.theory->theoretical_pct - reached;
}

/// Sorts kernels of a program by the time that advice could save, since a launch may be one of thousands, and cases of
/// a suite by points.
/// @returns what they are sorted by
std::string_view sort_by_loss(std::vector<CaseRecord>& cases) {
  const bool of_programs = std::ranges::all_of(
      cases, [](const CaseRecord& each) { return each.program.total_time_us.has_value(); });
  if (!of_programs) {
    std::ranges::stable_sort(cases, std::ranges::greater{}, lost_points);
    return "that lost most";
  }
  sort_by_time_saved(cases);
  return "that can save most time";
}

/// A case and its findings.
struct Explained {
  CaseRecord record;
  std::vector<Finding> findings;
  std::optional<double> share_of_program{};  ///< of the time of all kernels in the files
};

/// @param all  of the files, which may include another build of its kernel
Explained explained(CaseRecord record, std::span<const CaseRecord> all) {
  LaunchFacts facts = facts_of(record);
  facts.others = other_builds_of(record, all);
  std::vector<Finding> findings = in_place(record, [&] { return diagnose(facts); });
  // Otherwise the recorded explanation stays: it used the device's own limits, which the table lacks.
  if (facts.limits != nullptr) record.explanation = explanation_of(facts, findings);
  return {std::move(record), std::move(findings)};
}

/// The source of its achieved occupancy: "counter", "warp records" or "simulated".
std::string_view read_by(const CaseRecord& record) {
  const AchievedSource source = record.readings.achieved_source.value_or(AchievedSource::counter);
  return source == AchievedSource::simulated      ? "simulated"
         : source == AchievedSource::warp_records ? "warp records"
                                                  : "counter";
}

/// Why a row has no explanation.
std::string why_there_is_none(const CaseRecord& record) {
  const auto& capability = record.provenance.compute_capability;
  if (!capability) return "no explanation: compute_capability is empty";
  if (find_limits(*capability) == nullptr) {
    return fmt::format(
        "no explanation: compute capability {} is not in the table of limits; a newer occbench may have it",
        to_string(*capability));
  }
  if (!record.launch) return "no explanation: block_threads is empty";
  if (!record.compiled) return "no explanation: registers_per_thread is empty";
  return "no explanation: no block of the launch fits an SM";
}

void print_case(const Explained& each, std::ostream& out) {
  const CaseRecord& record = each.record;
  fmt::print(out, "{}\n  theory {:.1f} %", one_line(full_name(record.identity)),
             record.theory->theoretical_pct);
  if (record.prediction) fmt::print(out, ", {}", prediction_text(record));
  if (const auto& achieved = record.readings.counters.achieved_pct)
    fmt::print(out, ", {} {:.1f} %", read_by(record), *achieved);
  if (const auto& total_us = record.program.total_time_us)
    fmt::print(
        out, "; {} ms in {}{}", milliseconds(*total_us),
        counted(record.program.launches.value_or(0), "launch", "es"),
        each.share_of_program ? fmt::format(", {:.1f} % of the time", 100 * *each.share_of_program) : "");
  fmt::print(out, "\n");
  if (record.program.launches && !record.readings.counters.achieved_pct && !record.note.empty())
    fmt::print(out, "  {}\n", record.note);
  if (each.findings.empty())
    fmt::print(out, "  {}\n", record.explanation.empty() ? why_there_is_none(record) : record.explanation);
  const Real& achieved = record.readings.counters.achieved_pct;
  print_findings(each.findings, record.theory->theoretical_pct,
                 achieved || !record.prediction ? achieved : Real(record.prediction->predicted_pct),
                 achieved ? "" : ", predicted", out);
}

void print_rows(std::span<const Explained> rows, const std::string& format, std::ostream& out) {
  if (format == "csv") fmt::print(out, "{}", csv_header());
  std::string objects;
  for (const Explained& each : rows) {
    if (format == "csv") {
      fmt::print(out, "{}", csv_record(row_of(each.record)));
    } else if (format == "json") {
      Json object = row_to_json(row_of(each.record));
      object["findings"] = findings_json(each.findings);
      objects += (objects.empty() ? "" : ",\n") + json_text(object, -1);
    } else {
      print_case(each, out);
    }
  }
  if (format == "json") fmt::print(out, "[\n{}\n]\n", objects);
}

/// One line per row, in the order of the files, as recorded.
void print_lines(std::span<const CaseRecord> cases, bool simulated, std::ostream& out) {
  const auto cell = [](const std::optional<double>& value, int decimals) {
    return value ? fmt::format("{:.{}f}", *value, decimals) : "";
  };
  const bool is_program = std::ranges::any_of(
      cases, [](const CaseRecord& each) { return each.program.total_time_us.has_value(); });
  // In a program the total precedes the last column: a short kernel may be launched often.
  const auto with_total = [&](std::vector<std::string> line, std::string total) {
    if (is_program) line.insert(line.end() - 1, std::move(total));
    return line;
  };
  std::vector<std::vector<std::string>> lines = {
      with_total({"case", "theory", "predicted", simulated ? "simulated" : "counter", "time, us", "issue, %",
                  "eligible", "GPU"},
                 "all launches, ms")};
  for (const CaseRecord& each : cases) {
    const auto& counters = each.readings.counters;
    const std::optional<double> predicted =
        each.prediction ? std::optional(each.prediction->predicted_pct) : std::nullopt;
    const auto& total_us = each.program.total_time_us;
    lines.push_back(with_total(
        {full_name(each.identity), cell(each.theory->theoretical_pct, 1), cell(predicted, 1),
         cell(counters.achieved_pct, 1), cell(each.times.time_us, 1), cell(counters.issue_active_pct, 1),
         cell(counters.eligible_warps, 2), each.provenance.gpu},
        total_us ? milliseconds(*total_us) : ""));
  }
  fmt::print(out, "{}", text_table(lines, is_program ? "<>>>>>>><" : "<>>>>>><"));
}

ExitStatus explain_rows(const ExplainOptions& options, Console& console) {
  if (options.format == "lines" && options.predicts())
    throw InputError(
        "--format lines prints rows as they were recorded; --profile and --repredict go with table, json or "
        "csv");
  const std::vector<CaseRecord> of_files = all_cases(options, console.err);
  std::string left_out;
  std::vector<CaseRecord> cases = counted_cases(of_files, options, left_out);
  const bool simulated = std::ranges::any_of(
      cases, [](const CaseRecord& each) { return each.times.status == TimeStatus::simulated; });
  if (simulated) {
    const bool for_reading = options.format == "table" || options.format == "lines";
    fmt::print(for_reading ? console.out : console.err, "{}\n", kSimulatedLine);
  }
  if (options.format == "lines") {
    const std::size_t shown = options.top > 0 ? std::min(options.top, cases.size()) : cases.size();
    print_lines({cases.data(), shown}, simulated, console.out);
    fmt::print(console.err, "{} of {} rows, in the order of the files.{}\n", shown, cases.size(), left_out);
    return ExitStatus::done;
  }
  const std::string_view sorted_by = sort_by_loss(cases);
  const std::size_t all = cases.size();
  std::string agreement_of_all = agreement(cases);
  if (options.top > 0 && options.top < all) cases.resize(options.top);
  std::optional<DeviceProfile> profile;
  if (!options.profile.empty()) profile = find_profile(options.profile);
  Waiting waiting("predicting rows:", cases.size());
  for_each_parallel(cases.size(), [&](std::size_t i) {
    CaseRecord& each = cases[i];
    waiting.step();
    const bool predictable = each.provenance.compute_capability &&
                             find_limits(*each.provenance.compute_capability) && each.identity.work;
    if (options.predicts() || (!each.prediction && predictable))
      in_place(each, [&] { repredict(each, profile); });
  });
  if (options.predicts()) agreement_of_all = agreement(cases);
  for (const std::string& remark : remarks_on_profiles(cases)) fmt::print(console.err, "{}\n", remark);
  double total_us = 0;
  for (const CaseRecord& each : of_files) total_us += each.program.total_time_us.value_or(0);
  // Explains all rows before it prints the first: a row that cannot be explained leaves no half of an array.
  std::vector<Explained> rows;
  for (const CaseRecord& each : cases) {
    rows.push_back(explained(each, of_files));
    if (each.program.total_time_us && total_us > 0)
      rows.back().share_of_program = *each.program.total_time_us / total_us;
  }
  print_rows(rows, options.format, console.out);
  if (options.format == "table") fmt::print(console.out, "{}", total_of_programs(of_files, options));
  fmt::print(console.err, "{} of {} rows, those first {}{}.{} {}\n", cases.size(), all, sorted_by,
             options.predicts() ? "; re-predicted" : "", left_out, agreement_of_all);
  return ExitStatus::done;
}

constexpr const char* kNumbersGroup = "A launch by numbers";

/// Clocks that SMs can have, MHz: a choice. Boards exceed the table's clock by up to a third.
constexpr double kLeastClockMhz = 100;
constexpr double kMostOverTables = 1.4;

/// @throws InputError for a clock that no GPU of that name has: it is in another unit
void require_clock(std::string_view option, const std::optional<double>& mhz, const Gpu* gpu) {
  const double highest =
      gpu != nullptr ? gpu->clock_mhz : std::ranges::max_element(all_gpus(), {}, &Gpu::clock_mhz)->clock_mhz;
  const double most = std::round(kMostOverTables * highest);
  if (mhz && (*mhz < kLeastClockMhz || *mhz > most))
    throw InputError("{} = {}: clocks of {} are {} to {} MHz; give MHz, or Hz under the name that ncu has",
                     option, *mhz, gpu != nullptr ? "this GPU" : "GPUs", kLeastClockMhz, most);
}

void require_in_range(const NumbersOption& numbers, const Limits& limits) {
  const Gpu* const gpu = named_gpu(numbers.gpu);  // one GPU, not a common prefix of several
  std::vector<std::string> missing;
  if (!sm_count_of(numbers.gpu))
    missing.emplace_back("--sm-count: give the number of SMs, as `occbench devices` shows it");
  require_launch(numbers, std::move(missing));
  if (numbers.readings.counters.resident_blocks.value_or(0) > limits.max_blocks_per_sm)
    throw InputError("--counter resident_blocks: {} is more than the {} blocks that an SM can hold",
                     *numbers.readings.counters.resident_blocks, limits.max_blocks_per_sm);
  require_clock("--clock-mhz", numbers.clock_mhz, gpu);
  require_clock("--counter sm_clock_mhz", numbers.readings.counters.sm_clock_mhz, gpu);
  if (numbers.clock_mhz && numbers.readings.counters.sm_clock_mhz)
    throw InputError("--clock-mhz and --counter sm_clock_mhz are one clock: give one of them");
  if (numbers.readings.counters.sm_cycles_active_avg == 0.0)
    throw InputError("--counter sm_cycles_active_avg = 0: no block of such a launch can have run");
  check_static_shared(limits, numbers.usage);
  check_whole_clusters(numbers.launch);
}

CaseRecord record_of(const NumbersOption& numbers, const Limits& limits) {
  const Launch& launch = numbers.launch;
  const Usage& usage = numbers.usage;
  CaseRecord record;
  record.provenance.compute_capability = limits.compute_capability;
  if (const Gpu* const gpu = named_gpu(numbers.gpu)) record.provenance.gpu = identity_of(*gpu).name;
  record.provenance.sm_count = sm_count_of(numbers.gpu);
  record.launch = launch;
  record.compiled = Compiled{.usage = usage, .code_architecture = {}};
  record.theory = theory_of(theoretical_occupancy(limits, launch, usage), launch, *record.provenance.sm_count,
                            profile_of(record).known_sms_per_gpc());
  record.readings = numbers.readings;
  const CounterValues& read = numbers.readings.counters;
  if (!record.readings.achieved_elapsed_pct && read.achieved_pct && read.sm_cycles_active_avg &&
      read.sm_cycles_active_max)
    record.readings.achieved_elapsed_pct =
        *read.achieved_pct * *read.sm_cycles_active_avg / *read.sm_cycles_active_max;
  record.times.time_us = numbers.time_us;
  return record;
}

void print_text(const CaseRecord& record, const Situation& situation, const std::vector<Finding>& findings,
                std::ostream& out) {
  const Theory& theory = *record.theory;
  const Limits& limits = *situation.facts.limits;
  fmt::print(out, "theory {:.4g} %: an SM holds {}, limited by {}\n", theory.theoretical_pct,
             counted(*theory.blocks_per_sm, "block"), to_string(theory.limiters));
  for (const AppliedRule& rule : applied_rules(limits, {*record.launch, record.compiled->usage}))
    fmt::print(out, "  {}\n", rule.sentence);
  if (!record.note.empty()) fmt::print(out, "  {}\n", record.note);
  const bool at_most = situation.is_wave_uncertain();
  fmt::print(out, "grid {}: {}{} of {}{} on the {} SMs of {}\n", grouped(record.launch->grid_blocks),
             at_most ? "at least " : "", waves_text(situation.waves(), 3), at_most ? "at most " : "",
             grouped(situation.wave), situation.facts.sm_count,
             record.provenance.gpu.empty() ? "compute capability " + to_string(limits.compute_capability)
                                           : record.provenance.gpu);
  const Real& achieved = record.readings.counters.achieved_pct;
  if (achieved) fmt::print(out, "achieved {:.4g} %\n", *achieved);
  if (findings.empty()) fmt::print(out, "  Nothing to speak of is lost.\n");
  print_findings(findings, theory.theoretical_pct, achieved, achieved ? "" : ", predicted of the grid alone",
                 out);
}

bool is_use_of_unit(const NamedCounter& counter) {
  return std::ranges::find(units(), counter.name, &Unit::name) != units().end();
}

/// @param text  "resident_blocks=7.3", or with the counter's own name, in the units of ncu
/// @param parts  given counters of a sum, by column
void set_counter(Readings& readings, std::map<const NamedCounter*, std::set<std::string_view>>& parts,
                 std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  if (name.find_first_not_of("0123456789.") == name.npos)
    throw InputError("--counter: '{}' has no NAME=: commas separate counters, so write 702000 for 702,000",
                     text);
  const std::string value(text.substr(std::min(equals + 1, text.size())));
  if (name == "achieved_elapsed_pct") {
    readings.achieved_elapsed_pct = parse_number<double>(value, "--counter achieved_elapsed_pct", 0, 100);
    return;
  }
  const ScaledMetric asked = metric_of(name);
  const NamedCounter* found = nullptr;
  std::vector<std::string_view> taken = {"achieved_elapsed_pct"};
  std::vector<std::string> metrics;
  for (const NamedCounter& each : named_counters()) {
    if (each.name == "achieved_pct") continue;
    const std::vector<std::string_view> summed = split(each.counter.metric, '+');
    if (each.name == name || each.counter.metric == asked.metric || std::ranges::count(summed, name) > 0)
      found = &each;
    taken.push_back(each.name);
    metrics.insert(metrics.end(), summed.begin(), summed.end());
  }
  if (found == nullptr)
    throw InputError(
        "--counter: '{}' is none that explain uses beside --achieved: {}, or the counters of these in ncu, "
        "such as {}; warps per_issue_active are so many times issue_active_pct / 100",
        name, fmt::join(taken, ", "), nearest_names(name, metrics, 1).front());
  const double read = parse_number<double>(value, fmt::format("--counter {}", name), 0,
                                           found->unit == "%" ? 100 / asked.scale : kMostMeasured);
  Real& reading = readings.counters.*found->counter.value;
  // A part of a pipe's work is at most the pipe's.
  const bool is_use = is_use_of_unit(*found);
  const bool is_part = is_use || (name != found->name && asked.metric != found->counter.metric);
  const bool is_first = is_part && parts[found].empty();
  if ((reading && (!is_part || is_first)) || (is_part && !parts[found].insert(name).second))
    throw InputError("--counter: '{}' gives {} twice", name, found->name);
  if (is_use) {
    reading = std::max(reading.value_or(0), read);
    return;
  }
  reading = reading.value_or(0) + (name == found->name ? 1 : found->counter.scale * asked.scale) * read;
}

void set_counters(Readings& readings, const std::vector<std::string>& texts) {
  std::map<const NamedCounter*, std::set<std::string_view>> parts;
  for (const std::string& text : texts) set_counter(readings, parts, text);
  for (const auto& [sum, given] : parts) {
    if (is_use_of_unit(*sum)) continue;
    for (const std::string_view part : split(sum->counter.metric, '+')) {
      if (!given.contains(part)) throw InputError("--counter: {} is a sum; give {} too", sum->name, part);
    }
  }
}

/// Declares --gpu, --cc, --sm-count, --block-size, --grid, --registers and so on.
void declare_numbers_option(CLI::App& parser, NumbersOption& numbers) {
  const auto add = [&](const char* name, auto& value, const char* meaning, auto... range) {
    add_number(parser, name, value, meaning, range...)->group(kNumbersGroup);
  };
  declare_launch_options(parser, numbers, kNumbersGroup);
  add("--achieved", numbers.readings.counters.achieved_pct, "achieved occupancy that was read, %", 0, 100);
  add("--time-us", numbers.time_us,
      "time of the counted launch, microseconds: what a remedy can save of it, and how long blocks are",
      kLeastMeasured, kMostMeasured);
  add("--clock-mhz", numbers.clock_mhz,
      "clock of the SMs in that time (default: sm_clock_mhz of --counter, or the highest of --gpu; ncu holds "
      "a lower one)",
      kLeastMeasured, kMostMeasured);
  parser.get_option("--clock-mhz")->needs("--time-us");
  parser
      .add_option_function<std::vector<std::string>>(
          "--counter",
          [&numbers](const std::vector<std::string>& texts) { set_counters(numbers.readings, texts); },
          "what other counters read, separated by commas; NAME as in `occbench columns --format csv`, ncu's "
          "too")
      ->delimiter(',')
      ->type_name("NAME=VALUE")
      ->group(kNumbersGroup);
}

/// Theory with its rules, waves, and the causes of the rest.
/// @param json  one object with the known columns and `findings`, instead of text
/// @throws InputError if a number is missing or out of its range
void explain_numbers(const NumbersOption& numbers, bool json, std::ostream& out) {
  const Limits& limits = limits_of(capability_of(numbers.gpu));
  require_in_range(numbers, limits);
  if (theoretical_occupancy(limits, numbers.launch, numbers.usage).blocks_per_sm == 0)
    throw InputError("this cannot be launched: " +
                     why_it_cannot_launch(limits, numbers.launch, numbers.usage));
  CaseRecord record = record_of(numbers, limits);
  const LaunchFacts facts = facts_of_numbers(
      record, numbers.clock_mhz ? numbers.clock_mhz : numbers.readings.counters.sm_clock_mhz);
  const std::vector<Finding> findings = diagnose(facts);
  record.explanation = explanation_of(facts, findings);
  const Situation situation = situation_of(facts).value();
  if (situation.occupancy.blocks_per_sm > *record.theory->blocks_per_sm) {
    record.theory = theory_of(situation.occupancy, *record.launch, facts.sm_count, facts.sms_per_gpc);
    record.note = "more blocks of clusters were read than were assumed: theory is that without their limit";
  }
  if (!json) return print_text(record, situation, findings, out);
  if (record.note.empty()) record.note = assumed_cluster_slots(limits, {numbers.launch, numbers.usage});
  Json object = known_cells(row_of(record));
  object["findings"] = findings_json(findings);
  fmt::print(out, "{}\n", json_text(object));
}

/// The first option that describes a launch by numbers; empty if none was given.
std::string number_given(const CLI::App& parser) {
  for (const CLI::Option* option : parser.get_options())
    if (option->get_group() == kNumbersGroup && option->count() > 0) return option->get_name();
  return "";
}

ExitStatus explain(const ExplainOptions& options, const std::string& number, Console& console) {
  if (!number.empty() && !options.files.empty())
    throw InputError("{} describes a launch by numbers, and a FILE has launches of its own: give one of them",
                     number);
  if (!options.numbers.gpu.given()) {
    if (!number.empty())
      throw InputError("{}: add --gpu or --cc, and the launch; or name a FILE without it", number);
    return explain_rows(options, console);
  }
  if (options.format == "csv" || options.format == "lines")
    throw InputError("--format {} is for rows; a launch by numbers has table or json", options.format);
  explain_numbers(options.numbers, options.format == "json", console.out);
  return ExitStatus::done;
}

}  // namespace

Action declare_explain(CLI::App& parser) {
  auto options = std::make_shared<ExplainOptions>();
  parser.add_option("FILE", options->files, "recorded rows (default: those that come with the project)")
      ->check(CLI::ExistingFile);
  parser.add_option(
      "--filter", options->filter,
      "only cases whose experiment/case, or whole kernel of a program, this regular expression is found in");
  parser.add_flag("--repredict", options->repredict,
                  "predict the rows again, with the profile that a row names, beside the rows or built in, "
                  "else the best known of its GPU");
  parser.add_option("--profile", options->profile,
                    "predict them again with this device profile, a built-in one or a file");
  add_number(parser, "--top", options->top,
             fmt::format("how many rows, 0 = all (default: {})", options->top));
  add_format(parser, options->format, {"table", "lines", "json", "csv"},
             "table, lines (a line a row, nothing explained), json (a list, an object a row: its columns and "
             "findings) or csv (whole rows)");
  declare_numbers_option(parser, options->numbers);
  return [options, &parser](Console& console) { return explain(*options, number_given(parser), console); };
}

}  // namespace occbench
