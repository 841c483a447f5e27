#include "cli/calc_batch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/batch_file.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/kernel_name.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr auto kNeeded = std::to_array<std::string_view>({"compute_capability", "block_threads"});
constexpr auto kOptional = std::to_array<std::string_view>(
    {"registers_per_thread", "static_shared_bytes", "dynamic_shared_bytes", "carveout_pct", "barriers",
     "cluster_blocks", "grid_blocks", "sm_count", "gpu"});
/// Columns that calc writes beside a row and its answers: with --from, then with --curves.
constexpr auto kWritten = std::to_array<std::string_view>(
    {"symbol", "stack_bytes_per_thread", "local_load_instructions", "local_store_instructions",
     "max_block_threads", "required_block_threads", "axis", "value", "current"});
/// Columns that name and describe a row.
constexpr auto kDescribing = std::to_array<std::string_view>({"case", "kernel", "parameters", "note"});

Row row_of(const CsvTable& table, const std::vector<std::string>& cells) {
  Row row = row_of_cells(table, cells);
  for (const std::string_view name : kNeeded) {
    if (cell_text(row, *find_column(name)).empty()) throw InputError("{} is empty", name);
  }
  if (row.case_.empty() && std::ranges::find(table.names, "case") != table.names.end())
    throw InputError("case is empty: it is the row's name");
  return row;
}

Question question_of(const Row& row) {
  Row asked;
  const auto take = [&](std::string_view name) {
    const Column& column = *find_column(name);
    set_cell(asked, column, cell_text(row, column));
  };
  std::ranges::for_each(kNeeded, take);
  std::ranges::for_each(kOptional, take);
  if (const Column& registers = *find_column("registers_per_thread"); cell_text(asked, registers).empty())
    set_cell(asked, registers, "0");
  const CaseRecord record = case_record(asked);
  Question question{limits_of(record.provenance.compute_capability.value()),
                    {record.launch.value(), record.compiled.value().usage},
                    record.provenance.sm_count,
                    {}};
  if (question.sm_count) use_known_gpcs(question, identity_of(record.provenance));
  check_question(question);
  return question;
}

/// Applies the launch bounds that calc --from wrote. @throws InputError for a block beyond them
void keep_to_bounds(Question& question, const CsvTable& table, const std::vector<std::string>& cells) {
  Limits& limits = question.limits;
  const int asked = question.configuration.launch.block_threads;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::string& name = table.names[cell];
    const bool is_required = name == "required_block_threads";
    if ((!is_required && name != "max_block_threads") || cells[cell].empty()) continue;
    const int threads = parse_number<int>(cells[cell], name, 1, limits.max_threads_per_block);
    if (asked > threads || (is_required && asked != threads))
      throw InputError("block_threads = {}: the kernel's launch bounds allow {}{} threads per block", asked,
                       is_required ? "" : "1 to ", threads);
    limits.max_threads_per_block = threads;
    if (is_required) limits.min_threads_per_block = threads;
  }
}

Json answers_of_any() {
  return answer_json({all_limits().back(), {{.block_threads = 32}, {}}, std::nullopt, {}});
}

// CSV keeps the input as read. `answer` says why there is none; `note` says that, or why an answer is not complete.
Json answered(const CsvTable& table, const std::vector<std::string>& cells, AnswerFormat format,
              Answered& answer, std::string& note) {
  Json typed;
  Json answers;
  try {
    const Row row = row_of(table, cells);
    if (format == AnswerFormat::json) typed = row_to_json(row);
    if (row.grid_blocks == 0)
      throw InputError("grid_blocks = 0 is no grid: give at least 1, or leave the cell empty");
    Question question = question_of(row);
    keep_to_bounds(question, table, cells);
    answers = answer_json(question);
    note = why_no_waves(question);
    add_note(note, idle_lanes(question.configuration.launch));
  } catch (const InputError& error) {
    note = error.what();
    answer = {.why_not = note, .refused = true};
    answers = answers_of_any();
    for (Json& none : answers) none = nullptr;
  }
  Json object = row_head("batch", "");
  object.erase("case");
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::string& name = table.names[cell];
    object[name] = typed.contains(name) ? typed[name] : Json(cells[cell]);
  }
  object.update(answers);
  return object;
}

std::vector<std::string> names_of_answers() {
  std::vector<std::string> names(kWritten.begin(), kWritten.end());
  const Json answers = answers_of_any();
  for (const auto& [name, value] : answers.items()) names.push_back(name);
  return names;
}

/// One line per reason.
std::string why_not_launched(std::span<const Json> rows) {
  std::set<std::string> reasons;
  for (const Json& row : rows) {
    if (!row["cannot_launch"].is_null()) reasons.insert(row["cannot_launch"].get<std::string>());
  }
  std::string text;
  for (const std::string& reason : reasons)
    text += fmt::format("{}cannot launch: {}\n", text.empty() ? "\n" : "", reason);
  return text;
}

std::string as_table(std::span<const Json> rows) {
  const bool named = !rows.empty() && rows[0].contains("case");
  std::vector<std::vector<std::string>> lines = {{named ? "case" : "", "compute capability", "threads",
                                                  "registers", "static B", "dynamic B", "theoretical",
                                                  "warps", "blocks", "limited by"}};
  const auto waves = [](const Json& row) { return row.contains("waves") && !row["waves"].is_null(); };
  const bool have_waves = std::ranges::any_of(rows, waves);
  if (have_waves) lines[0].emplace_back("waves");
  const auto cell = [](const Json& row, const char* name) {
    return row.contains(name) ? cell_text(row[name]) : std::string();
  };
  for (const Json& row : rows) {
    lines.push_back({cell(row, "case"), cell(row, "compute_capability"), cell(row, "block_threads"),
                     cell(row, "registers_per_thread"), cell(row, "static_shared_bytes"),
                     cell(row, "dynamic_shared_bytes"),
                     row["theoretical_pct"].is_null() ? "no answer" : percent_text(row["theoretical_pct"]),
                     cell(row, "warps_per_sm"), cell(row, "blocks_per_sm"),
                     row["cannot_launch"].is_null() ? cell(row, "limiter") : "cannot launch"});
    if (have_waves) lines.back().push_back(cell(row, "waves"));
  }
  if (!named) {
    for (std::vector<std::string>& line : lines) line.erase(line.begin());
  }
  const std::set<std::string> assumed = assumed_of(rows);
  const std::string align = fmt::format("{}<>>>>>>><{}", named ? "<" : "", have_waves ? ">" : "");
  std::string idle;
  for (const Json& row : rows) {
    if (!idle.empty() || row["theoretical_pct"].is_null()) continue;
    const int threads = std::stoi(cell(row, "block_threads"));
    if (const std::string lanes = idle_lanes({.block_threads = threads}); !lanes.empty())
      idle = fmt::format("\nOccupancy counts warps: with {} threads {}.\n", threads, lanes);
  }
  return text_table(lines, align) + why_not_launched(rows) + idle +
         (assumed.empty() ? "" : fmt::format("\nIn some rows: {}\n", fmt::join(assumed, "; ")));
}

/// If any row has a note, all rows have the column `note`.
std::vector<Json> answer_rows(const CsvTable& table, AnswerFormat format, std::span<Answered> answers) {
  std::vector<Json> rows;
  std::vector<std::string> notes(table.rows.size());
  for (std::size_t index = 0; index < table.rows.size(); ++index)
    rows.push_back(answered(table, table.rows[index], format, answers[index], notes[index]));
  if (std::ranges::all_of(notes, &std::string::empty)) return rows;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    std::string note = rows[index].contains("note") ? cell_text(rows[index]["note"]) : "";
    add_note(note, notes[index]);
    rows[index]["note"] = note;
  }
  return rows;
}

/// Recorded rows of the runtime's own launches have neither kernel nor block.
std::size_t drop_rows_without_launch(CsvTable& table) {
  const auto place = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(table.names, name) - table.names.begin());
  };
  const std::size_t recorded = place("schema");
  const std::size_t block = place("block_threads");
  if (recorded == table.names.size()) return 0;
  const std::size_t before = table.rows.size();
  for (std::size_t row = before; row-- > 0;) {
    if (!table.rows[row][block].empty()) continue;
    table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(row));
    table.lines.erase(table.lines.begin() + static_cast<std::ptrdiff_t>(row));
  }
  return before - table.rows.size();
}

constexpr std::array kTableBlockSizes = {32, 64, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::size_t kNameWidth = 44;

constexpr int kDefaultBlockThreads = 256;

const Limits& limits_for(const DeviceKernel& kernel, const BinaryQuestion& question) {
  return limits_of(question.compute_capability.value_or(kernel.compute_capability));
}

bool has_launch_bounds(const DeviceKernel& kernel) {
  return kernel.max_block_threads > 0 || kernel.required_block_threads > 0;
}

Question question_at(const DeviceKernel& kernel, const BinaryQuestion& asked, int block_threads) {
  Question question{limits_for(kernel, asked), {asked.launch, kernel.usage}, std::nullopt, {}};
  Launch& launch = question.configuration.launch;
  launch.block_threads = block_threads;
  if (kernel.cluster_blocks > 0 && launch.cluster_blocks == 1) launch.cluster_blocks = kernel.cluster_blocks;
  if (kernel.why_not(launch).empty()) narrow_to_kernel(question.limits, kernel);
  return question;
}

/// The block size of a kernel's answer if none is asked for: the one that it requires, else the largest that its launch
/// bounds allow, else 256.
int default_block_threads(const DeviceKernel& kernel) {
  if (kernel.required_block_threads > 0) return static_cast<int>(kernel.required_block_threads);
  return kernel.max_block_threads > 0 ? static_cast<int>(kernel.max_block_threads) : kDefaultBlockThreads;
}

Json row_of(const DeviceKernel& kernel, const Question& question, const std::string& name) {
  const auto or_null = [](std::optional<std::int64_t> bytes) { return bytes ? Json(*bytes) : Json(); };
  Json row = row_head("binary", name);
  row["cuda_toolkit"] = kernel.toolkit;
  row["kernel"] = source_name(kernel.symbol);
  row["code_architecture"] = kernel.architecture;
  row["local_bytes_per_thread"] = or_null(kernel.usage.local_bytes_per_thread);
  row["spill_bytes"] = kernel.local ? Json(kernel.local->bytes) : Json();
  row.update(answered_json(question));
  if (const std::string why = kernel.why_not(question.configuration.launch); !why.empty()) {
    for (const char* none : {"blocks_per_sm", "theoretical_pct", "warps_per_sm", "threads_per_sm"})
      row[none] = 0;
    row["cannot_launch"] = why;
  }
  row["symbol"] = kernel.symbol;
  row["stack_bytes_per_thread"] = or_null(kernel.stack_bytes);
  row["local_load_instructions"] = kernel.local ? Json(kernel.local->loads) : Json();
  row["local_store_instructions"] = kernel.local ? Json(kernel.local->stores) : Json();
  const auto known = [](std::int64_t threads) { return threads > 0 ? Json(threads) : Json(); };
  row["max_block_threads"] = known(kernel.max_block_threads);
  row["required_block_threads"] = known(kernel.required_block_threads);
  return row;
}

std::vector<Json> rows_of(std::span<const DeviceKernel> kernels, const BinaryQuestion& asked) {
  std::vector<Json> rows;
  const std::vector<std::string> names = case_names(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const DeviceKernel& kernel = kernels[i];
    const int threads = asked.block_threads.value_or(default_block_threads(kernel));
    rows.push_back(row_of(kernel, question_at(kernel, asked, threads), names[i]));
    if (!asked.block_threads && kernel.required_block_threads == 0) {
      Json& assumed = rows.back()["assumed"];
      assumed = fmt::format("{} threads per block{} assumed: calc --from takes --block-size{}", threads,
                            kernel.max_block_threads > 0 ? ", its launch bounds," : "",
                            assumed.is_null() ? "" : "; " + assumed.get<std::string>());
    }
  }
  return rows;
}

std::string cell(const DeviceKernel& kernel, const BinaryQuestion& asked, int block_threads) {
  const Question question = question_at(kernel, asked, block_threads);
  const bool possible = block_threads <= question.limits.max_threads_per_block &&
                        kernel.why_not(question.configuration.launch).empty();
  if (!possible) return "-";
  return fmt::format("{:.3g}",
                     theoretical_occupancy(question.limits, question.configuration).theoretical_pct);
}

std::string as_table(std::span<const DeviceKernel> kernels, const BinaryQuestion& asked) {
  std::vector<int> sizes(kTableBlockSizes.begin(), kTableBlockSizes.end());
  if (asked.block_threads) sizes = {*asked.block_threads};
  std::vector<std::vector<std::string>> lines = {
      {"kernel", "code", "registers", "static B", "stack B", "local B", "local ld/st", "barriers"}};
  const bool bounded = !asked.block_threads && std::ranges::any_of(kernels, has_launch_bounds);
  for (const int size : sizes) lines[0].push_back(fmt::format("at {}", size));
  if (bounded) lines[0].emplace_back("at bounds");
  const auto known = [](std::optional<std::int64_t> bytes) { return bytes ? std::to_string(*bytes) : "?"; };
  const auto narrow = [](const std::string& name) { return shortened(name, kNameWidth, kNameWidth / 2); };
  const auto short_name = [](const DeviceKernel& kernel) {
    return shortened_kernel_name(source_name(kernel.symbol));
  };
  std::map<std::string, std::set<std::string>> alike;  // full names by shortened name
  for (const DeviceKernel& kernel : kernels) alike[short_name(kernel)].insert(source_name(kernel.symbol));
  std::map<std::string, std::map<std::string, std::size_t>> shown;  // numbers of full names by shown name
  std::string legend;
  const std::vector<std::string> cases = case_names(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const DeviceKernel& kernel = kernels[i];
    const std::string whole = source_name(kernel.symbol);
    const bool is_alone = alike[short_name(kernel)].size() == 1;
    std::string name = narrow(is_alone ? short_name(kernel) : whole);
    auto& numbers = shown[name];
    const std::size_t number = numbers.try_emplace(whole, numbers.size() + 1).first->second;
    name += cases[i].substr(whole.size() + 1 + kernel.architecture.size());
    if (number > 1) {
      name += fmt::format(" #{}", number);
      legend = "#2           another kernel of that name, shortened; --format csv has whole names\n";
    }
    std::vector<std::string> line = {
        std::move(name),
        kernel.architecture,
        std::to_string(kernel.usage.registers_per_thread),
        std::to_string(kernel.usage.static_shared_bytes),
        known(kernel.stack_bytes),
        known(kernel.usage.local_bytes_per_thread),
        kernel.local ? fmt::format("{}/{}", kernel.local->loads, kernel.local->stores) : "?",
        std::to_string(kernel.usage.barriers)};
    for (const int size : sizes) line.push_back(cell(kernel, asked, size));
    const int most = default_block_threads(kernel);
    if (bounded)
      line.push_back(has_launch_bounds(kernel) ? fmt::format("{}: {}", most, cell(kernel, asked, most))
                                               : "none");
    lines.push_back(std::move(line));
  }
  return text_table(lines, "<<>") +
         fmt::format(R"(
at N         theoretical occupancy, %, of blocks of N threads with {} B of dynamic shared memory;
             - where launch bounds or clusters forbid them
local B      local memory per thread, the stack included
local ld/st  instructions that load from and store to it: spills, and arrays that registers cannot hold
)",
                     asked.launch.dynamic_shared_bytes) +
         legend +
         (std::ranges::any_of(kernels,
                              [](const DeviceKernel& kernel) { return !kernel.local || !kernel.stack_bytes; })
              ? "?            not known: functions that it calls have some, it recurses, nvcc -G hides it, "
                "or it "
                "was not counted\n"
              : "") +
         (asked.block_threads ? ""
                              : "one kernel   its limits and what to change: --kernel NAME --block-size N\n");
}

}  // namespace

std::string answer_batch(const std::string& file, const GpuOption& gpu, AnswerFormat format,
                         std::ostream& remarks, ExitStatus& status) {
  const std::string source = batch_source(file);
  BatchColumns columns{.command = "calc",
                       .needed = {kNeeded.begin(), kNeeded.end()},
                       .optional = {kOptional.begin(), kOptional.end()},
                       .answers = names_of_answers()};
  columns.optional.insert(columns.optional.end(), kDescribing.begin(), kDescribing.end());
  if (gpu.given()) {
    std::erase(columns.needed, "compute_capability");
    columns.optional.emplace_back("compute_capability");
  }
  CsvTable table = read_batch(file, columns);
  if (gpu.given()) table = rows_on(gpu, table, source);
  if (const std::size_t dropped = drop_rows_without_launch(table); dropped > 0)
    fmt::print(remarks, "{} {} no launch and {} left out\n",
               counted(static_cast<std::int64_t>(dropped), "row"), dropped == 1 ? "has" : "have",
               dropped == 1 ? "is" : "are");
  std::vector<Answered> answers(table.rows.size());
  const std::vector<Json> rows = answer_rows(table, format, answers);
  status = tell_unanswered(answers, table, source, remarks);
  return format == AnswerFormat::table ? as_table(rows) : flat_text(rows, format);
}

std::string answer_binary(std::span<const DeviceKernel> of_file, const BinaryQuestion& question,
                          AnswerFormat format) {
  const std::vector<DeviceKernel> kernels = without_copies(of_file);
  if (format != AnswerFormat::table) return flat_text(rows_of(kernels, question), format);
  const std::string table = as_table(kernels, question);
  if (kernels.size() != 1 || !question.block_threads) return table;
  const Question one = question_at(kernels[0], question, *question.block_threads);
  return kernels[0].why_not(one.configuration.launch).empty() ? table + "\n" + calc_report(one) : table;
}

}  // namespace occbench
