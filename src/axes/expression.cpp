#include "axes/expression.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

constexpr std::size_t kMostLetters = 4096;
constexpr int kMostDepth = 64;

bool is_whole(double value) {
  return value == std::floor(value) && std::abs(value) <= 9e15;
}

bool starts_name(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Recursive descent: one function per level of precedence. With `skipping` the text is read and not evaluated.
class Evaluator {
 public:
  Evaluator(std::string_view text, const ValueOf& value_of) : text_(text), value_of_(value_of) {}

  ExpressionValue all() {
    if (text_.size() > kMostLetters)
      throw InputError("an expression of {} letters; at most {} are read: make it shorter", text_.size(),
                       kMostLetters);
    ExpressionValue value = binary(0);
    if (!rest().empty()) refuse(fmt::format("'{}' is not expected", rest()));
    return value;
  }

 private:
  struct Operator {
    std::string_view sign;
    int level;
  };
  /// Longer signs come before the signs that begin them.
  static constexpr Operator kOperators[] = {{"||", 0}, {"&&", 1}, {"==", 2}, {"!=", 2}, {"<=", 3},
                                            {">=", 3}, {"<", 3},  {">", 3},  {"+", 4},  {"-", 4},
                                            {"*", 5},  {"/", 5},  {"%", 5}};
  static constexpr int kUnary = 6;

  [[noreturn]] void refuse(std::string_view why) const {
    throw InputError("{}: at letter {}: {}", text_, at_ + 1, why);
  }

  std::string_view rest() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_.substr(at_);
  }

  bool take(std::string_view sign) {
    if (!rest().starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  void require(std::string_view sign) {
    if (!take(sign)) refuse(fmt::format("'{}' is missing", sign));
  }

  double number(const ExpressionValue& value) const {
    if (const double* found = std::get_if<double>(&value)) return *found;
    refuse(
        fmt::format("'{}' is a word; words are compared by == and != alone", std::get<std::string>(value)));
  }

  const Operator* take_operator(int level) {
    const std::string_view here = rest();
    const auto* const found =
        std::ranges::find_if(kOperators, [&](const Operator& each) { return here.starts_with(each.sign); });
    if (found == std::end(kOperators) || found->level != level) return nullptr;
    at_ += found->sign.size();
    return found;
  }

  ExpressionValue binary(int level) {
    if (level == kUnary) return unary();
    ExpressionValue left = binary(level + 1);
    while (const Operator* of = take_operator(level)) {
      if (level > 1) {
        left = applied(of->sign, left, binary(level + 1));
        continue;
      }
      const bool is_true = !skipping_ && number(left) != 0;
      const bool decided = is_true == (of->sign == "||");
      const bool skipped_before = std::exchange(skipping_, skipping_ || decided);
      const ExpressionValue right = binary(level + 1);
      skipping_ = skipped_before;
      left = decided ? static_cast<double>(is_true) : static_cast<double>(!skipping_ && number(right) != 0);
    }
    return left;
  }

  ExpressionValue applied(std::string_view sign, const ExpressionValue& left,
                          const ExpressionValue& right) const {
    if (skipping_) return 0.0;
    if (sign == "==" || sign == "!=") {
      if (left.index() != right.index()) refuse("a word is compared with a number");
      return static_cast<double>((left == right) == (sign == "=="));
    }
    const double a = number(left);
    const double b = number(right);
    if (sign == "<") return static_cast<double>(a < b);
    if (sign == "<=") return static_cast<double>(a <= b);
    if (sign == ">") return static_cast<double>(a > b);
    if (sign == ">=") return static_cast<double>(a >= b);
    if (sign == "+") return a + b;
    if (sign == "-") return a - b;
    if (sign == "*") return a * b;
    if (b == 0) refuse(fmt::format("{} {} 0: write VALUE != 0 && in front of it", a, sign));
    if (sign == "/") return is_whole(a) && is_whole(b) ? std::trunc(a / b) : a / b;
    if (!is_whole(a) || !is_whole(b)) refuse(fmt::format("{} % {}: both sides of % are whole numbers", a, b));
    return std::fmod(a, b);
  }

  ExpressionValue unary() {
    // Each level of recursion passes here.
    if (++depth_ > kMostDepth) refuse(fmt::format("more than {} levels: make it flatter", kMostDepth));
    ExpressionValue value = operand();
    --depth_;
    return value;
  }

  ExpressionValue operand() {
    if (take("!")) {
      const ExpressionValue value = unary();
      return skipping_ ? 0.0 : static_cast<double>(number(value) == 0);
    }
    if (take("-")) {
      const ExpressionValue value = unary();
      return skipping_ ? 0.0 : -number(value);
    }
    if (take("(")) {
      ExpressionValue value = binary(0);
      require(")");
      return value;
    }
    const std::string_view here = rest();
    if (here.empty()) refuse("a value is missing");
    if (here.front() == '\'' || here.front() == '"') return word(here);
    return starts_name(here.front()) ? named() : literal(here);
  }

  ExpressionValue word(std::string_view here) {
    const std::size_t close = here.find(here.front(), 1);
    if (close == std::string_view::npos) refuse("the word has no closing quote");
    at_ += close + 1;
    return std::string(here.substr(1, close - 1));
  }

  ExpressionValue literal(std::string_view here) {
    double value = 0;
    const auto [end, error] = std::from_chars(here.data(), here.data() + here.size(), value);
    if (error != std::errc()) refuse(fmt::format("'{}' is not expected", here.front()));
    at_ += static_cast<std::size_t>(end - here.data());
    const std::int64_t factor = at_ < text_.size() ? size_factor(text_[at_]) : 0;
    if (factor > 0) ++at_;
    if (at_ < text_.size() && (starts_name(text_[at_]) || text_[at_] == '.'))
      refuse(fmt::format("'{}' is not expected in a number", text_[at_]));
    return factor > 0 ? value * static_cast<double>(factor) : value;
  }

  ExpressionValue named() {
    const std::size_t begin = at_;
    const auto is_part = [&](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if ((name != "min" && name != "max") || !take("(")) {
      if (skipping_) return 0.0;
      try {
        return value_of_(name);
      } catch (const InputError& unknown) {
        at_ = begin;
        refuse(unknown.what());
      }
    }
    const ExpressionValue first = binary(0);
    require(",");
    const ExpressionValue second = binary(0);
    require(")");
    if (skipping_) return 0.0;
    return name == "min" ? std::min(number(first), number(second)) : std::max(number(first), number(second));
  }

  std::string_view text_;
  const ValueOf& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool skipping_ = false;
};

}  // namespace

ExpressionValue evaluate(std::string_view expression, const ValueOf& value_of) {
  return Evaluator(expression, value_of).all();
}

double evaluate_number(std::string_view expression, const ValueOf& value_of) {
  const ExpressionValue value = evaluate(expression, value_of);
  if (const double* number = std::get_if<double>(&value)) return *number;
  throw InputError("{}: the value is a word, and a number is needed", expression);
}

}  // namespace occbench
