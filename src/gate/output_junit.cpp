#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "gate/outputs.hpp"

namespace occbench {
namespace {

/// Characters that XML 1.0 cannot hold in any form become question marks.
std::string xml(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
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
        escaped += static_cast<unsigned char>(character) < 0x20 ? '?' : character;
    }
  }
  return escaped;
}

/// A case without a verdict is an error, not a failure: the test could not be made.
std::string outcome(Verdict verdict, std::string_view reason) {
  if (verdict == Verdict::pass)
    return reason.empty() ? "" : fmt::format("<system-out>{}</system-out>", xml(reason));
  const char* element = verdict == Verdict::regression ? "failure" : "error";
  return fmt::format("<{} type=\"{}\" message=\"{}\"/>", element, to_string(verdict), xml(reason));
}

std::string test_case(std::string_view suite, std::string_view name, Verdict verdict,
                      std::string_view reason) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", xml(suite), xml(name),
                     outcome(verdict, reason));
}

struct Suite {
  std::string cases;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;

  void add(std::string_view suite, std::string_view name, Verdict verdict, std::string_view reason) {
    cases += test_case(suite, name, verdict, reason);
    ++tests;
    failures += verdict == Verdict::regression;
    errors += verdict == Verdict::no_verdict;
  }
};

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  std::map<std::string, Suite> suites;
  for (const ComparedCase& compared : comparison.cases) {
    const std::string suite =
        compared.file.empty() ? compared.experiment : compared.file + ":" + compared.experiment;
    suites[suite].add(suite, compared.name, compared.verdict(), reason(compared));
  }
  // What concerns the runs as a whole is a test too, so that it cannot be overlooked.
  for (const Finding& finding : comparison.general) {
    if (finding.grade == Grade::no_verdict)
      suites["gate"].add("gate", finding.message, Verdict::no_verdict, finding.message);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"occbench gate\">\n";
  for (const auto& [name, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n", xml(name),
        suite.tests, suite.failures, suite.errors, suite.cases);
  }
  return text + "</testsuites>\n";
}

}  // namespace occbench
