#include "harness/run_cases.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "gpu/error.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/list_cases.hpp"
#include "harness/measure_case.hpp"
#include "harness/planned_case.hpp"
#include "harness/ready_case.hpp"
#include "harness/sweep_cases.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"

namespace occbench {
namespace {

/// The cases of the experiment's own.
std::vector<PlannedCase> declared_cases(Session& session, const Experiment& of) {
  std::vector<PlannedCase> cases;
  for (Case& declared : of.cases(Planner(session.device()))) {
    if (declared.suite > session.options().suite) continue;
    if (declared.work) declared.work->poll_cycles_per_warp = declared.kernel->poll_cycles_per_warp;
    if (session.options().small) declared = make_small(std::move(declared));
    cases.push_back(plan_case(std::move(declared), of.name, session.provenance(), session.device(),
                              session.instruments()));
  }
  return cases;
}

std::vector<PlannedCase> chosen_cases(Session& session, const Experiment& of) {
  const auto matches = case_filter(benchmark::GetBenchmarkFilter());
  const std::optional<SweepOptions>& sweep = session.options().sweep;
  std::vector<PlannedCase> chosen =
      sweep ? sweep_cases(of, *sweep, session.provenance(), session.device(), session.instruments())
            : declared_cases(session, of);
  std::erase_if(chosen, [&](const PlannedCase& planned) { return !matches(planned.name); });
  if (chosen.empty()) {
    throw InputError(
        fmt::format("--benchmark_filter={} matches no case of this suite of {}; --occ_list shows the cases",
                    benchmark::GetBenchmarkFilter(), of.name));
  }
  return chosen;
}

/// "launched", "wrong" where the result was, or "skipped". @throws CudaError
std::string_view launch_once(const PlannedCase& planned, Session& session) {
  if (!planned.can_launch()) return "skipped";
  try {
    const Check check = ReadyCase(planned, session.device(), session.instruments()).check_and_launch();
    return check == Check::wrong ? "wrong" : "launched";
  } catch (const CannotRun&) {
    return "skipped";
  }
}

ExitStatus launch_each_once(std::span<const PlannedCase> cases, Session& session) {
  ExitStatus status = ExitStatus::done;
  for (const PlannedCase& planned : cases) {
    const std::string_view outcome = launch_once(planned, session);
    fmt::print("{} {}\n", outcome, planned.name);
    if (outcome == "wrong") status = ExitStatus::no_verdict;
  }
  return status;
}

std::vector<std::string> names_of(std::span<const PlannedCase> cases) {
  std::vector<std::string> names;
  for (const PlannedCase& planned : cases) names.push_back(planned.name);
  return names;
}

/// The same order for the same seed on every machine, which std::shuffle does not promise.
void shuffle(std::vector<PlannedCase>& cases, std::uint64_t seed) {
  fmt::print(stderr, "cases in random order; --occ_shuffle={} repeats it\n", seed);
  std::mt19937_64 generator(seed);
  for (std::size_t left = cases.size(); left > 1; --left)
    std::swap(cases[left - 1], cases[generator() % left]);
}

/// Measures, records and reports one case after another, until the run is stopped.
void measure_each(std::span<const PlannedCase> cases, Session& session) {
  std::size_t widest = 0;
  for (const PlannedCase& planned : cases) widest = std::max(widest, planned.name.size());
  GoogleBenchmark benchmark(session.options().reports, widest);
  for (const PlannedCase& planned : cases) {
    if (session.stop() != Stop::no) return;
    std::optional<MeasuredCase> measured = measure_case(planned, session, benchmark);
    if (!measured) return;
    const Row row = session.end(measured->record, measured->samples.all());
    if (measured->runs.empty()) measured->runs = benchmark.without_times(planned.name, row.note);
    benchmark.report(std::move(measured->runs), row);
  }
}

ExitStatus measure(Session& session, const Experiment& of, std::vector<PlannedCase> cases) {
  session.open_files(of);
  if (session.options().shuffle) shuffle(cases, *session.options().shuffle);
  std::erase_if(cases,
                [&](const PlannedCase& planned) { return session.is_finished(planned.known.identity); });
  if (cases.empty()) {
    fmt::print(stderr, "{}: nothing is missing in {}\n", of.name, session.options().csv->string());
    return ExitStatus::done;
  }
  measure_each(cases, session);
  if (session.stop() != Stop::no) {
    fmt::print(stderr, "{}: {}; the finished rows are kept, --occ_resume runs the rest\n", of.name,
               session.stop() == Stop::interrupted
                   ? "interrupted"
                   : "a kernel failed and took the process's CUDA context with it");
  }
  return session.complete() ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace

ExitStatus run_cases(Session& session, const Experiment& of) {
  std::vector<PlannedCase> cases = chosen_cases(session, of);
  if (session.options().profile) return launch_each_once(cases, session);
  // Also for a list, which is asked for before there is a file that a wrong name could leave without rows.
  session.check_metrics();
  if (session.options().list) {
    list_cases(cases, session.device(), session.profile(), session.options());
    return ExitStatus::done;
  }
  if (session.options().list_tests) {
    list_tests(names_of(cases));
    return ExitStatus::done;
  }
  return measure(session, of, std::move(cases));
}

}  // namespace occbench
