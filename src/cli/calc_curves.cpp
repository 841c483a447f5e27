#include "cli/calc_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/text_table.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCurveWidth = 64;
constexpr int kCurveHeight = 8;

std::string_view curve_title(Axis axis) {
  switch (axis) {
    case Axis::block_threads:
      return "threads per block";
    case Axis::registers_per_thread:
      return "registers per thread";
    default:
      return "shared memory per block, bytes";
  }
}

// One column of a curve: eighths of a character cell from the bottom, at most kCurveHeight * 8.
std::string cell(double pct, int row) {
  static constexpr std::array<std::string_view, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int height = static_cast<int>(std::lround(pct / 100 * kCurveHeight * 8));
  return std::string(kEighths[static_cast<std::size_t>(std::clamp(height - 8 * row, 0, 8))]);
}

std::string draw_curve(const Question& question, Axis axis) {
  const std::vector<CurvePoint> points = curve(*question.limits, question.configuration, axis);
  const std::int64_t first = points.front().value;
  const std::int64_t last = points.back().value;
  const std::int64_t current = value_on(axis, question.configuration);
  const auto value_at = [&](int column) { return first + (last - first) * column / (kCurveWidth - 1); };
  const auto point_at = [&](std::int64_t value) {
    // The curve's points are the largest values of its steps.
    return *std::ranges::lower_bound(points, std::min(value, last), {}, &CurvePoint::value);
  };
  const auto column_of = [&](std::int64_t value) {
    return static_cast<int>((std::clamp(value, first, last) - first) * (kCurveWidth - 1) / (last - first));
  };

  std::string text = fmt::format("\noccupancy over {}\n", curve_title(axis));
  for (int row = kCurveHeight - 1; row >= 0; --row) {
    const bool labelled = row % 2 == 1;
    text += labelled ? fmt::format("{:>5} % ┤", 100 * (row + 1) / kCurveHeight) : fmt::format("{:>8}│", "");
    for (int column = 0; column < kCurveWidth; ++column)
      text += cell(point_at(value_at(column)).theoretical_pct, row);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  text += fmt::format("{:>5} % └{}\n", 0, repeated("─", kCurveWidth));
  text += fmt::format("{:>9}{:<{}}{}\n", "", first,
                      kCurveWidth - static_cast<int>(std::to_string(last).size()), last);
  text += fmt::format("{:>9}{:>{}}▲ {}: {}\n", "", "", column_of(current), current,
                      percent_text(point_at(current).theoretical_pct));
  return text;
}

Json curve_row(const Question& question, Axis axis, const CurvePoint& point) {
  Question at = question;
  at.configuration = with(axis, point.value, question.configuration);
  const Occupancy occupancy =
      theoretical_occupancy(*at.limits, at.configuration.launch, at.configuration.usage);
  Json row = row_head("curves", fmt::format("{}={}", to_string(axis), point.value));
  row["parameters"] = fmt::format("axis={};current={}", to_string(axis), point.current ? 1 : 0);
  row.update(question_json(at));
  row["blocks_per_sm"] = occupancy.blocks_per_sm;
  row["limiter"] = to_string(occupancy.limiters);
  row["theoretical_pct"] = occupancy.theoretical_pct;
  row["axis"] = to_string(axis);
  row["value"] = point.value;
  row["current"] = point.current ? 1 : 0;
  row["warps_per_sm"] = point.warps_per_sm;
  return row;
}

}  // namespace

std::string draw_curves(const Question& question) {
  std::string text;
  for (const Axis axis : kCurveAxes) text += draw_curve(question, axis);
  return text;
}

std::vector<Json> curve_rows(const Question& question) {
  std::vector<Json> rows;
  for (const Axis axis : kCurveAxes) {
    for (const CurvePoint& point : curve(*question.limits, question.configuration, axis))
      rows.push_back(curve_row(question, axis, point));
  }
  return rows;
}

}  // namespace occbench
