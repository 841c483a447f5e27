#include "record/case_filter.hpp"

#include <fstream>
#include <re2/re2.h>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_record.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

/// Bytes. A filter that lists case names takes 1 MB per 5,000.
constexpr std::int64_t kMostMemory = 64 << 20;

/// For messages: a user who typed 60,000 letters knows them.
std::string shortened(const std::string& expression) {
  constexpr std::size_t kShown = 60;
  return expression.size() <= kShown ? expression : expression.substr(0, kShown) + "...";
}

}  // namespace

Pattern::Pattern(const std::string& expression, Syntax syntax) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  options.set_posix_syntax(syntax == Syntax::posix);
  auto compiled = std::make_shared<RE2>(expression, options);
  if (!compiled->ok()) {
    throw InputError("'{}' is not a regular expression{}: {}", shortened(expression),
                     syntax == Syntax::posix ? " of POSIX's extended syntax" : "",
                     shortened(compiled->error()));
  }
  compiled_ = std::move(compiled);
}

bool Pattern::found_in(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

std::optional<std::string> Pattern::first_group(std::string_view text) const {
  std::string group;
  if (!RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_, &group)) return std::nullopt;
  return group;
}

std::function<bool(const std::string&)> case_filter(const std::string& text) {
  if (text.empty() || text == "all") {
    return [](const std::string&) { return true; };
  }
  const bool negative = text.front() == '-';
  const Pattern pattern(text.substr(negative ? 1 : 0));
  return [=](const std::string& name) { return pattern.found_in(name) != negative; };
}

std::function<bool(std::string_view)> checked_kernel_filter(const std::string& text) {
  if (text.size() > kMostOfKernelFilter) {
    throw InputError("--kernels '{}' has {} characters; at most {} are taken", shortened(text), text.size(),
                     kMostOfKernelFilter);
  }
  // Pattern refuses back-references and repetitions of repetitions. They cost the C library unbounded time and
  // memory.
  static_cast<void>(Pattern(text.starts_with('-') ? text.substr(1) : text, Pattern::Syntax::posix));
  return kernel_filter(text);
}

void require_not_another_kind(const std::filesystem::path& output, const std::string& begins) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(output_target(output), missing)) return;
  // A bencher file begins with a case name, which may be a kernel's.
  std::string beginning(std::size_t{1} << 20, '\0');
  std::ifstream file(output, std::ios::binary);
  file.read(beginning.data(), std::ssize(beginning));
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  if (!Pattern("^\\s*(" + begins + "|$)").found_in(beginning))
    throw InputError("cannot write {}: a file of another kind is there already; name another file",
                     output.string());
}

std::function<bool(const CaseIdentity&)> identity_filter(const std::string& text) {
  return [matches = case_filter(text), negative = text.starts_with('-')](const CaseIdentity& of) {
    const bool matched = matches(full_name(of));
    return of.experiment != kTraceExperiment || matched != negative ? matched : matches(of.kernel);
  };
}

}  // namespace occbench
