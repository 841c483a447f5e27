#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace occbench {

struct CaseIdentity;

/// An RE2 regular expression: Perl's syntax without back-references. Matching takes little memory and time linear in
/// the text, for any expression.
class Pattern {
 public:
  enum class Syntax {
    perl,
    posix  ///< POSIX extended regular expressions only
  };

  /// @throws InputError if it is not a regular expression or too large
  explicit Pattern(const std::string& expression, Syntax syntax = Syntax::perl);

  /// Whether it is found anywhere in the text.
  bool found_in(std::string_view text) const;
  /// The text of its first group in the first match.
  std::optional<std::string> first_group(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

/// Google Benchmark's rule for --benchmark_filter: a regular expression that must occur in the full name, or, with
/// '-' in front, must not. Empty or "all" matches every name. @throws InputError as Pattern does
std::function<bool(const std::string& full_name)> case_filter(const std::string& text);

/// case_filter() on the full name; for a program's kernel also on its whole name.
std::function<bool(const CaseIdentity&)> identity_filter(const std::string& text);

/// Most characters of `--kernels`.
inline constexpr std::size_t kMostOfKernelFilter = 1000;

/// kernel_filter() for user input.
/// @throws InputError if it is not an extended regular expression, is unsafe for the C library, or is longer than
/// kMostOfKernelFilter
std::function<bool(std::string_view name)> checked_kernel_filter(const std::string& text);

/// @param begins  a regular expression that matches the start of files of the output's kind
/// @throws InputError as output_target(), and if a file that begins differently and is not empty would be replaced
void require_not_another_kind(const std::filesystem::path& output, const std::string& begins);

}  // namespace occbench
