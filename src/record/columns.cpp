#include "record/columns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr std::string_view without_trailing_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr std::int64_t kMostOfInt = std::numeric_limits<int>::max();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Readings have bounds beyond what a GPU can do, so that none of theirs is refused.

/// Percentages of a whole: a counter of an SM that works beside others can pass 100 a little.
constexpr std::int64_t kMostPercent = 1000;
/// Points are differences of percentages. They pass 200 where other launches fill an SM.
constexpr std::int64_t kMostPoints = 10'000;
/// Times, cycles, clocks, bytes, rates: more than any GPU counts in a launch.
constexpr std::int64_t kMostOfReal = 1'000'000'000'000'000'000;
/// Four times what any compute capability to date gives a thread.
constexpr std::int64_t kMostRegisters = 1024;

constexpr Range at_least(std::int64_t low) {
  return {low, kMost};
}
constexpr Range between(std::int64_t low, std::int64_t high) {
  return {low, high};
}
constexpr Range from_zero() {
  return {0, kMostOfReal};
}
constexpr Range percentage() {
  return {0, kMostPercent};
}
constexpr Range points() {
  return {-kMostPoints, kMostPoints};
}
constexpr Range any() {
  return {std::numeric_limits<std::int64_t>::min(), kMost};
}

constexpr auto kColumns = std::to_array<Column>({
#define OCC_NAME(NAME) without_trailing_underscore(#NAME)
#define OCC_TEXT(NAME, GATE, MEANING) \
  {OCC_NAME(NAME), "", GateRule::GATE, any(), std::nullopt, MEANING, &Row::NAME},
#define OCC_INTEGER(NAME, UNIT, GATE, RANGE, MEANING) \
  {OCC_NAME(NAME), UNIT, GateRule::GATE, RANGE, std::nullopt, MEANING, &Row::NAME},
#define OCC_REAL(NAME, UNIT, GATE, RANGE, MEANING) OCC_INTEGER(NAME, UNIT, GATE, RANGE, MEANING)
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

std::string range_text(const Range& range) {
  return range.high == kMost ? fmt::format("{} or more", range.low)
                             : fmt::format("{} to {}", range.low, range.high);
}

template <typename Number>
Number parse_number(const Column& column, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool good = error == std::errc() && end == text.data() + text.size();
  if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(value);
  if (!good) {
    throw InputError(fmt::format("'{}' is not a {} for column {}", text,
                                 std::is_floating_point_v<Number> ? "finite number" : "whole number",
                                 column.name));
  }
  return value;
}

}  // namespace

std::string_view to_string(GateRule rule) {
  switch (rule) {
    case GateRule::none:
      return "none";
    case GateRule::key:
      return "key";
    case GateRule::machine:
      return "machine";
    case GateRule::exact:
      return "exact";
    case GateRule::lower_is_better:
      return "lower_is_better";
    case GateRule::higher_is_better:
      return "higher_is_better";
    case GateRule::consequence:
      return "consequence";
    case GateRule::measured:
      return "measured";
    case GateRule::time:
      return "time";
    case GateRule::status:
      return "status";
  }
  return "";
}

std::string_view to_string(CounterRead read) {
  switch (read) {
    case CounterRead::always:
      return "always";
    case CounterRead::every_case:
      return "every_case";
    case CounterRead::full_suite:
      return "full_suite";
  }
  return "";
}

std::span<const Column> columns() {
  return kColumns;
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
  std::string text = fmt::format("{:.4f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
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
  throw InputError(
      fmt::format("{} = {} is out of range: it is {}", column.name, value, range_text(column.range)));
}

void require_in_range(const Row& row, const Column& column) {
  if (const Real value = number_of(row, column)) require_in_range(column, *value);
}

}  // namespace occbench
