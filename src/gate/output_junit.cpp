#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "files/utf8.hpp"
#include "gate/outputs.hpp"

namespace occbench {
namespace {

/// Whether XML 1.0 can hold it in any form.
bool is_of_xml(const Utf8Character& character) {
  return character.valid && character.code >= 0x20 && character.code != 0xfffe && character.code != 0xffff;
}

/// Characters that XML 1.0 cannot hold become question marks.
std::string xml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view piece = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    switch (character.code) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      case '\r':
        escaped += "&#13;";
        break;
      default:
        escaped += is_of_xml(character) ? piece : "?";
    }
  }
  return escaped;
}

struct Suite {
  std::string cases;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;

  /// @param outcome the element within the test case, empty for a pass
  void add(std::string_view suite, std::string_view name, std::string_view outcome) {
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", xml(suite), xml(name),
                         outcome);
    ++tests;
  }

  /// An error, not a failure: the test could not be made.
  void add_error(std::string_view suite, std::string_view name, std::string_view message,
                 std::string_view reason) {
    add(suite, name, element("error", Verdict::no_verdict, message, reason));
    ++errors;
  }

  void add(std::string_view suite, const ComparedCase& compared) {
    const std::string said = reason(compared);
    const std::string first = compared.findings.empty() ? "" : compared.findings.front().message;
    if (compared.verdict() == Verdict::no_verdict) {
      add_error(suite, compared.name, first, said);
    } else if (compared.verdict() == Verdict::regression) {
      add(suite, compared.name, element("failure", Verdict::regression, first, said));
      ++failures;
    } else if (compared.not_compared()) {
      add(suite, compared.name, fmt::format("<skipped message=\"{}\"/>", xml(said)));
      ++skipped;
    } else {
      add(suite, compared.name, said.empty() ? "" : fmt::format("<system-out>{}</system-out>", xml(said)));
    }
  }

 private:
  static std::string element(std::string_view name, Verdict verdict, std::string_view message,
                             std::string_view text) {
    return fmt::format("<{0} type=\"{1}\" message=\"{2}\">{3}</{0}>", name, to_string(verdict), xml(message),
                       xml(text));
  }
};

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  std::map<std::string, Suite> suites;
  for (const ComparedCase& compared : comparison.cases) {
    const std::string suite =
        compared.file.empty() ? compared.experiment : compared.file + ":" + compared.experiment;
    suites[suite].add(suite, compared);
  }
  // What concerns the runs as a whole is a test too, so that it cannot be overlooked.
  for (const GateFinding& finding : comparison.general) {
    if (finding.grade == Grade::no_verdict)
      suites["gate"].add_error("gate", finding.message, finding.message, finding.message);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"occbench gate\">\n";
  for (const auto& [name, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  "
        "</testsuite>\n",
        xml(name), suite.tests, suite.failures, suite.errors, suite.skipped, suite.cases);
  }
  return text + "</testsuites>\n";
}

}  // namespace occbench
