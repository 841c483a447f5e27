#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/calc_batch.hpp"
#include "cli/calc_binary.hpp"
#include "cli/calc_curves.hpp"
#include "cli/calc_limits.hpp"
#include "cli/calc_report.hpp"
#include "cli/commands.hpp"
#include "cli/gpu_option.hpp"
#include "cli/options.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/runtime_answers.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

struct CalcOptions {
  GpuOption gpu;
  Configuration configuration;
  std::vector<std::string> sms_per_gpc;
  bool limits = false;
  std::string batch;
  bool rank = false;
  std::string from;
  CodeSelection code;
  bool all_block_sizes = false;
  bool curves = false;
  std::string format;
};

std::string whole_json(const Question& question, bool curves) {
  nlohmann::ordered_json object = question_json(question);
  object.update(answer_json(question));
  object["rules"] = rules_json(question);
  const TheoryAdvice advice = advise_on_theory(*question.limits, question.configuration);
  object["what_to_do"] = what_to_do(advice);
  object["steps"] = steps_json(advice);
  object["cliffs"] = cliffs_json(question);
  if (curves) object["curves"] = curves_json(question);
  return json_text(object) + "\n";
}

AnswerFormat format_of(const CalcOptions& options, AnswerFormat otherwise) {
  if (options.format.empty()) return otherwise;
  if (options.format == "csv") return AnswerFormat::csv;
  return options.format == "json" ? AnswerFormat::json : AnswerFormat::table;
}

// What has its own values for some options takes none from the command line.
void refuse_beside(const CLI::App& parser, const char* chosen, std::initializer_list<const char*> others) {
  if (parser.count(chosen) == 0) return;
  for (const char* other : others) {
    if (parser.count(other) > 0) throw InputError(fmt::format("{} does not go with {}", other, chosen));
  }
}

/// The curves need a block size only where they are not over block sizes: the best serves.
void choose_block_size(Question& question, std::string& remark) {
  auto& [launch, usage] = question.configuration;
  const int threads =
      best_block_size(*question.limits, launch, usage, question.limits->max_threads_per_block).block_threads;
  if (threads == 0) throw InputError("no block size can launch such a block: give --block-size to see why");
  launch.block_threads = threads;
  remark =
      fmt::format("No --block-size was given: the curves are drawn with the best, {} threads.\n", threads);
}

Question one_question(const CalcOptions& options, const CLI::App& parser, std::string& remark) {
  if (!options.gpu.given()) {
    throw InputError("calc needs --cc or --gpu (or --batch FILE.csv, --from FILE, --limits)");
  }
  for (const char* needed : {"--block-size", "--registers"}) {
    if (parser.count(needed) > 0 || (options.curves && needed == std::string_view("--block-size"))) continue;
    throw InputError(fmt::format("calc needs {} (or --batch FILE.csv, --from FILE, --limits)", needed));
  }
  constexpr int kMostSmsOfGpc = 64;
  Question question{
      &limits_of(capability_of(options.gpu)), options.configuration, sm_count_of(options.gpu), {}};
  for (const std::string& sms : options.sms_per_gpc)
    question.sms_per_gpc.push_back(parse_number(sms, "--gpc-sms", 1, kMostSmsOfGpc));
  check_question(question);
  if (parser.count("--block-size") == 0) choose_block_size(question, remark);
  return question;
}

std::string answer_one(const Question& question, AnswerFormat format, bool curves) {
  switch (format) {
    case AnswerFormat::json:
      return whole_json(question, curves);
    case AnswerFormat::csv: {
      if (curves) return flat_csv(curve_rows(question));
      nlohmann::ordered_json row = question_json(question);
      row.update(answer_json(question));
      return flat_csv({&row, 1});
    }
    case AnswerFormat::table:
      break;
  }
  return calc_report(question) + (curves ? draw_curves(question) : "");
}

std::string answer_kernels(const CalcOptions& options, const CLI::App& parser, Console& console) {
  BinaryQuestion question;
  question.launch = options.configuration.launch;
  question.all_block_sizes = options.all_block_sizes;
  CodeSelection code = options.code;
  if (options.gpu.given()) code.runs_on = question.compute_capability = capability_of(options.gpu);
  if (parser.count("--block-size") > 0) question.block_threads = options.configuration.launch.block_threads;
  const std::vector<DeviceKernel> kernels = read_device_code(options.from, code, console.err);
  const AnswerFormat format = format_of(options, AnswerFormat::table);
  if (!options.curves) return answer_binary(kernels, question, format);
  if (kernels.size() > 1) {
    throw InputError(fmt::format(
        "--curves are of one kernel, and {} were found: name one by --kernel and --cc", kernels.size()));
  }
  return answer_one(question_of(kernels.front(), question), format, true);
}

std::string answer_limits(const CalcOptions& options) {
  const AnswerFormat format = format_of(options, AnswerFormat::table);
  return !options.gpu.given() ? limits_text(all_limits(), format)
                              : limits_text({&limits_of(capability_of(options.gpu)), 1}, format);
}

std::string answer(const CalcOptions& options, const CLI::App& parser, Console& console) {
  const std::initializer_list<const char*> of_launch = {
      "--block-size", "--registers", "--static-smem", "--dynamic-smem", "--carveout", "--barriers",
      "--cluster",    "--grid",      "--sm-count",    "--gpc-sms",      "--curves"};
  refuse_beside(parser, "--limits", of_launch);
  refuse_beside(parser, "--limits", {"--batch", "--from"});
  refuse_beside(parser, "--batch", {"--cc", "--gpu", "--from"});
  refuse_beside(parser, "--batch", of_launch);
  refuse_beside(parser, "--from",
                {"--registers", "--static-smem", "--barriers", "--grid", "--sm-count", "--gpc-sms"});
  if (options.limits) return answer_limits(options);
  if (!options.batch.empty()) {
    return answer_batch(options.batch,
                        format_of(options, options.rank ? AnswerFormat::table : AnswerFormat::csv),
                        options.rank ? BatchOrder::ranked : BatchOrder::as_given);
  }
  if (!options.from.empty()) return answer_kernels(options, parser, console);
  std::string remark;
  const Question question = one_question(options, parser, remark);
  fmt::print(console.err, "{}", remark);
  return answer_one(question, format_of(options, AnswerFormat::table), options.curves);
}

void declare_launch(CLI::App& parser, CalcOptions& options) {
  auto& [launch, usage] = options.configuration;
  const auto add = [&](const char* name, auto& value, const char* meaning, const char* type) {
    add_number(parser, name, value, meaning, 0, kMostOfInt)->type_name(type);
  };
  declare_gpu_option(parser, options.gpu);
  add("--block-size", launch.block_threads, "threads per block", "THREADS");
  add("--registers", usage.registers_per_thread, "registers per thread", "REGISTERS");
  add_size_option(parser, "--static-smem", usage.static_shared_bytes, "static shared memory per block");
  add_size_option(parser, "--dynamic-smem", launch.dynamic_shared_bytes, "dynamic shared memory per block");
  add("--carveout", launch.carveout_pct, "preferred shared-memory carveout, % of the SM's maximum", "PCT");
  add("--barriers", usage.barriers, "named barriers per block", "BARRIERS");
  add("--cluster", launch.cluster_blocks, "blocks per cluster", "BLOCKS");
  add("--grid", launch.grid_blocks, "blocks in the grid", "BLOCKS");
  add_comma_list(parser, "--gpc-sms", options.sms_per_gpc,
                 "SMs of each GPC, as occbench devices lists them (18,18,16): adds active clusters")
      ->type_name("SMS,...");
  parser.add_flag(
      "--curves", options.curves,
      "occupancy over block size, registers and shared memory; as CSV occbench report draws them");
}

void declare_sources(CLI::App& parser, CalcOptions& options) {
  parser.add_flag("--limits", options.limits, "the limits of --cc, or of all compute capabilities");
  CLI::Option* batch =
      parser
          .add_option("--batch", options.batch,
                      "answer each row of a CSV file (-: standard input) that has the columns "
                      "compute_capability, block_threads and registers_per_thread, and may have others of a "
                      "recorded row; its column case names the rows")
          ->type_name("FILE.csv");
  parser.add_flag("--rank", options.rank, "the best of the batch first")->needs(batch);
  CLI::Option* from =
      parser
          .add_option(
              "--from", options.from,
              "each kernel of a cubin, object, library or executable, by the CUDA toolkit's cuobjdump: "
              "registers, shared memory, stack, spills and occupancy; with --cc as it runs there")
          ->type_name("FILE");
  parser
      .add_option("--kernel", options.code.kernels,
                  "only kernels in whose name this regular expression is found")
      ->type_name("RE")
      ->needs(from);
  parser
      .add_option("--arch", options.code.architecture,
                  "only code of this architecture: sm_90a, sm_90, 90 or 9.0")
      ->type_name("ARCH")
      ->needs(from);
  parser
      .add_flag("--all-block-sizes", options.all_block_sizes,
                "as CSV and JSON a row for each block size that a kernel's launch bounds allow")
      ->needs(from);
}

}  // namespace

Action declare_calc(CLI::App& parser) {
  const auto options = std::make_shared<CalcOptions>();
  declare_launch(parser, *options);
  declare_sources(parser, *options);
  parser.add_option("--format", options->format, "table, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}));
  return [options, &parser](Console& console) {
    fmt::print(console.out, "{}", answer(*options, parser, console));
    return ExitStatus::done;
  };
}

}  // namespace occbench
