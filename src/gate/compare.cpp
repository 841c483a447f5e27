#include "gate/compare.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/ranges.h>

#include "gate/judge.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_record.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Causes come before theory and consequences.
bool is_cause(const Column* column) {
  return column->gate == GateRule::exact || column->gate == GateRule::lower_is_better;
}

/// Without such a column, losses cannot be seen.
bool has_better(const Column& column) {
  return column.gate == GateRule::lower_is_better || column.gate == GateRule::higher_is_better;
}

std::vector<const Column*> exact_columns(std::span<const RecordedRun> baseline,
                                         std::span<const RecordedRun> candidate, Comparison& into) {
  std::vector<const Column*> found;
  std::string missing;
  Grade grade = Grade::note;
  for (const Column& column : columns()) {
    if (!is_exact(column.gate)) continue;
    const auto has = [&](const RecordedRun& run) {
      return run.has_column(column.name) || run.columns.empty();
    };
    const auto lacks = [&](const RecordedRun& run) { return !run.has_column(column.name); };
    if (std::ranges::all_of(baseline, has) && std::ranges::all_of(candidate, has)) {
      found.push_back(&column);
      continue;
    }
    if (has_better(column)) into.lacking.insert(column.name);
    if (std::ranges::all_of(baseline, lacks) && std::ranges::all_of(candidate, lacks)) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", column.name);
    if (has_better(column)) grade = Grade::no_verdict;
  }
  if (!missing.empty()) {
    into.general.push_back(
        {grade, fmt::format("not compared, because not every file has them: {}", missing), missing});
  }
  std::stable_partition(found.begin(), found.end(), is_cause);
  return found;
}

/// Among notes, those on compared cases come before those on cases that were not compared.
bool worse(const ComparedCase& left, const ComparedCase& right) {
  const auto gravest = [](const ComparedCase& compared) {
    std::tuple most{Grade::note, -1.0, compared.compared};
    for (const GateFinding& finding : compared.findings)
      most = std::max(most, std::tuple(finding.grade, finding.weight, compared.compared));
    return most;
  };
  return gravest(left) > gravest(right);
}

using ByKey = std::map<std::string, Cases>;

/// By whole_name(), or by exact_name() if a run has several cases of that name.
ByKey by_key(const RecordedRun& run, const std::set<std::string>& several) {
  ByKey found;
  for (const RecordedCase& recorded : run.cases) {
    const std::string name = whole_name(recorded.row);
    found[several.contains(name) ? exact_name(recorded.row) : name].push_back(&recorded);
  }
  return found;
}

struct Side {
  std::string_view name;
  std::span<const RecordedRun> runs;
  std::vector<ByKey> cases{};  ///< of each run
};

/// A row of each run, or a finding on the first run that has none or several.
Cases one_of_each(const Side& side, const std::string& key, ComparedCase& into) {
  Cases cases;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const auto found = side.cases[i].find(key);
    const std::size_t count = found == side.cases[i].end() ? 0 : found->second.size();
    if (count == 1) {
      cases.push_back(found->second.front());
      continue;
    }
    std::string message = fmt::format("missing in the {}", side.name);
    if (count > 1) {
      message = fmt::format("{} times in the {}: lines {} and {}", count, side.name, found->second[0]->line,
                            found->second[1]->line);
    }
    if (count > 1 && found->second[0]->row.gpu_uuid != found->second[1]->row.gpu_uuid)
      message += ", of several GPUs: compare files of one GPU each";
    if (side.runs.size() > 1) message += fmt::format(" ({})", side.runs[i].source);
    into.findings.push_back({Grade::no_verdict, message});
    return {};
  }
  return cases;
}

ComparedCase compare_case(const std::string& key, const Row& row, const Side& baseline, const Side& candidate,
                          const GateContext& context) {
  ComparedCase compared;
  compared.experiment = row.experiment;
  compared.name = row.case_;
  Sides sides;
  if (std::ranges::any_of(baseline.cases, [&](const ByKey& run) { return run.contains(key); })) {
    sides.baseline = one_of_each(baseline, key, compared);
  } else {
    compared.findings.push_back({Grade::note, "new: the baseline has no such case"});
  }
  sides.candidate = one_of_each(candidate, key, compared);
  if (!sides.baseline.empty()) compared.baseline = *sides.baseline.front();
  if (!sides.candidate.empty()) compared.candidate = *sides.candidate.front();
  if (compared.baseline && compared.candidate) judge(sides, context, compared);
  return compared;
}

/// Whether all rows have this occbench's columns. Rows of another schema may not even have its case names.
bool has_known_schema(const Side& side, Comparison& into) {
  for (const RecordedRun& run : side.runs) {
    const auto other = std::ranges::find_if(
        run.cases, [](const RecordedCase& recorded) { return recorded.row.schema != kSchema; });
    if (other == run.cases.end()) continue;
    const Integer schema = other->row.schema;
    into.general.push_back(
        {Grade::no_verdict,
         fmt::format("the {} {} cannot be compared: schema {} instead of {}; {}", side.name, run.source,
                     schema ? fmt::format("{}", *schema) : "missing", kSchema, reader_of_schema(schema)),
         "schema"});
    return false;
  }
  return true;
}

/// Notes oddities of a run, and adds its cases to those that are all simulated or all measured.
/// @throws InputError if they are not, or if the run is of another model than the tolerances
void check_run(const RecordedRun& run, std::string_view side, const Tolerances& tolerances,
               SimulatedOrMeasured& kind, Comparison& into) {
  if (run.torn)
    into.general.push_back(
        {Grade::no_verdict,
         fmt::format("the last line of the {} {} has no end: its run was stopped", side, run.source)});
  if (!run.stray_samples.empty())
    into.general.push_back(
        {Grade::note,
         fmt::format("{} is left out: {}", run.stray_samples,
                     run.torn_samples ? "its last line has no end"
                                      : fmt::format("its samples are not of the rows of {}", run.source))});
  for (const RecordedCase& recorded : run.cases) {
    kind.add(recorded.row.time_status, run.source);
    const std::string& gpu = recorded.row.gpu;
    if (tolerances.gpu.empty() || gpu.empty() || gpu == tolerances.gpu) continue;
    throw InputError(
        "the tolerances are of runs on {}, and {} is of {}: derive some from runs on that "
        "(--tolerances-from), or leave them out",
        tolerances.gpu, run.source, gpu);
  }
}

/// Kernels of binaries whose local loads and stores neither side counted: an increase would not be seen.
void note_uncounted_spills(Comparison& into) {
  const auto is_uncounted = [](const std::optional<RecordedCase>& side) {
    return side && side->row.recorded_at.empty() && !side->row.code_architecture.empty() &&
           !side->row.spill_bytes;
  };
  const auto uncounted = std::ranges::count_if(into.cases, [&](const ComparedCase& each) {
    return is_uncounted(each.baseline) && is_uncounted(each.candidate);
  });
  if (uncounted == 0) return;
  if (uncounted == std::ssize(into.cases)) into.lacking.insert("spill_bytes");
  into.general.push_back(
      {Grade::note,
       fmt::format("spill_bytes of {} not compared: neither side counted local loads and stores",
                   uncounted == 1 ? "1 kernel is" : fmt::format("{} kernels are", uncounted)),
       "spill_bytes"});
}

Comparison compare_runs(std::span<const RecordedRun> baseline, std::span<const RecordedRun> candidate,
                        const Tolerances& tolerances, bool paired) {
  Comparison comparison;
  comparison.baseline = first_and_count(baseline.front().source, baseline.size());
  comparison.candidate = first_and_count(candidate.front().source, candidate.size());
  Side sides[] = {{"baseline", baseline}, {"candidate", candidate}};
  bool known = true;
  for (const Side& side : sides) known = has_known_schema(side, comparison) && known;
  if (!known) return comparison;
  const GateContext context{tolerances, exact_columns(baseline, candidate, comparison), paired};
  SimulatedOrMeasured kind;
  std::set<std::string> several;
  for (const Side& side : sides) {
    for (const RecordedRun& run : side.runs) {
      check_run(run, side.name, tolerances, kind, comparison);
      for (const auto& [name, cases] : by_key(run, {})) {
        if (cases.size() > 1) several.insert(name);
      }
    }
  }
  comparison.simulated = kind.simulated();
  std::map<std::string, const Row*> keys;  // and the row that names the case, a candidate's if there is one
  for (Side& side : sides) {
    for (const RecordedRun& run : side.runs) {
      for (const auto& [key, cases] : side.cases.emplace_back(by_key(run, several)))
        keys[key] = &cases.front()->row;
    }
  }
  for (const auto& [key, row] : keys)
    comparison.cases.push_back(compare_case(key, *row, sides[0], sides[1], context));
  std::vector<std::pair<std::string*, std::string>> names;
  for (auto compared = comparison.cases.begin(); const auto& [key, row] : keys) {
    if (row->experiment == kTraceExperiment) names.emplace_back(&compared->name, row->kernel);
    ++compared;
  }
  tell_apart(names);
  std::ranges::stable_sort(comparison.cases, {}, [](const ComparedCase& compared) {
    return std::tie(compared.experiment, compared.name);
  });
  note_uncounted_spills(comparison);
  std::ranges::stable_sort(comparison.cases, worse);
  const bool looked = std::ranges::any_of(comparison.cases, &ComparedCase::compared);
  if (!looked && comparison.count(Verdict::pass) == comparison.cases.size()) {
    std::string message = fmt::format("nothing of {} could be compared", comparison.candidate);
    if (std::ranges::all_of(sides[0].cases, &ByKey::empty))
      message += fmt::format(": {} has no rows", comparison.baseline);
    comparison.general.push_back({Grade::no_verdict, std::move(message)});
  }
  return comparison;
}

/// Whether samples could show how far its readings scatter.
bool is_counted(const RecordedRun& run) {
  return std::ranges::any_of(run.cases, [](const RecordedCase& recorded) {
    return recorded.row.achieved_elapsed_pct && recorded.row.time_status != "simulated";
  });
}

/// Two runs at different times always differ. Calculated rows may be equal.
bool is_one_recording(const RecordedRun& baseline, const RecordedRun& candidate) {
  const auto is_recorded = [](const RecordedCase& recorded) { return !recorded.row.recorded_at.empty(); };
  return std::ranges::any_of(baseline.cases, is_recorded) &&
         std::ranges::equal(baseline.cases, candidate.cases, {}, &RecordedCase::row, &RecordedCase::row);
}

/// A sentence if each run is of one GPU and they are two GPUs of one model; else empty.
std::string another_gpu(const RecordedRun& baseline, const RecordedRun& candidate) {
  const auto gpus_of = [](const RecordedRun& run) {
    std::set<std::pair<std::string, std::string>> gpus;
    for (const RecordedCase& recorded : run.cases) gpus.emplace(recorded.row.gpu, recorded.row.gpu_uuid);
    return gpus;
  };
  const auto before = gpus_of(baseline);
  const auto now = gpus_of(candidate);
  if (before.size() != 1 || now.size() != 1) return "";
  const auto& [model, uuid] = *before.begin();
  const auto& [other_model, other] = *now.begin();
  if (model != other_model || uuid == other || uuid.empty() || other.empty()) return "";
  return fmt::format("another GPU of this model: gpu_uuid {} -> {}; times are advisory", uuid, other);
}

}  // namespace

std::string first_and_count(const std::string& first, std::size_t count) {
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

Comparison compare(const RecordedRun& baseline, const RecordedRun& candidate, const Tolerances& tolerances) {
  return compare_runs({&baseline, 1}, {&candidate, 1}, tolerances, false);
}

Comparison compare_pairs(std::span<const RecordedRun> baseline, std::span<const RecordedRun> candidate,
                         const Tolerances& tolerances) {
  return compare_runs(baseline, candidate, tolerances, true);
}

Comparison compare_paths(const fs::path& baseline, const fs::path& candidate, const Tolerances& tolerances) {
  if (!fs::exists(candidate)) throw InputError("the candidate {} does not exist", candidate.string());
  for (const fs::path& each : {baseline, candidate}) {
    if (fs::is_directory(each))
      throw InputError(
          "{} is a folder, and two files of rows are compared: compare each pair of files; the status of all "
          "is "
          "1 if any is 1, else 2 if any is 2",
          each.string());
  }
  if (!fs::exists(baseline)) {
    const std::string why = fmt::format("no baseline: {} does not exist", baseline.string());
    return {baseline.string(), candidate.string(), {}, {{Grade::no_verdict, why}}};
  }
  const RecordedRun runs[] = {read_run(baseline), read_run(candidate)};
  Comparison compared = compare(runs[0], runs[1], tolerances);
  if (std::string note = another_gpu(runs[0], runs[1]); !note.empty())
    compared.general.push_back({Grade::note, std::move(note), "gpu_uuid"});
  std::error_code is_no_file;
  if (fs::equivalent(baseline, candidate, is_no_file) || is_one_recording(runs[0], runs[1]))
    compared.general.push_back(
        {Grade::note, "baseline and candidate are the same recorded rows, so nothing could differ"});
  std::set<std::string> without_samples;
  for (const RecordedRun& run : runs) {
    if (is_counted(run) && !run.has_samples && run.stray_samples.empty()) without_samples.insert(run.source);
  }
  if (!without_samples.empty() && compared.verdict() == Verdict::pass)
    compared.general.push_back(
        {Grade::note, fmt::format("{} without samples: how far readings scatter is taken from the rows",
                                  fmt::join(without_samples, " and "))});
  return compared;
}

std::string_view to_string(Verdict verdict) {
  static constexpr std::string_view kWords[] = {"pass", "no verdict", "regression"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Grade grade) {
  static constexpr std::string_view kWords[] = {"note", "advisory", "no verdict", "regression"};
  return kWords[static_cast<std::size_t>(grade)];
}

std::string ComparedCase::full_name() const {
  return experiment + "/" + name;
}

Verdict ComparedCase::verdict() const {
  const Grade gravest =
      findings.empty() ? Grade::note : std::ranges::max(findings, {}, &GateFinding::grade).grade;
  if (gravest == Grade::regression) return Verdict::regression;
  return gravest == Grade::no_verdict ? Verdict::no_verdict : Verdict::pass;
}

bool ComparedCase::not_compared() const {
  return !compared && verdict() == Verdict::pass;
}

Verdict Comparison::verdict() const {
  if (count(Verdict::regression) > 0) return Verdict::regression;
  const bool doubt =
      std::ranges::any_of(general, [](const GateFinding& f) { return f.grade == Grade::no_verdict; });
  const bool looked = std::ranges::any_of(cases, &ComparedCase::compared);
  return doubt || !looked || count(Verdict::no_verdict) > 0 ? Verdict::no_verdict : Verdict::pass;
}

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cases, verdict, &ComparedCase::verdict));
}

}  // namespace occbench
