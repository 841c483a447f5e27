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
#include "cli/calc_report.hpp"
#include "cli/commands.hpp"
#include "occupancy/input_error.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

struct CalcOptions {
  std::string compute_capability;
  Configuration configuration;
  std::optional<int> sm_count;
  std::vector<int> sms_per_gpc;
  std::string batch;
  std::string from;
  bool curves = false;
  std::string format;
};

std::string whole_json(const Question& question, bool curves) {
  nlohmann::ordered_json object = question_json(question);
  object.update(answer_json(question));
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

Question one_question(const CalcOptions& options, const CLI::App& parser) {
  for (const char* needed : {"--cc", "--block-size", "--registers"}) {
    if (parser.count(needed) == 0) {
      throw InputError(fmt::format("calc needs {} (or --batch FILE.csv, or --from FILE)", needed));
    }
  }
  const Question question{&limits_of(parse_compute_capability(options.compute_capability)),
                          options.configuration, options.sm_count, options.sms_per_gpc};
  check_device(question);
  return question;
}

std::string answer_one(const Question& question, AnswerFormat format, bool curves) {
  switch (format) {
    case AnswerFormat::json:
      return whole_json(question, curves);
    case AnswerFormat::csv: {
      if (curves) return flat_csv(curves_json(question));
      nlohmann::ordered_json row = question_json(question);
      row.update(answer_json(question));
      return flat_csv({&row, 1});
    }
    case AnswerFormat::table:
      break;
  }
  return calc_report(question) + (curves ? calc_curves(question) : "");
}

std::string answer_kernels(const CalcOptions& options, const CLI::App& parser) {
  BinaryQuestion question;
  question.launch = options.configuration.launch;
  if (parser.count("--cc") > 0)
    question.compute_capability = parse_compute_capability(options.compute_capability);
  if (parser.count("--block-size") > 0) question.block_threads = options.configuration.launch.block_threads;
  const std::vector<DeviceKernel> kernels =
      kernels_for(read_device_code(options.from), question.compute_capability);
  return answer_binary(kernels, question, format_of(options, AnswerFormat::table));
}

std::string answer(const CalcOptions& options, const CLI::App& parser) {
  refuse_beside(parser, "--batch",
                {"--cc", "--block-size", "--registers", "--static-smem", "--dynamic-smem", "--carveout",
                 "--barriers", "--cluster", "--grid", "--sm-count", "--gpc-sms", "--curves", "--from"});
  refuse_beside(
      parser, "--from",
      {"--registers", "--static-smem", "--barriers", "--grid", "--sm-count", "--gpc-sms", "--curves"});
  if (!options.batch.empty()) return answer_batch(options.batch, format_of(options, AnswerFormat::csv));
  if (!options.from.empty()) return answer_kernels(options, parser);
  return answer_one(one_question(options, parser), format_of(options, AnswerFormat::table), options.curves);
}

}  // namespace

Action declare_calc(CLI::App& parser) {
  const auto options = std::make_shared<CalcOptions>();
  auto& [launch, usage] = options->configuration;
  const auto add = [&](const char* name, auto& value, const char* meaning, const char* type) {
    return parser.add_option(name, value, meaning)->type_name(type);
  };
  add("--cc", options->compute_capability, "compute capability: 9.0, 90 or sm_90", "CC");
  add("--block-size", launch.block_threads, "threads per block", "THREADS");
  add("--registers", usage.registers_per_thread, "registers per thread", "REGISTERS");
  add("--static-smem", usage.static_shared_bytes, "static shared memory per block", "BYTES");
  add("--dynamic-smem", launch.dynamic_shared_bytes, "dynamic shared memory per block", "BYTES");
  add("--carveout", launch.carveout_pct, "preferred shared-memory carveout, % of the SM's maximum", "PCT");
  add("--barriers", usage.barriers, "named barriers per block", "BARRIERS");
  add("--cluster", launch.cluster_blocks, "blocks per cluster", "BLOCKS");
  add("--grid", launch.grid_blocks, "blocks in the grid", "BLOCKS");
  add("--sm-count", options->sm_count, "SMs of the device: adds waves", "SMS");
  add("--gpc-sms", options->sms_per_gpc,
      "SMs of each GPC, as occbench devices lists them (18,18,16): adds active clusters", "SMS,...")
      ->delimiter(',');
  parser.add_flag("--curves", options->curves, "occupancy over block size, registers and shared memory");
  add("--batch", options->batch,
      "answer each row of a CSV file (-: standard input) that has the columns compute_capability, "
      "block_threads and "
      "registers_per_thread, and may have others of a recorded row",
      "FILE.csv");
  add("--from", options->from,
      "each kernel of a cubin, object, library or executable, by the CUDA toolkit's cuobjdump: registers, "
      "shared "
      "memory, stack, spills, and occupancy over block sizes; with --cc as it runs there",
      "FILE");
  add("--format", options->format, "table, csv or json", "FORMAT")
      ->check(CLI::IsMember({"table", "csv", "json"}));
  return [options, &parser](Console& console) {
    fmt::print(console.out, "{}", answer(*options, parser));
    return ExitStatus::done;
  };
}

}  // namespace occbench
