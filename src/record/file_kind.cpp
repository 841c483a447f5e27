#include "record/file_kind.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// What begins with certain bytes is no CSV at all.
struct Beginning {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::array<Beginning, 8> kBeginnings = {{
    {"\x7f"
     "ELF",
     "it is a binary; occbench calc --from reads its kernels"},
    {"!<arch>", "it is a library; occbench calc --from reads its kernels"},
    {"SQLite format 3", "it is a database, as Nsight Systems exports it; no command of occbench reads it"},
    {"<!doctype html", "it is a page, as occbench report writes it; a browser shows it"},
    {"<html", "it is a page, as occbench report writes it; a browser shows it"},
    {"<?xml", "it is XML, as occbench gate writes it for CI (junit); rows are CSV"},
    {"{", "it is JSON (a trace, tolerances, or what --format json prints); rows are CSV"},
    {"[", "it is JSON (what --format json prints); rows are CSV: --format csv"},
}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

/// Whether a line of names has all of these.
bool has_names(std::string_view line, std::initializer_list<std::string_view> names) {
  const std::string within = fmt::format(",{},", line);
  return std::ranges::all_of(names, [&](std::string_view name) {
    return within.find(fmt::format(",{},", name)) != std::string::npos;
  });
}

/// "run.csv" of "run.samples.csv"
std::string rows_beside(std::string_view source) {
  constexpr std::string_view kEnding = ".samples.csv";
  return source.ends_with(kEnding) ? fmt::format("{}.csv", source.substr(0, source.size() - kEnding.size()))
                                   : "FILE.csv of FILE.samples.csv";
}

std::string what_table_it_is(std::string_view line, std::string_view source) {
  if (has_names(line, {"experiment", "case", "quantity", "index", "value"}))
    return "it has the readings behind rows (samples); name the file of rows: " + rows_beside(source);
  if (has_names(line, {"case", "time_us", "active_warps_pct"}))
    return "it has a case's occupancy over time; occbench report FILE.csv --timeline FOLDER draws it";
  if (has_names(line, {"case", "launch", "sm", "blocks"}))
    return "it has a case's launches by SM; occbench report FILE.csv --per-sm FOLDER draws it";
  if (has_names(line, {"schema", "experiment", "theoretical_pct"}) && !has_names(line, {"case"}))
    return "its rows have no names; give the file of occbench calc --batch a column case";
  if (has_names(line, {"compute_capability", "block_threads", "registers_per_thread"}) &&
      !has_names(line, {"experiment"}))
    return "it has launches without names; occbench calc --batch answers them";
  if (has_names(line, {"compute_capability", "max_warps_per_sm"}))
    return "it has the limits of compute capabilities, as occbench calc --limits prints them";
  if (line.starts_with("\"ID\",\"Process ID\"") || line.starts_with("==PROF=="))
    return "it is what ncu --csv prints; scripts/python -m occbench_tools compare-ncu compares it with rows";
  if (line.starts_with("name = ")) return "it is a device profile; occbench predict --profile reads it";
  return "";
}

}  // namespace

std::string what_else_it_is(std::string_view text, std::string_view source) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  constexpr std::size_t kLongestBeginning = 20;
  const std::string head = lower_case(text.substr(begin, kLongestBeginning));
  constexpr std::size_t kWithinTrace = 4000;
  const std::string_view in_trace = text.substr(begin, kWithinTrace);
  if (head.starts_with('{') && (in_trace.find("\"traceEvents\"") != std::string_view::npos ||
                                in_trace.find("\"schemaVersion\"") != std::string_view::npos))
    return "it is a trace, as torch.profiler exports it; occbench trace --import FILE makes rows of it";
  for (const auto& [bytes, what] : kBeginnings) {
    if (head.starts_with(lower_case(bytes))) return std::string(what);
  }
  return what_table_it_is(first_line(text.substr(begin)), source);
}

void refuse_other_files(std::string_view text, std::string_view source) {
  const std::string what = what_else_it_is(text, source);
  if (!what.empty()) throw InputError(fmt::format("{} is no file of rows: {}", source, what));
}

}  // namespace occbench
