#include "harness/options.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <random>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

constexpr std::string_view kOurs = "--occ_";
constexpr std::string_view kMinTime = "--benchmark_min_time=";

/// Default sum of the device time of a case's timed launches, in seconds: a full suite of 600 cases has to end within
/// 4 minutes.
constexpr std::string_view kDefaultMinTime = "0.01";

/// Google Benchmark takes a plain number of seconds up to 1.7, and needs a unit from 1.8 on: both are accepted.
std::string min_time_argument(std::string_view value) {
  if (value.ends_with('s')) value.remove_suffix(1);
  const bool iterations = value.ends_with('x');
  if (iterations && OCCBENCH_GOOGLE_BENCHMARK_MINOR < 8) {
    throw InputError(
        "--benchmark_min_time={}: a number of iterations needs Google Benchmark 1.8; write seconds, as in "
        "0.05s",
        value);
  }
  const bool unit_wanted = OCCBENCH_GOOGLE_BENCHMARK_MINOR >= 8 && !iterations;
  return fmt::format("{}{}{}", kMinTime, value, unit_wanted ? "s" : "");
}

/// The value of `--benchmark_FLAG=VALUE` if the argument is that flag; "true" for a flag without a value.
std::optional<std::string> value_of(std::string_view argument, std::string_view flag) {
  const std::string name = fmt::format("--benchmark_{}", flag);
  if (argument == name) return "true";
  if (!argument.starts_with(name + "=")) return std::nullopt;
  return std::string(argument.substr(name.size() + 1));
}

/// As Google Benchmark reads the values of its flags.
bool is_true(std::string_view value) {
  constexpr std::string_view kFalse[] = {"0", "f", "n", "false", "no", "off"};
  return std::ranges::find(kFalse, lower_case(value)) == std::end(kFalse);
}

/// Refuses arguments to which Google Benchmark would answer with its usage text and status 0 or 1.
void refuse_what_google_benchmark_would(std::string_view argument) {
  const auto refuse_unless = [&](std::string_view flag, std::initializer_list<std::string_view> values) {
    const std::optional<std::string> value = value_of(argument, flag);
    if (value && std::ranges::find(values, *value) == values.end()) {
      throw InputError("{}: must be one of {}", argument, fmt::join(values, ", "));
    }
  };
  refuse_unless("format", {"console", "json", "csv"});
  refuse_unless("out_format", {"console", "json", "csv"});
  refuse_unless("time_unit", {"ns", "us", "ms", "s"});
}

/// Stores a flag of Google Benchmark's that this program carries out. @returns whether Google Benchmark must not get
/// it
bool take_up(std::string_view argument, Options& options) {
  Reports& reports = options.reports;
  if (const auto value = value_of(argument, "format")) reports.format = *value;
  if (const auto value = value_of(argument, "repetitions")) reports.repetitions = std::atoi(value->c_str());
  if (const auto value = value_of(argument, "out")) return reports.out = *value, true;
  if (const auto value = value_of(argument, "out_format")) return reports.out_format = *value, true;
  if (const auto value = value_of(argument, "list_tests")) return options.list_tests = is_true(*value), true;
  if (const auto value = value_of(argument, "display_aggregates_only"))
    return reports.display_aggregates_only = is_true(*value), true;
  return false;
}

/// Google Benchmark's flags can also be environment variables, as BENCHMARK_OUT. Returns those that this program
/// carries out as arguments.
std::vector<std::string> arguments_from_environment() {
  std::vector<std::string> arguments;
  for (const std::string_view flag :
       {"format", "repetitions", "out", "out_format", "list_tests", "display_aggregates_only"}) {
    std::string variable = fmt::format("BENCHMARK_{}", flag);
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char letter) { return std::toupper(letter); });
    if (const char* value = std::getenv(variable.c_str()))
      arguments.push_back(fmt::format("--benchmark_{}={}", flag, value));
  }
  return arguments;
}

const std::map<std::string, Suite> kSuites = {
    {"smoke", Suite::smoke}, {"quick", Suite::quick}, {"full", Suite::full}};
const std::map<std::string, CounterMode> kCounterModes = {
    {"auto", CounterMode::automatic}, {"off", CounterMode::off}, {"require", CounterMode::require}};

std::vector<std::string> metrics_of(const std::string& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const std::string_view name : split(text, ',')) {
    if (name.empty()) throw InputError("--occ_metrics={}: a name is empty", text);
    // Two columns of one name would make a file that no reader accepts.
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return names;
}

std::uint64_t seed_of(const std::string& text) {
  if (text == "random") return std::random_device{}();
  if (const auto seed = read_number<std::uint64_t>(text)) return *seed;
  throw InputError("--occ_shuffle={}: a seed is a whole number from 0 on", text);
}

/// "NAME=VALUES". @throws InputError if there is no name or no value
GivenAxis axis_of(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError("{} {}: it is NAME=VALUES", flag, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The flags of a sweep.
class SweepFlags {
 public:
  void declare(CLI::App& app);

  /// After parsing; empty if no flag asks for a sweep. @throws InputError for text that is not NAME=VALUES
  std::optional<SweepOptions> options() const;

 private:
  std::string family_;
  std::string source_;
  SourceOptions from_;
  std::vector<std::string> axes_;
  std::vector<std::string> defines_;
  std::vector<std::string> includes_;
  std::string check_;
  std::vector<std::string> where_;
  bool zip_ = false;
};

void SweepFlags::declare(CLI::App& app) {
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* meaning) {
    app.add_option(name, values, meaning)->expected(1)->take_all();
  };
  app.add_option("--occ_sweep", family_, "measure configurations of this kernel instead of the experiment");
  list("--occ_axis", axes_, "values of one of its axes, NAME=VALUES; once for each axis");
  app.add_flag("--occ_zip", zip_, "pair the values of the axes instead of combining all with all");
  list("--occ_where", where_, "an expression that configurations must meet; once for each");
  app.add_option("--occ_source", source_, "a kernel in this file instead, compiled at run time");
  list("--occ_kernel", from_.kernels, "its name, with template arguments; given again: an axis");
  list("--occ_arg", from_.arguments, "an argument of it: float[1<<24], int[64]=iota, int=5; once for each");
  list("--occ_define", defines_, "an axis of definitions, NAME=VALUES");
  list("--occ_include", includes_, "a folder of headers");
  app.add_option("--occ_std", from_.standard, "C++ standard of the source");
  app.add_option("--occ_check", check_,
                 "equal: launches with equal grids and arguments must give equal results")
      ->check(CLI::IsMember({"equal"}));
  app.add_option("--occ_check_against", from_.check_against,
                 "buffers must be those of a kernel of the source, naive<<<64x64,16x16>>>, or @FILE");
  app.add_option("--occ_tolerance", from_.tolerance,
                 "of elements, times the larger of 1 and what is expected")
      ->check(CLI::Range(0.0, 1.0));
}

std::optional<SweepOptions> SweepFlags::options() const {
  if (family_.empty() && source_.empty()) return std::nullopt;
  SweepOptions sweep{.family = family_,
                     .source = std::nullopt,
                     .axes = {},
                     .combine = zip_ ? Combine::zip : Combine::product,
                     .where = where_};
  for (const std::string& axis : axes_) sweep.axes.push_back(axis_of("--occ_axis", axis));
  if (source_.empty()) return sweep;
  sweep.source = from_;
  sweep.source->file = source_;
  sweep.source->check_equal = !check_.empty();
  sweep.source->include_folders.assign(includes_.begin(), includes_.end());
  for (const std::string& define : defines_) sweep.source->defines.push_back(axis_of("--define", define));
  sweep.axes.insert(sweep.axes.end(), sweep.source->defines.begin(), sweep.source->defines.end());
  return sweep;
}

struct Parser {
  CLI::App app;
  Options options;
  std::string suite = "quick";
  std::string counters = "auto";
  std::string list_file;
  CLI::Option* list = nullptr;
  std::string compute_capability;
  std::string gpu;
  int sm_count = 0;
  SweepFlags sweep;

  Parser() : app("", "") {
    app.set_help_flag();
    app.add_option("--occ_suite", suite, "smoke, quick (default) or full")->check(CLI::IsMember(kSuites));
    app.add_option("--occ_device", options.device,
                   "number of the GPU, or auto (default): the discrete one with most SMs");
    path("--occ_cases", options.cases, "only the cases whose full names stand in this file, one a line");
    path("--occ_csv", options.csv, "append a row a case to this file, and its samples to FILE.samples.csv");
    app.add_flag("--occ_resume", options.resume,
                 "keep the rows of --occ_csv and run the cases that it lacks");
    app.add_option("--occ_counters", counters,
                   "auto (default), off, or require: status 2 where they cannot be read")
        ->check(CLI::IsMember(kCounterModes));
    app.add_option("--occ_readings", options.readings,
                   "counted launches a case, 1 to 1000 (default 16, of the full suite 8)")
        ->check(CLI::Range(1, 1000));
    text(
        "--occ_metrics", [this](const std::string& names) { options.metrics = metrics_of(names); },
        "more hardware metrics, separated by commas: a column each, and their samples");
    path("--occ_timeline", options.timeline,
         "write occupancy over time to FOLDER/EXPERIMENT.CASE.timeline.csv, predicted beside it");
    path("--occ_per_sm", options.per_sm,
         "write what each SM did to FOLDER/EXPERIMENT.CASE.per_sm.csv, where the kernel keeps records of its "
         "warps");
    text(
        "--occ_shuffle", [this](const std::string& seed) { options.shuffle = seed_of(seed); },
        "cases in random order; a number repeats an order")
        ->expected(0, 1)
        ->default_str("random");
    text(
        "--occ_device_profile",
        [this](const std::string& name) { options.device_profile = find_profile(name); },
        "predict with this device profile: a built-in one, or a file that occbench calibrate wrote");
    app.add_flag("--occ_small", options.small, "small grids and short work, as compute-sanitizer needs");
    app.add_flag("--occ_profile", options.profile,
                 "check each case, launch it once, and nothing else: for ncu and compute-sanitizer");
    list = app.add_option("--occ_list", list_file,
                          "print the cases as JSON, one a line, or write them as rows to a new file, and end")
               ->expected(0, 1)
               ->default_str("");
    app.add_flag("--occ_describe", options.describe,
                 "print the experiment's name, claim and source as JSON, and end; needs no GPU");
    app.add_option("--occ_progress_fd", options.progress_fd,
                   "tell the progress through this open file descriptor, a line when a case begins and one "
                   "when its row is written")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--occ_fastest", options.fastest, "find the fastest case without measuring all");
    CLI::Option* const capability = app.add_option(
        "--occ_cc", compute_capability, "list the cases for this compute capability, without a GPU");
    CLI::Option* const sms =
        app.add_option("--occ_sm_count", sm_count, "its number of SMs")->check(CLI::Range(1, kMostSmsOfGpu));
    capability->needs(sms);
    app.add_option("--occ_gpu", gpu, "list them for this GPU of the table, without a GPU")
        ->excludes(capability, sms);
    sms->needs(capability);
    sweep.declare(app);
  }

  /// A flag whose text is converted to a value unless it is empty.
  CLI::Option* text(const char* name, const std::function<void(const std::string&)>& take,
                    const char* meaning) {
    return app.add_option_function<std::string>(
        name,
        [take](const std::string& value) {
          if (!value.empty()) take(value);
        },
        meaning);
  }
  void path(const char* name, std::optional<std::filesystem::path>& file, const char* meaning) {
    text(
        name, [&file](const std::string& value) { file = value; }, meaning);
  }

  /// Converts the parsed text to values. @throws InputError for options that do not go together
  void finish() {
    options.suite = kSuites.at(suite);
    options.counters = kCounterModes.at(counters);
    options.list = list->count() > 0;
    if (!list_file.empty()) options.list_file = list_file;
    options.sweep = sweep.options();
    if (!compute_capability.empty()) {
      options.planned_for =
          device_to_plan_for(any_gpu(parse_compute_capability(compute_capability), sm_count));
    }
    if (!gpu.empty()) options.planned_for = device_to_plan_for(identity_of(gpu_of(gpu)));
    if (options.planned_for) options.list = true;
    std::error_code unknown;
    if (options.list_file && std::filesystem::exists(*options.list_file, unknown))
      throw InputError("--occ_list={}: it exists; name a new file", list_file);
    if (options.resume && !options.csv)
      throw InputError("--occ_resume needs the file to go on with: --occ_csv=FILE");
    if (options.counters == CounterMode::off && (options.timeline || !options.metrics.empty())) {
      throw InputError("{} is read by hardware counters: leave --occ_counters=off out",
                       options.timeline ? "--occ_timeline" : "--occ_metrics");
    }
  }
};

}  // namespace

int readings_of(const Options& options) {
  return options.readings.value_or(options.suite == Suite::full ? 8 : 16);
}

Options parse_options(const std::vector<std::string>& arguments) {
  Parser parser;
  Options& options = parser.options;
  for (const std::string& argument : arguments_from_environment()) {
    refuse_what_google_benchmark_would(argument);
    take_up(argument, options);
  }
  std::vector<std::string> ours;
  std::vector<std::string> theirs;
  bool min_time_given = false;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument.starts_with(kOurs)) {
      ours.push_back(argument);
    } else if (argument.starts_with(kMinTime)) {
      theirs.push_back(min_time_argument(std::string_view(argument).substr(kMinTime.size())));
      min_time_given = true;
    } else if (argument.starts_with("--benchmark_enable_random_interleaving") &&
               !argument.ends_with("=false")) {
      throw InputError("--benchmark_enable_random_interleaving would finish no case before all have run");
    } else {
      refuse_what_google_benchmark_would(argument);
      if (!take_up(argument, options)) theirs.push_back(argument);
    }
  }
  if (!min_time_given) theirs.insert(theirs.begin(), min_time_argument(kDefaultMinTime));
  options.google_benchmark = std::move(theirs);
  try {
    std::ranges::reverse(ours);  // CLI11 takes its vector from the back
    parser.app.parse(ours);
  } catch (const CLI::ParseError& error) {
    throw InputError("{}; --help lists the flags", error.what());
  }
  parser.finish();
  return options;
}

std::string options_help() {
  return Parser().app.help();
}

}  // namespace occbench
