#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

namespace occbench {

/// The value of an expression: a number, or the word of an axis of words.
using ExpressionValue = std::variant<double, std::string>;

/// The value of a name such as `block_size.x`. @throws InputError for an unknown one
using ValueOf = std::function<ExpressionValue(std::string_view name)>;

/// Evaluates an expression with the operators and precedences of C: || && == != < <= > >= + - * / % ! and
/// parentheses, min(a, b), max(a, b). Numbers are decimal; K, M and G behind one stand for 1024 and so on.
/// Division of whole numbers truncates, as in C. Words stand in quotes; they are compared by == and != alone.
/// && and || leave out the right side if the left decides.
/// @throws InputError with the place and the remedy if it cannot be read or evaluated: also beyond 4,096 letters, and
/// beyond 64 levels of parentheses, signs and operators to the right
ExpressionValue evaluate(std::string_view expression, const ValueOf& value_of);

/// Likewise if the value must be a number.
double evaluate_number(std::string_view expression, const ValueOf& value_of);

}  // namespace occbench
