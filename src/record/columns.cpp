#include "record/columns.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/text.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

constexpr std::string_view without_trailing_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Bounds lie beyond what a GPU can do, so that no reading of a GPU is refused.

/// Percentages of a whole. The counter of an SM that works beside others can slightly exceed 100.
constexpr std::int64_t kMostPercent = 1000;
/// Points are differences of percentages. They exceed 200 if other launches fill an SM.
constexpr std::int64_t kMostPoints = 10'000;
/// Times, cycles, clocks, bytes, rates: more than any GPU counts in a launch.
constexpr std::int64_t kMostOfReal = 1'000'000'000'000'000'000;
/// Four times the limit per thread of any compute capability to date.
constexpr std::int64_t kMostRegisters = 1024;

constexpr Range at_least(std::int64_t low) {
  return {low, kMost};
}
constexpr Range between(std::int64_t low, std::int64_t high) {
  return {low, high};
}
constexpr Range kFromZero{0, kMostOfReal};
constexpr Range kPercentage{0, kMostPercent};
constexpr Range kPoints{-kMostPoints, kMostPoints};
constexpr Range kAny{std::numeric_limits<std::int64_t>::min(), kMost};

constexpr auto kColumns = std::to_array<Column>({
#define OCC_NAME(NAME) without_trailing_underscore(#NAME)
#define OCC_TEXT(NAME, GATE, MEANING) \
  {OCC_NAME(NAME), "", GateRule::GATE, kAny, std::nullopt, MEANING, &Row::NAME},
#define OCC_INTEGER(NAME, UNIT, GATE, RANGE, MEANING) \
  {OCC_NAME(NAME), UNIT, GateRule::GATE, RANGE, std::nullopt, MEANING, &Row::NAME},
#define OCC_REAL(NAME, UNIT, GATE, RANGE, MEANING) OCC_INTEGER(NAME, UNIT, GATE, RANGE, MEANING)
#define OCC_UNIT(...)
#define OCC_COUNTER(NAME, UNIT, GATE, RANGE, METRIC, SCALE, READ, MEANING) \
  {OCC_NAME(NAME),                                                         \
   UNIT,                                                                   \
   GateRule::GATE,                                                         \
   RANGE,                                                                  \
   ColumnCounter{METRIC, SCALE, CounterRead::READ, &CounterValues::NAME},  \
   MEANING,                                                                \
   &Row::NAME},
#include "record/columns.inc"
#undef OCC_NAME
});

constexpr auto kUnits = std::to_array<Unit>({
#define OCC_TEXT(...)
#define OCC_INTEGER(...)
#define OCC_REAL(...)
#define OCC_COUNTER(...)
#define OCC_UNIT(NAME, KIND, METRIC, READ) \
  {#NAME, UnitKind::KIND, #NAME "_use_pct", {METRIC, 1, CounterRead::READ, &CounterValues::NAME##_use_pct}},
#include "record/columns.inc"
});

std::string range_text(const Range& range) {
  return range.high == kMost ? fmt::format("{} or more", range.low)
                             : fmt::format("{} to {}", range.low, range.high);
}

template <typename Number>
Number parse_number(const Column& column, std::string_view text) {
  if (const auto value = read_number<Number>(text)) return *value;
  throw InputError("'{}' is not a {} for column {}", text,
                   std::is_floating_point_v<Number> ? "finite number" : "whole number", column.name);
}

std::string_view metric_of(const Column& column) {
  return column.counter ? column.counter->metric : "";
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string markdown() {
  std::string text =
      "| column | type | unit | meaning | gate | hardware counter |\n|---|---|---|---|---|---|\n";
  for (const Column& column : columns()) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(column.name), type_name(column),
                        column.unit, column.meaning, to_string(column.gate), code(metric_of(column)));
  }
  return text;
}

std::string table() {
  std::vector<std::vector<std::string>> lines;
  for (const Column& column : columns()) {
    const std::string unit = column.unit.empty() ? "" : fmt::format(" [{}]", column.unit);
    lines.push_back({std::string(column.name), std::string(to_string(column.gate)),
                     fmt::format("{}{}", column.meaning, unit)});
  }
  return text_table(lines, "<");
}

/// @param scales  whether to include the scale of counters
std::vector<Json> flat_columns(bool scales) {
  std::vector<Json> objects;
  for (const Column& column : columns()) {
    objects.push_back({{"name", column.name},
                       {"type", type_name(column)},
                       {"unit", column.unit},
                       {"gate", to_string(column.gate)},
                       {"metric", metric_of(column)},
                       {"meaning", column.meaning},
                       {"read", column.counter ? to_string(column.counter->read) : ""}});
    if (scales && column.counter) objects.back()["scale"] = column.counter->scale;
  }
  return objects;
}

}  // namespace

std::string_view to_string(GateRule rule) {
  static constexpr std::string_view kWords[] = {
      "none",        "key",      "machine", "exact", "lower_is_better", "higher_is_better",
      "consequence", "measured", "time",    "status"};
  return kWords[static_cast<std::size_t>(rule)];
}

std::string_view to_string(CounterRead read) {
  static constexpr std::string_view kWords[] = {"always", "every_case", "full_suite"};
  return kWords[static_cast<std::size_t>(read)];
}

std::span<const Column> columns() {
  return kColumns;
}

std::span<const Unit> units() {
  return kUnits;
}

Range use_range() {
  return kPercentage;
}

std::span<const NamedCounter> named_counters() {
  static const std::vector<NamedCounter> all = [] {
    std::vector<NamedCounter> counters;
    for (const Column& column : columns()) {
      if (column.counter) counters.push_back({column.name, column.unit, *column.counter});
    }
    for (const Unit& unit : units()) counters.push_back({unit.name, "%", unit.counter});
    return counters;
  }();
  return all;
}

std::string reader_of_schema(Integer schema) {
  if (!schema) return "its rows do not say their schema";
  if (*schema > kSchema) return "a newer occbench wrote it";
  // The last commit that wrote schema 1.
  return "occbench up to commit 2128df7 reads it; record it again for this one";
}

std::string_view type_name(const Column& column) {
  constexpr std::array<std::string_view, 3> kNames = {"text", "integer", "real"};
  return kNames[column.where.index()];
}

const Column* find_column(std::string_view name) {
  const auto found = std::ranges::find(kColumns, name, &Column::name);
  return found == kColumns.end() ? nullptr : &*found;
}

std::string real_text(double value) {
  return decimal_text(value, 4);
}

Real number_of(const Row& row, const Column& column) {
  return std::visit(
      [&](auto member) -> Real {
        const auto& value = row.*member;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Text>) {
          return std::nullopt;
        } else {
          return value ? Real(static_cast<double>(*value)) : std::nullopt;
        }
      },
      column.where);
}

std::string cell_text(const Row& row, const Column& column) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = row.*member;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Text>) {
          return value;
        } else if constexpr (std::is_same_v<Value, Integer>) {
          return value ? fmt::format("{}", *value) : "";
        } else {
          return value ? real_text(*value) : "";
        }
      },
      column.where);
}

void set_cell(Row& row, const Column& column, std::string_view text) {
  std::visit(
      [&](auto member) {
        auto& value = row.*member;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Text>) {
          value = text;
        } else if (text.empty()) {
          value.reset();
        } else {
          value = parse_number<typename Value::value_type>(column, text);
        }
      },
      column.where);
  require_in_range(row, column);
}

void require_in_range(const Column& column, double value) {
  if (value >= static_cast<double>(column.range.low) && value <= static_cast<double>(column.range.high))
    return;
  throw InputError("{} = {} is out of range: it is {}", column.name, value, range_text(column.range));
}

void require_in_range(const Row& row, const Column& column) {
  if (const Real value = number_of(row, column)) require_in_range(column, *value);
}

std::string column_list(std::string_view format) {
  if (format == "markdown") return markdown();
  if (format == "csv") return flat_csv(flat_columns(false));
  return format == "json" ? flat_json(flat_columns(true)) : table();
}

bool is_bound_by_sm(std::string_view work, bool spills) {
  const auto says = [&](std::string_view field) { return work.find(field) != std::string_view::npos; };
  return !spills && !says(":bytes=") && (says(":poll=") || says(":issue=") || says(":pipe="));
}

bool expects_atomics(std::string_view expected_cause) {
  const std::vector<std::string_view> causes = split(expected_cause, '+');
  return std::ranges::find(causes, "atomics") != causes.end();
}

}  // namespace occbench
