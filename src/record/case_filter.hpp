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

/// A regular expression of RE2: Perl's syntax without back-references. It takes time in proportion to the text,
/// whatever the expression, and little memory.
class Pattern {
 public:
  enum class Syntax {
    perl,
    posix  ///< extended regular expressions of POSIX and nothing else
  };

  /// @throws InputError if it is not a regular expression or too large
  explicit Pattern(const std::string& expression, Syntax syntax = Syntax::perl);

  /// Whether it is found anywhere in the text.
  bool found_in(std::string_view text) const;
  /// What its first group matches where it is found first.
  std::optional<std::string> first_group(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

/// Google Benchmark's rule for --benchmark_filter: a regular expression that is found anywhere in
/// the full name, or with '-' in front is found nowhere in it; empty or "all" matches every name.
/// @throws InputError as Pattern does
std::function<bool(const std::string& full_name)> case_filter(const std::string& text);

/// case_filter() of a full name; of a program's kernel the whole name is looked at too.
std::function<bool(const CaseIdentity&)> identity_filter(const std::string& text);

/// Characters of `--kernels`.
inline constexpr std::size_t kMostOfKernelFilter = 1000;

/// kernel_filter() of what a user typed.
/// @throws InputError if it is no extended regular expression, one that the C library must not be given, or longer than
/// kMostOfKernelFilter
std::function<bool(std::string_view name)> checked_kernel_filter(const std::string& text);

/// @param begins  a regular expression: how files of the output's kind begin
/// @throws InputError as output_target(), and if it would take the place of a file that begins otherwise and is not empty
void require_not_another_kind(const std::filesystem::path& output, const std::string& begins);

}  // namespace occbench
