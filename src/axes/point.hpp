#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "axes/axis.hpp"

namespace occbench {

/// One configuration of a sweep: a value for each of its axes.
class Point {
 public:
  struct Value {
    std::string axis;
    std::string text;
    bool named = false;  ///< the user gave the axis, or it has several values: the case's name has it
    AxisKind kind = AxisKind::text;
    bool operator==(const Value&) const = default;
  };

  void set(const SweepAxis& axis, std::string text, bool named);

  bool has(std::string_view axis) const;

  /// @throws InputError where the point has no value of this axis: the kernel needs one
  const std::string& text(std::string_view axis) const;

  /// A whole number. @throws InputError as text(), or where the value is none or more than `most`
  std::int64_t integer(std::string_view axis, std::int64_t most = 2'147'483'647) const;

  /// @throws InputError as text(), or where the value is no number
  double real(std::string_view axis) const;

  /// In the order in which the axes were declared.
  const std::vector<Value>& values() const {
    return values_;
  }

  bool operator==(const Point&) const = default;

 private:
  const Value* find(std::string_view axis) const;

  std::vector<Value> values_;
};

}  // namespace occbench
