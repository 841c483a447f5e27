#include "cli/calc_binary.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/text_table.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kTableBlockSizes = {32, 64, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::size_t kNameWidth = 44;

constexpr int kDefaultBlockThreads = 256;

const Limits& limits_for(const DeviceKernel& kernel, const BinaryQuestion& question) {
  return limits_of(question.compute_capability.value_or(kernel.compute_capability));
}

bool is_within_launch_bounds(const DeviceKernel& kernel, int block_threads) {
  if (kernel.required_block_threads > 0) return block_threads == kernel.required_block_threads;
  return kernel.max_block_threads == 0 || block_threads <= kernel.max_block_threads;
}

Question question_at(const DeviceKernel& kernel, const BinaryQuestion& asked, int block_threads) {
  Question question{&limits_for(kernel, asked), {asked.launch, kernel.usage}, std::nullopt, {}};
  question.configuration.launch.block_threads = block_threads;
  return question;
}

std::vector<int> block_sizes(const DeviceKernel& kernel, const BinaryQuestion& asked) {
  if (!asked.all_block_sizes) return {asked.block_threads.value_or(default_block_threads(kernel))};
  const Limits& limits = limits_for(kernel, asked);
  std::vector<int> sizes;
  for (int threads = limits.threads_per_warp; threads <= limits.max_threads_per_block;
       threads += limits.threads_per_warp) {
    if (is_within_launch_bounds(kernel, threads)) sizes.push_back(threads);
  }
  return sizes;
}

/// "shapes::reversed<256>(float*) sm_90", the same for all block sizes.
class CaseNames {
 public:
  std::string next(const DeviceKernel& kernel) {
    const std::string name = fmt::format("{} {}", source_name(kernel.symbol), kernel.architecture);
    const int count = ++counts_[name];
    return count == 1 ? name : fmt::format("{} #{}", name, count);
  }

 private:
  std::map<std::string, int> counts_;
};

Json row_of(const DeviceKernel& kernel, const Question& question, const std::string& name) {
  Json row = row_head("binary", name);
  row["cuda_toolkit"] = kernel.toolkit;
  row["kernel"] = source_name(kernel.symbol);
  row["code_architecture"] = kernel.architecture;
  row["local_bytes_per_thread"] = kernel.usage.local_bytes_per_thread;
  row["spill_bytes"] = kernel.local ? Json(kernel.local->bytes) : Json();
  row.update(question_json(question));
  row.update(answer_json(question));
  const int block_threads = question.configuration.launch.block_threads;
  if (!is_within_launch_bounds(kernel, block_threads)) {
    for (const char* none : {"blocks_per_sm", "theoretical_pct", "warps_per_sm", "threads_per_sm"})
      row[none] = 0;
    row["cannot_launch"] = fmt::format("the launch bounds do not allow {} threads per block", block_threads);
  }
  row["symbol"] = kernel.symbol;
  row["stack_bytes_per_thread"] = kernel.stack_bytes;
  row["local_load_instructions"] = kernel.local ? Json(kernel.local->loads) : Json();
  row["local_store_instructions"] = kernel.local ? Json(kernel.local->stores) : Json();
  const auto known = [](std::int64_t threads) { return threads > 0 ? Json(threads) : Json(); };
  row["max_block_threads"] = known(kernel.max_block_threads);
  row["required_block_threads"] = known(kernel.required_block_threads);
  return row;
}

std::vector<Json> rows_of(std::span<const DeviceKernel> kernels, const BinaryQuestion& asked) {
  std::vector<Json> rows;
  CaseNames names;
  for (const DeviceKernel& kernel : kernels) {
    const std::string name = names.next(kernel);
    for (const int threads : block_sizes(kernel, asked)) {
      rows.push_back(
          row_of(kernel, question_at(kernel, asked, threads),
                 asked.all_block_sizes ? fmt::format("{} block_threads={}", name, threads) : name));
    }
  }
  return rows;
}

/// Where the parameters of a function's name begin; its end where it has none.
std::size_t begin_of_parameters(const std::string& name) {
  if (!name.ends_with(')')) return name.size();
  int depth = 0;
  for (std::size_t place = name.size(); place-- > 0;) {
    depth += name[place] == ')' ? 1 : name[place] == '(' ? -1 : 0;
    if (depth == 0) return place;
  }
  return name.size();
}

std::string shortened(std::string name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t place = 0; (place = name.find(kAnonymous)) != std::string::npos;)
    name.erase(place, kAnonymous.size());
  if (name.size() > kNameWidth) name.erase(begin_of_parameters(name));
  if (name.size() <= kNameWidth) return name;
  // Template arguments, which tell instances apart, stand at the end.
  const std::size_t head = kNameWidth / 2;
  return fmt::format("{}…{}", name.substr(0, head), name.substr(name.size() - (kNameWidth - head - 1)));
}

std::string cell(const DeviceKernel& kernel, const BinaryQuestion& asked, int block_threads) {
  const Question question = question_at(kernel, asked, block_threads);
  const bool possible = block_threads <= question.limits->max_threads_per_block &&
                        is_within_launch_bounds(kernel, block_threads);
  if (!possible) return "-";
  const Occupancy occupancy =
      theoretical_occupancy(*question.limits, question.configuration.launch, question.configuration.usage);
  return fmt::format("{:.3g}", occupancy.theoretical_pct);
}

std::string as_table(std::span<const DeviceKernel> kernels, const BinaryQuestion& asked) {
  std::vector<int> sizes(kTableBlockSizes.begin(), kTableBlockSizes.end());
  if (asked.block_threads) sizes = {*asked.block_threads};
  std::vector<std::vector<std::string>> lines = {
      {"kernel", "code", "registers", "static B", "stack B", "local B", "local ld/st", "barriers"}};
  for (const int size : sizes) lines[0].push_back(fmt::format("at {}", size));
  for (const DeviceKernel& kernel : kernels) {
    std::vector<std::string> line = {
        shortened(source_name(kernel.symbol)),
        kernel.architecture,
        std::to_string(kernel.usage.registers_per_thread),
        std::to_string(kernel.usage.static_shared_bytes),
        std::to_string(kernel.stack_bytes),
        std::to_string(kernel.usage.local_bytes_per_thread),
        kernel.local ? fmt::format("{}/{}", kernel.local->loads, kernel.local->stores) : "?",
        std::to_string(kernel.usage.barriers)};
    for (const int size : sizes) line.push_back(cell(kernel, asked, size));
    lines.push_back(std::move(line));
  }
  return text_table(lines, "<<>") + R"(
at N         theoretical occupancy, %, of blocks of N threads; - where the launch bounds forbid them
local B      local memory per thread, the stack included
local ld/st  instructions that load from and store to it: spills, and arrays that registers cannot hold; ? not counted
)";
}

}  // namespace

int default_block_threads(const DeviceKernel& kernel) {
  if (kernel.required_block_threads > 0) return static_cast<int>(kernel.required_block_threads);
  return kernel.max_block_threads > 0 ? static_cast<int>(kernel.max_block_threads) : kDefaultBlockThreads;
}

Question question_of(const DeviceKernel& kernel, const BinaryQuestion& asked) {
  return question_at(kernel, asked, asked.block_threads.value_or(default_block_threads(kernel)));
}

std::string answer_binary(std::span<const DeviceKernel> kernels, const BinaryQuestion& question,
                          AnswerFormat format) {
  if (format == AnswerFormat::table) return as_table(kernels, question);
  const std::vector<Json> rows = rows_of(kernels, question);
  return format == AnswerFormat::csv ? flat_csv(rows) : flat_json(rows);
}

}  // namespace occbench
