#include <algorithm>
#include <memory>
#include <ostream>
#include <span>

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/calc_batch.hpp"
#include "cli/command.hpp"
#include "cli/gpu_option.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/text.hpp"
#include "record/json.hpp"

namespace occbench {

namespace {

/// A point of a curve: axis, value, current (1 = the question's own configuration), blocks_per_sm, warps_per_sm, limiter,
/// theoretical_pct.
Json curve_point(const Question& question, Axis axis, const CurvePoint& point) {
  const Configuration at = with(axis, point.value, question.configuration);
  return {{"axis", to_string(axis)},
          {"value", point.value},
          {"current", point.current ? 1 : 0},
          {"blocks_per_sm", point.blocks_per_sm},
          {"warps_per_sm", point.warps_per_sm},
          {"limiter", to_string(theoretical_occupancy(question.limits, at).limiters)},
          {"theoretical_pct", point.theoretical_pct}};
}

/// The same as a row that `report` and `gate` read: experiment `curves`, one case per axis and value.
Json curve_row(const Question& question, Axis axis, const CurvePoint& point) {
  Question at = question;
  at.configuration = with(axis, point.value, question.configuration);
  Json row = row_head("curves", fmt::format("{}={}", to_string(axis), point.value));
  row["parameters"] = fmt::format("axis={};current={}", to_string(axis), point.current ? 1 : 0);
  row.update(question_json(at));
  row.update(curve_point(question, axis, point));
  return row;
}

std::vector<Json> for_each_curve_point(const Question& question,
                                       Json (*make)(const Question&, Axis, const CurvePoint&)) {
  std::vector<Json> all;
  for (const Axis axis : kCurveAxes) {
    for (const CurvePoint& point : curve(question.limits, question.configuration, axis))
      all.push_back(make(question, axis, point));
  }
  return all;
}

struct CalcOptions : LaunchOptions {
  std::string launch_bounds;  ///< least and most threads per block
  std::vector<std::string> sms_per_gpc;
  bool limits = false;
  std::string batch;
  std::string from;
  CodeSelection code;
  bool curves = false;
  std::string format;
};

std::string whole_json(const Question& question, bool curves) {
  Json object = answered_json(question);
  object["rules"] = rules_json(question);
  const TheoryAdvice advice = advise_on_theory(question.limits, question.configuration);
  object["what_to_do"] = what_to_do(question, advice);
  object["whole_waves"] = whole_waves_json(question);
  object["steps"] = steps_json(advice);
  object["cliffs"] = cliffs_json(question);
  if (curves) object["curves"] = for_each_curve_point(question, curve_point);
  return json_text(object) + "\n";
}

AnswerFormat format_of(const CalcOptions& options) {
  if (options.format == "csv") return AnswerFormat::csv;
  return options.format == "json" ? AnswerFormat::json : AnswerFormat::table;
}

/// Refuses a block size outside the launch bounds; no answer names one.
void narrow_to_bounds(Question& question, std::pair<int, int> bounds) {
  const auto [least, most] = bounds;
  const int asked = question.configuration.launch.block_threads;
  if (asked > 0 && (asked < least || asked > most))
    throw InputError("--block-size {}: the launch bounds allow {} to {} threads per block", asked, least,
                     most);
  question.limits.min_threads_per_block = least;
  question.limits.max_threads_per_block = std::min(question.limits.max_threads_per_block, most);
}

/// Curves that are not over block sizes need a block size: the best one.
void choose_block_size(Question& question, std::string& remark) {
  auto& [launch, usage] = question.configuration;
  const BestBlockSize best = best_block_size(question.limits, launch, usage);
  if (best.block_threads == 0)
    throw InputError("no block size can launch such a block: give --block-size to see why");
  remark += fmt::format("No --block-size was given: the curves are of the best, {} threads{}.\n",
                        best.block_threads, as_good(question.limits, question.configuration, best));
  launch.block_threads = best.block_threads;
}

Question one_question(const CalcOptions& options, const GpuOption& gpu, const CLI::App& parser,
                      std::string& remark) {
  if (parser.count("--block-size") == 0 && !options.curves)
    throw InputError(
        "calc needs --block-size (or --curves, which finds one, --batch FILE.csv, --from FILE, --limits)");
  if (parser.count("--grid") > 0 && options.launch.grid_blocks == 0)
    throw InputError("--grid = 0 is no grid: give the blocks in the grid, at least 1");
  constexpr int kMostSmsOfGpc = 64;
  Question question{
      limits_of(capability_of(gpu)), {options.launch, options.usage}, sm_count_of(gpu), {}, gpu.name};
  if (!options.launch_bounds.empty())
    narrow_to_bounds(question, parse_launch_bounds(options.launch_bounds, question.limits));
  for (const std::string& sms : options.sms_per_gpc)
    question.sms_per_gpc.push_back(parse_number(sms, "--gpc-sms", 1, kMostSmsOfGpc));
  if (!gpu.name.empty()) {
    const std::vector<const Gpu*> meant = gpus_of(gpu.name);
    if (meant.size() == 1) {
      question.gpu = meant.front()->name;
      use_known_gpcs(question, identity_of(*meant.front()));
    }
    if (!question.sm_count && options.launch.grid_blocks > 0)
      throw InputError("--grid: " + which_of(gpu.name, meant));
  }
  if (!question.sm_count && options.launch.grid_blocks > 0)
    remark = "--grid says nothing without the number of SMs: --gpu NAME, or --sm-count N\n";
  check_question(question);
  if (parser.count("--block-size") == 0) choose_block_size(question, remark);
  return question;
}

std::string answer_one(const Question& question, AnswerFormat format, bool curves) {
  if (format == AnswerFormat::json) return whole_json(question, curves);
  if (format == AnswerFormat::table) return calc_report(question);
  if (curves) return flat_text(for_each_curve_point(question, curve_row), format);
  return flat_text(std::vector{answered_json(question)}, format);
}

std::string answer_side_by_side(std::span<const Question> questions, AnswerFormat format) {
  const std::vector<Json> rows = mapped(questions, answered_json);
  if (format != AnswerFormat::table) return flat_text(rows, format);
  std::vector<std::vector<std::string>> lines = {
      {"GPU", "compute capability", "SMs", "theoretical", "warps", "of", "blocks", "waves", "limited by"}};
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const auto cell = [&](const char* name) { return cell_text(rows[place][name]); };
    const std::string refused = cell("cannot_launch");
    lines.push_back({cell("gpu"), cell("compute_capability"), cell("sm_count"),
                     percent_text(rows[place]["theoretical_pct"]), cell("warps_per_sm"),
                     std::to_string(questions[place].limits.max_warps_per_sm), cell("blocks_per_sm"),
                     cell("waves"), refused.empty() ? cell("limiter") : "cannot launch: " + refused});
  }
  const std::set<std::string> assumed = assumed_of(rows);
  return text_table(lines, "<<>>>>>><") +
         (assumed.empty() ? "" : fmt::format("\n{}\n", fmt::join(assumed, "; ")));
}

std::string list_of_gpus(AnswerFormat format) {
  std::vector<Json> rows;
  std::vector<std::vector<std::string>> lines = {{"--gpu", "compute capability", "SMs", "the driver's name"}};
  for (const Gpu& gpu : all_gpus()) {
    const std::string capability = to_string(gpu.compute_capability);
    rows.push_back({{"name", gpu.name},
                    {"compute_capability", capability},
                    {"sm_count", gpu.sm_count},
                    {"driver_name", gpu.driver_name}});
    lines.push_back(
        {std::string(gpu.name), capability, std::to_string(gpu.sm_count), std::string(gpu.driver_name)});
  }
  return format == AnswerFormat::table ? text_table(lines, "<<><") : flat_text(rows, format);
}

/// With several GPUs, one that cannot run the file says so in its own answer. @throws InputError if none can
std::string answer_kernels(const CalcOptions& options, const CLI::App& parser, Console& console,
                           ExitStatus& status) {
  BinaryQuestion question;
  question.launch = options.launch;
  if (parser.count("--block-size") > 0) question.block_threads = options.launch.block_threads;
  CodeSelection code = options.code;
  const AnswerFormat format = format_of(options);
  const std::vector<GpuOption> gpus =
      options.gpu.given() ? asked_gpus(options.gpu) : std::vector<GpuOption>{options.gpu};
  if (gpus.size() > 1 && format != AnswerFormat::table)
    throw InputError("--from: rows are of one GPU: ask for each, or for a table");
  std::string text;
  std::size_t refused = 0;
  for (const GpuOption& gpu : gpus) {
    if (gpu.given()) code.runs_on = question.compute_capability = capability_of(gpu);
    if (gpus.size() > 1)
      text += fmt::format("{}{}:\n", text.empty() ? "" : "\n",
                          gpu.name.empty() ? gpu.compute_capability : gpu.name);
    try {
      text += answer_binary(read_device_code(options.from, code, console.err), question, format);
    } catch (const InputError& error) {
      if (++refused == gpus.size()) throw;
      text += fmt::format("no answer: {}\n", error.what());
      status = ExitStatus::no_verdict;
    }
  }
  return text;
}

std::string answer_limits(const CalcOptions& options) {
  const AnswerFormat format = format_of(options);
  if (!options.gpu.given()) return limits_text(all_limits(), format);
  return limits_text(
      mapped(asked_gpus(options.gpu), [](const GpuOption& gpu) { return limits_of(capability_of(gpu)); }),
      format);
}

std::string answer(const CalcOptions& options, const CLI::App& parser, Console& console, ExitStatus& status) {
  refuse_all_but({"--limits", "--gpu", "--cc", "--format", "--max-size"}, parser);
  refuse_all_but(
      {"--batch", "--gpu", "--cc", "--format", "--max-size"}, parser,
      ": each line of the file says it, in columns such as block_threads (calc takes --gpu or --cc for all)");
  refuse_all_but({"--from", "--kernel", "--arch", "--gpu", "--cc", "--block-size", "--dynamic-smem",
                  "--carveout", "--cluster", "--format", "--max-size"},
                 parser, ": ask calc without --from, by the numbers that --from prints");
  if (options.gpu.name == "list") return list_of_gpus(format_of(options));
  if (options.limits) return answer_limits(options);
  if (!options.batch.empty()) {
    const bool as_csv = parser.count("--format") == 0;
    return answer_batch(options.batch, options.gpu, as_csv ? AnswerFormat::csv : format_of(options),
                        console.err, status);
  }
  if (!options.from.empty()) return answer_kernels(options, parser, console, status);
  if (!options.gpu.given())
    throw InputError("calc needs --cc or --gpu (or --batch FILE.csv, --from FILE, --limits)");
  if (options.curves && format_of(options) == AnswerFormat::table)
    throw InputError(
        "--curves: give --format csv, which `occbench report FILE.csv --chart curves` draws, or --format "
        "json");
  std::string remark;
  const auto questions = mapped(asked_gpus(options.gpu), [&](const GpuOption& gpu) {
    return one_question(options, gpu, parser, remark);
  });
  fmt::print(console.err, "{}", remark);
  const AnswerFormat format = format_of(options);
  if (questions.size() == 1) return answer_one(questions.front(), format, options.curves);
  if (options.curves) throw InputError("--curves are of one GPU: name one by --gpu or --cc");
  return answer_side_by_side(questions, format);
}

void declare_launch(CLI::App& parser, CalcOptions& options) {
  declare_launch_options(parser, options);
  add_value(parser, "--launch-bounds", "N|N:N", options.launch_bounds,
            "threads per block that the kernel's launch bounds allow at most, or least and most: 256:256");
  add_comma_list(parser, "--gpc-sms", options.sms_per_gpc,
                 "SMs of each GPC, as occbench devices lists them (18,18,16): adds active clusters")
      ->type_name("SMS,...");
  parser.add_flag(
      "--curves", options.curves,
      "occupancy over block size, registers and shared memory (needs --format csv, which occbench report "
      "draws, or json)");
}

void declare_sources(CLI::App& parser, CalcOptions& options) {
  parser.add_flag("--limits", options.limits, "the limits of --cc, or of all compute capabilities");
  add_value(parser, "--batch", "FILE.csv", options.batch,
            "answer each row of a CSV file (-: standard input) that has the columns block_threads "
            "and, without --gpu and --cc, compute_capability, and may have registers_per_thread "
            "and others of a recorded row; its column case names the rows");
  CLI::Option* from =
      add_value(parser, "--from", "FILE", options.from,
                "each kernel of a cubin, object, library or executable, by the CUDA toolkit's cuobjdump: "
                "registers, shared memory, stack, spills and occupancy; with --cc as it runs there");
  add_value(parser, "--kernel", "RE", options.code.kernels,
            "only kernels in whose name this regular expression is found")
      ->needs(from);
  add_value(parser, "--arch", "ARCH", options.code.architecture,
            "only code of this architecture: sm_90 or sm_90a, both by 90 or 9.0")
      ->needs(from);
}

}  // namespace

Action declare_calc(CLI::App& parser) {
  const auto options = std::make_shared<CalcOptions>();
  declare_launch(parser, *options);
  declare_sources(parser, *options);
  add_format(parser, options->format, {"table", "csv", "json"},
             "table, csv or json; without it, --batch gives CSV");
  parser.footer("A launch that no SM can hold is an answer, `cannot launch`: exit status 0.");
  return [options, &parser](Console& console) {
    ExitStatus status = ExitStatus::done;
    fmt::print(console.out, "{}", answer(*options, parser, console, status));
    return status;
  };
}

}  // namespace occbench
