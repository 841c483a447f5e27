#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "axes/axis.hpp"
#include "axes/expression.hpp"
#include "occupancy/launch.hpp"

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

  /// @throws InputError if the point has no value of this axis: the kernel needs one
  const std::string& text(std::string_view axis) const;

  /// A whole number. @throws InputError as text(), or if the value is not one or more than `most`
  std::int64_t integer(std::string_view axis, std::int64_t most = kMostOfInt) const;

  /// @throws InputError as text(), or if the value is not a number
  double real(std::string_view axis) const;

  /// A number of threads or blocks, or a shape of them. @throws InputError as text(), or if it is not one
  Shape shape(std::string_view axis) const;

  /// The value of a name in an expression: an axis, `-` written as `_`, for a shape its total; with .x, .y or .z that
  /// dimension. @throws InputError for an unknown name, with the nearest
  ExpressionValue value_of(std::string_view name) const {
    return value_of(name, 0);
  }

  /// {NAME} replaced by the text of that axis (for a shape its total), and {EXPRESSION} by its value. @throws
  /// InputError as evaluate()
  std::string filled_in(const std::string& text) const {
    return filled_in(text, 0);
  }

  /// Gives the axes that were set with {...} their values. @throws InputError if one cannot have it
  void resolve();

  /// In the order in which the axes were declared.
  const std::vector<Value>& values() const {
    return values_;
  }

  bool operator==(const Point&) const = default;

 private:
  const Value* find(std::string_view axis) const;

  // Values may be made of others; `depth` ends cycles.
  ExpressionValue value_of(std::string_view name, int depth) const;
  std::string filled_in(std::string text, int depth) const;
  std::string resolved(const Value& value, int depth) const;

  std::vector<Value> values_;
};

/// A user's request for one axis.
struct GivenAxis {
  std::string name;    ///< of one of the kernel's axes
  std::string values;  ///< in the grammar of expand_values()
};

/// How the values of several axes are combined.
enum class Combine {
  product,  ///< each value of one with each value of the others; the last given axis varies fastest
  zip,      ///< first with first, second with second; an axis of one value serves all
};

/// The configurations of a sweep. An axis that the user leaves out has its declared values.
/// @throws InputError for an axis that the kernel lacks (naming the nearest) or is given twice, for values as
/// expand_values(), for zipped axes of unequal lengths, and for more than a million configurations
std::vector<Point> points_of(std::span<const SweepAxis> declared, std::span<const GivenAxis> given,
                             Combine combine);

}  // namespace occbench
