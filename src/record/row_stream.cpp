#include "record/row_stream.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

/// Whether quotes are open at the end of a line. They open at the start of a cell only.
/// @param inside  whether they are open at its start
bool quotes_open(std::string_view line, bool inside) {
  for (std::size_t at = line.find('"'); at != std::string_view::npos; at = line.find('"', at + 1)) {
    if (!inside) {
      inside = at == 0 || line[at - 1] == ',';
    } else if (line.substr(at + 1).starts_with('"')) {
      ++at;
    } else {
      inside = false;
    }
  }
  return inside;
}

/// A record without its line end.
std::string csv_line(std::span<const std::string> cells) {
  std::string line = csv_record(cells);
  line.pop_back();
  return line;
}

constexpr std::string_view kGone =
    "device_index memory_bus_bits gpu_settings block_shape grid_shape profile_quality "
    "predicted_elapsed_low_pct predicted_elapsed_high_pct achieved_source measured_loss_blocks_points "
    "measured_loss_warps_points local_load_sectors local_store_sectors launch_stall_registers_cycles "
    "launch_stall_shared_memory_cycles launch_stall_blocks_cycles launch_stall_barriers_cycles "
    "global_reductions global_atomics long_scoreboard_stall_warps lg_throttle_stall_warps "
    "math_pipe_stall_warps fp32_pipe_pct xu_pipe_pct lost_updates_pct process context stream graph "
    "graph_node memory_clock_mhz "
    "temperature_c power_w throttle_reasons other_processes";

/// No file of schema 2 has one of these, and every file that schema 3 wrote has all. A user's own column may have the
/// name of one that is gone.
constexpr std::string_view kNew[] = {"gpu_state", "local_sectors", "memory_stall_warps", "atomic_requests",
                                     "origin"};

/// The first rows of schema 3 had these, too.
constexpr std::string_view kTwoPipes[] = {"fp32_pipe_pct", "xu_pipe_pct"};

using Named = std::map<std::string, std::string, std::less<>>;

/// The sum of `columns` of a record; empty if none has a value.
std::string sum_of(const Named& record, std::initializer_list<std::string_view> columns) {
  std::string text;
  double sum = 0;
  for (const std::string_view column : columns) {
    const auto found = record.find(column);
    if (found == record.end() || found->second.empty()) continue;
    const std::optional<double> value = read_number<double>(found->second);
    if (!value) throw InputError("'{}' is not a finite number for column {}", found->second, column);
    sum += *value;
    text = real_text(sum);
  }
  return text;
}

std::string pairs_of(const Named& record,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> key_and_column) {
  Pairs pairs;
  for (const auto& [key, column] : key_and_column) {
    if (const auto found = record.find(column); found != record.end()) pairs.emplace_back(key, found->second);
  }
  return pairs_text(known_pairs(std::move(pairs)));
}

/// Leading zeros are allowed, as in other numbers.
bool is_schema_2(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('0'), text.size())) == "2";
}

void convert(Named& record) {
  const auto cell = [&](std::string_view name) -> std::string {
    const auto found = record.find(name);
    return found == record.end() ? "" : found->second;
  };
  if (cell("gpu_uuid").empty() && !cell("device_index").empty())
    record["gpu_uuid"] = fmt::format("{}, device {}", cell("host"), cell("device_index"));
  const std::string bus = cell("memory_bus_bits").empty() ? "" : "memory_bus_bits=" + cell("memory_bus_bits");
  const std::string condition = pairs_of(record, {{"memory_clock_mhz", "memory_clock_mhz"},
                                                  {"temperature_c", "temperature_c"},
                                                  {"power_w", "power_w"},
                                                  {"throttle_reasons", "throttle_reasons"},
                                                  {"other_processes", "other_processes"}});
  for (const std::string& part : {bus, cell("gpu_settings"), condition}) {
    if (!part.empty()) record["gpu_state"] += (record["gpu_state"].empty() ? "" : ";") + part;
  }
  if (!cell("profile_quality").empty())
    record["device_profile"] = fmt::format("{} ({})", cell("device_profile"), cell("profile_quality"));
  // Without an interval over elapsed cycles, a row's interval has another meaning.
  if (cell("predicted_elapsed_low_pct").empty())
    record["predicted_low_pct"] = record["predicted_high_pct"] = "";
  if (const std::string source = cell("achieved_source"); source == "sampled" || source == "simulated")
    record["counters_status"] = source;
  record["local_sectors"] = sum_of(record, {"local_load_sectors", "local_store_sectors"});
  record["atomic_requests"] = sum_of(record, {"global_reductions", "global_atomics"});
  record["memory_stall_warps"] = sum_of(record, {"long_scoreboard_stall_warps", "lg_throttle_stall_warps"});
  record["origin"] = pairs_of(record, {{"process", "process"},
                                       {"context", "context"},
                                       {"stream", "stream"},
                                       {"graph_launches", "graph"},
                                       {"graph_node", "graph_node"}});
  if (const std::string lost = cell("lost_updates_pct"); !lost.empty()) {
    std::string& note = record["note"];
    note += fmt::format("{}{} % of updates lost", note.empty() ? "" : "; ", lost);
  }
}

}  // namespace

RowStream::RowStream(const std::filesystem::path& file)
    : source_(file.string()), file_(file, std::numeric_limits<std::int64_t>::max()) {
  if (!read_record()) {
    refuse_other_files(record_, source_);
    throw InputError("{} has no whole line of column names", source_);
  }
  if (record_.starts_with(kByteOrderMark)) record_.erase(0, kByteOrderMark.size());
  header_ = record_;
  conversion_.emplace(csv_cells(header_, source_, line_));
  if (conversion_->needed()) header_ = csv_line(conversion_->names());
}

std::size_t RowStream::column(std::string_view name) const {
  const auto found = std::ranges::find(names(), name);
  if (found == names().end()) {
    refuse_other_files(header_ + "\n", source_);
    throw InputError("{}, line 1: no column '{}'; this is not a file of rows", source_, name);
  }
  return static_cast<std::size_t>(found - names().begin());
}

/// A record of one empty cell is a blank line, in quotes too, unless there is one column.
bool RowStream::next() {
  while (read_record()) {
    if (names().size() != 1 && (record_.empty() || record_ == "\"\"")) continue;
    cells_ = csv_cells(record_, source_, line_);
    if (cells_.size() != conversion_->old_names().size())
      throw InputError("{}, line {}: {} cells where the first line names {} columns", source_, line_,
                       cells_.size(), conversion_->old_names().size());
    cells_ = at_line(source_, line_, [&] { return conversion_->cells(cells_); });
    if (conversion_->needed()) record_ = csv_line(cells_);
    return true;
  }
  return false;
}

/// Reads up to the line end and consumes it. @returns whether there is one
bool RowStream::read_line(std::string& line) {
  line.clear();
  for (auto letter = file_.sbumpc(); letter != InputBuffer::traits_type::eof(); letter = file_.sbumpc()) {
    if (letter == '\n') return true;
    line.push_back(static_cast<char>(letter));
    if (record_.size() + line.size() > kMaxRecordBytes) {
      throw InputError("{}, line {}: a row of more than {} bytes; this is not a file of rows", source_, line_,
                       kMaxRecordBytes);
    }
  }
  return false;
}

/// A line end inside quotes belongs to the record.
bool RowStream::read_record() {
  record_.clear();
  line_ = next_line_;
  std::string line;
  bool inside_quotes = false;
  while (read_line(line)) {
    ++next_line_;
    inside_quotes = quotes_open(line, inside_quotes);
    record_ += line;
    if (!inside_quotes) {
      if (record_.ends_with('\r')) record_.pop_back();
      return true;
    }
    record_ += '\n';
  }
  record_ += line;
  torn_ = !record_.empty();
  return false;
}

FromSchema2::FromSchema2(std::vector<std::string> names) : old_names_(std::move(names)) {
  const std::vector<std::string_view> gone = split(kGone, ' ');
  const auto is_gone = [&](std::string_view name) { return std::ranges::find(gone, name) != gone.end(); };
  const auto has = [&](std::string_view name) {
    return std::ranges::find(old_names_, name) != old_names_.end();
  };
  is_of_schema_2_ =
      has("schema") && std::ranges::none_of(kNew, has) && std::ranges::any_of(old_names_, is_gone);
  needed_ = is_of_schema_2_ || (std::ranges::all_of(kTwoPipes, has) && !has("unit_use"));
  if (!needed_) {
    names_ = old_names_;
  } else if (!is_of_schema_2_) {
    std::ranges::copy_if(old_names_, std::back_inserter(names_), [](const std::string& name) {
      return std::ranges::find(kTwoPipes, name) == std::end(kTwoPipes);
    });
    names_.emplace_back("unit_use");
  } else {
    for (const Column& column : columns()) names_.emplace_back(column.name);
    for (const std::string& name : old_names_) {
      if (find_column(name) == nullptr && !is_gone(name)) names_.push_back(name);
    }
  }
}

std::vector<std::string> FromSchema2::cells(const std::vector<std::string>& cells) const {
  if (!needed_) {
    std::vector<std::string> same = cells;
    for (std::size_t cell = 0; cell < same.size(); ++cell) {
      if (names_[cell] == "schema" && is_schema_2(same[cell])) same[cell] = std::to_string(kSchema);
    }
    return same;
  }
  Named record;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) record[old_names_[cell]] = cells[cell];
  record["unit_use"] = pairs_of(record, {{"fma", kTwoPipes[0]}, {"xu", kTwoPipes[1]}});
  if (is_schema_2(record["schema"])) record["schema"] = std::to_string(kSchema);
  if (is_of_schema_2_) convert(record);
  return mapped(names_, [&](const std::string& name) { return record[name]; });
}

}  // namespace occbench
