#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "gate/tolerances.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/run.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/simulated.hpp"

namespace occbench {

namespace {

constexpr int kMostPairs = 50;

struct GateOptions {
  std::vector<std::string> runs;  ///< BASELINE CANDIDATE
  std::vector<std::string> builds;
  std::string tolerances_file;
  std::vector<std::string> tolerances_from;
  std::string save_tolerances;
  std::string format = "table";
  std::vector<std::string> write;  ///< FORMAT=FILE
  int pairs = PairPlan{}.pairs;
  std::string suite = "smoke";
  std::string filter;
  std::string device = "auto";
  std::string keep = "results/local/pairs";
  bool any_source = false;
};

/// A candidate can only pass if its tolerances come from it.
void require_not_the_candidate(const GateOptions& options) {
  if (options.tolerances_from.empty() || options.runs.empty()) return;
  const fs::path& candidate = options.runs[1];
  if (!fs::is_regular_file(candidate)) return;  // a pipe is read once, the rest is refused
  for (const std::string& run : options.tolerances_from) {
    std::error_code is_no_file;
    if (fs::equivalent(candidate, run, is_no_file) || read_text(candidate) == read_text(run))
      throw InputError(
          "--tolerances-from: {} is the candidate, and what it differs by would be allowed; name runs of "
          "the baseline's build only",
          run);
  }
}

Tolerances tolerances_of(const GateOptions& options) {
  if (!options.tolerances_file.empty())
    return parse_tolerances(read_text(options.tolerances_file), options.tolerances_file);
  if (options.tolerances_from.empty()) return {};
  require_not_the_candidate(options);
  return tolerances_from(mapped(options.tolerances_from, read_run));
}

/// Every file that is read.
std::vector<fs::path> inputs_of(const GateOptions& options) {
  std::vector<fs::path> inputs;
  if (!options.tolerances_file.empty()) inputs.emplace_back(options.tolerances_file);
  for (const std::vector<std::string>* names : {&options.runs, &options.tolerances_from}) {
    inputs.insert(inputs.end(), names->begin(), names->end());
  }
  return inputs;
}

/// Checked before minutes are spent on pairs of runs.
void require_writable(const GateOptions& options, const fs::path& output, const std::string& begins) {
  require_not_input(output, inputs_of(options));
  require_not_another_kind(output, begins);
}

void require_tolerances(const GateOptions& options) {
  const fs::path file = options.save_tolerances;
  if (options.tolerances_from.empty()) {
    throw InputError(
        "--save-tolerances {}: it has what --tolerances-from finds; add that and two runs or more of one "
        "build",
        file.string());
  }
  require_writable(options, file, R"(\{)");
  std::error_code missing;
  if (!fs::is_regular_file(file, missing)) return;
  const std::string text = read_text(file);
  if (text.find('{') == std::string::npos) return;  // blank
  try {
    static_cast<void>(parse_tolerances(text, file.string()));
  } catch (const InputError& error) {
    throw InputError("cannot write {}: a file of another kind is there already ({}); name another file",
                     file.string(), error.what());
  }
}

/// A file that an output goes to.
struct Output {
  std::string format;
  fs::path file;
};

std::string names_of_formats() {
  return fmt::format("{}",
                     fmt::join(mapped(kGateFormats, [](const auto& each) { return each.first; }), ", "));
}

std::vector<Output> outputs_of(const GateOptions& options) {
  std::vector<Output> outputs;
  for (const std::string& text : options.write) {
    const std::size_t equals = text.find('=');
    const auto format = kGateFormats.find(text.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == text.size() || format == kGateFormats.end()) {
      throw InputError("--write {}: write it as FORMAT=FILE; the formats are {}", text, names_of_formats());
    }
    const fs::path file = text.substr(equals + 1);
    require_writable(options, file, format->second.begins);
    if (file.has_parent_path() && !fs::is_directory(file.parent_path()))
      throw InputError("--write {}: {} is no folder", text, file.parent_path().string());
    outputs.push_back({format->first, file});
  }
  return outputs;
}

Comparison compare(const GateOptions& options, const Tolerances& tolerances, Console& console) {
  if (options.builds.empty()) return compare_paths(options.runs[0], options.runs[1], tolerances);
  std::vector<std::string> arguments = {"--suite", options.suite, "--device", options.device};
  if (!options.filter.empty()) arguments.insert(arguments.end(), {"--filter", options.filter});
  const PairedRuns runs =
      run_pairs({options.builds[0], options.builds[1], options.keep, options.pairs, arguments}, console.err);
  if (!runs.failure.empty())
    return {options.builds[0], options.builds[1], {}, {{Grade::no_verdict, runs.failure}}};
  return compare_pairs(mapped(runs.a, read_run), mapped(runs.b, read_run), tolerances);
}

/// A misspelt name would leave an experiment with the usual tolerances. It is not refused: one file serves many runs.
void note_unused(const Tolerances& tolerances, Comparison& comparison) {
  std::vector<std::string> compared = mapped(comparison.cases, &ComparedCase::experiment);
  std::ranges::sort(compared);
  compared.erase(std::unique(compared.begin(), compared.end()), compared.end());
  for (const std::string& experiment : tolerances.experiments()) {
    if (!compared.empty() && std::ranges::find(compared, experiment) == compared.end())
      comparison.general.push_back(
          {Grade::note,
           fmt::format(
               "the tolerances of '{}' were not used: no case is of that experiment; the nearest are {}",
               experiment, fmt::join(nearest_names(experiment, compared, 3), ", "))});
  }
}

ExitStatus status_of(Verdict verdict) {
  if (verdict == Verdict::pass) return ExitStatus::done;
  return verdict == Verdict::regression ? ExitStatus::regression : ExitStatus::no_verdict;
}

/// Two outputs with one name would be one file.
void require_apart(const std::vector<Output>& outputs, const fs::path& tolerances) {
  std::set<fs::path> seen;
  if (!tolerances.empty()) seen.insert(fs::weakly_canonical(tolerances));
  for (const auto& [format, file] : outputs) {
    if (!seen.insert(fs::weakly_canonical(file)).second)
      throw InputError("two outputs would go to {}; name another file", file.string());
  }
}

ExitStatus gate(const GateOptions& options, Console& console) {
  const std::vector<Output> outputs = outputs_of(options);
  if (!options.save_tolerances.empty()) require_tolerances(options);
  require_apart(outputs, options.save_tolerances);
  const bool compares = !options.runs.empty() || !options.builds.empty();
  if (!compares && options.save_tolerances.empty()) {
    throw InputError("nothing to compare: give BASELINE CANDIDATE, or --pair BUILD_A BUILD_B");
  }
  Tolerances tolerances = tolerances_of(options);
  tolerances.any_source = options.any_source;
  if (tolerances.left_out > 0)
    fmt::print(console.err,
               "--tolerances-from: left out {} whose time_status is neither ok nor unstable, or whose result "
               "is wrong\n",
               counted(static_cast<long long>(tolerances.left_out), "row"));
  const auto save_tolerances = [&] {
    if (!options.save_tolerances.empty()) replace_text(options.save_tolerances, tolerances.to_json());
  };
  if (!compares) {
    save_tolerances();
    return ExitStatus::done;
  }

  Comparison comparison = compare(options, tolerances, console);
  note_unused(tolerances, comparison);
  const bool is_text = options.format == "table" || options.format == "markdown";  // these say so themselves
  if (comparison.simulated && !is_text) fmt::print(console.err, "{}\n", kSimulatedLine);
  fmt::print(console.out, "{}", kGateFormats.at(options.format).text(comparison));
  // A regression or a missing verdict keeps its status even if a file cannot be written.
  bool written = true;
  const auto write = [&](const auto& to_file) {
    try {
      to_file();
    } catch (const InputError& error) {
      fmt::print(console.err, "occbench gate: {}\n", error.what());
      written = false;
    }
  };
  write(save_tolerances);
  for (const Output& output : outputs)
    write([&] { replace_text(output.file, kGateFormats.at(output.format).text(comparison)); });
  const ExitStatus status = status_of(comparison.verdict());
  return status == ExitStatus::done && !written ? ExitStatus::usage : status;
}

void declare_tolerances(CLI::App& parser, GateOptions& options) {
  CLI::Option* file =
      parser
          .add_option(
              "--tolerances", options.tolerances_file,
              R"(JSON: {"gpu": "NVIDIA H200", "all": {"achieved_pct": {"limit": 1, "spreads": 3}}, "experiments": {"waves": {...}}})")
          ->type_name("FILE");
  add_value(parser, "--tolerances-from", "RUN RUN ...", options.tolerances_from,
            "take the tolerances from runs of one build on one GPU: all that follow, up to the "
            "next option or --")
      ->expected(2, 1000)
      ->excludes(file);
  add_value(parser, "--save-tolerances", "FILE", options.save_tolerances,
            "write those tolerances, as --tolerances reads them");
}

void declare_pairs(CLI::App& parser, GateOptions& options, CLI::Option* runs) {
  CLI::Option* pair =
      add_value(parser, "--pair", "BUILD_A BUILD_B", options.builds,
                "run two builds in turn on this machine, the first as the baseline, and decide on the pairs")
          ->expected(2)
          ->excludes(runs);
  const auto of_pair = [&](const std::string& name, auto& value, const std::string& meaning) {
    parser.add_option(name, value, meaning)->needs(pair)->capture_default_str();
  };
  add_number(parser, "--pairs", options.pairs,
             fmt::format("how many pairs of runs (default: {})", options.pairs), kFewestPairs, kMostPairs)
      ->needs(pair);
  of_pair("--suite", options.suite, "as in occbench run");
  of_pair("--filter", options.filter, "as in occbench run");
  add_device_option(parser, options.device, "as in occbench run")->needs(pair)->capture_default_str();
  of_pair("--keep", options.keep, "folder that the runs are kept in");
}

}  // namespace

Action declare_gate(CLI::App& parser) {
  const auto options = std::make_shared<GateOptions>();
  CLI::Option* runs =
      add_value(parser, "runs", "BASELINE CANDIDATE", options->runs, "two files of rows")->expected(2);
  declare_pairs(parser, *options, runs);
  declare_tolerances(parser, *options);
  parser
      .add_option("--format", options->format,
                  fmt::format("what goes to standard output: {}", names_of_formats()))
      ->check(CLI::IsMember(kGateFormats))
      ->option_text("FORMAT=table");
  parser.add_flag("--any-source", options->any_source,
                  "compare sampled occupancy with counted occupancy too (without it there is no verdict)");
  add_repeated(parser, "--write", options->write, "write a file as well")->type_name("FORMAT=FILE");
  return [options](Console& console) { return gate(*options, console); };
}

}  // namespace occbench
