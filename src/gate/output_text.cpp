#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "gate/outputs.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

/// More lines than this nobody reads; JSON and JUnit have all.
constexpr std::size_t kMostLines = 40;
/// Notes change no verdict.
constexpr std::size_t kMostNotes = 5;
/// GitHub shows ten errors and ten warnings a step and drops the others.
constexpr std::size_t kMostAnnotations = 10;

/// Cases of which the same is said.
struct Group {
  std::string label;  ///< the grade
  std::string reason;
  std::vector<const ComparedCase*> cases;

  std::string names() const {
    const ComparedCase& worst = *cases.front();
    const std::string first =
        worst.file.empty() ? worst.full_name() : fmt::format("{}: {}", worst.file, worst.full_name());
    return cases.size() == 1 ? first : fmt::format("{} and {} more", first, cases.size() - 1);
  }
};

/// Worst first, each case in one; those of which nothing is said are left out.
std::vector<Group> groups_of(const Comparison& comparison) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const ComparedCase& compared : comparison.cases) {
    if (compared.findings.empty()) continue;
    const std::string label(to_string(compared.findings.front().grade));
    const std::string said = reason(compared);
    const auto [place, is_new] = index.try_emplace({label, said}, groups.size());
    if (is_new) groups.push_back({label, said, {}});
    groups[place->second].cases.push_back(&compared);
  }
  return groups;
}

/// How many of the groups to show: notes come last.
std::size_t shown_of(const std::vector<Group>& groups) {
  const auto notes =
      static_cast<std::size_t>(std::ranges::count(groups, to_string(Grade::note), &Group::label));
  return std::min(groups.size() - notes + std::min(notes, kMostNotes), kMostLines);
}

std::string left_out(std::size_t shown, std::size_t all) {
  return fmt::format("... and {} more (formats json and junit have all)", all - shown);
}

/// One line, whatever a cell holds; no control character reaches the terminal.
std::string one_line(std::string text) {
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < 0x20 || character == 0x7f) character = ' ';
  }
  return text;
}

/// Of the row that was recorded first, whatever the two sides have in common.
std::string provenance(const Comparison& comparison, std::optional<RecordedCase> ComparedCase::*side) {
  const Row* first = nullptr;
  for (const ComparedCase& compared : comparison.cases) {
    if (!(compared.*side)) continue;
    const Row& row = (compared.*side)->row;
    if (first == nullptr || row.recorded_at < first->recorded_at) first = &row;
  }
  if (first == nullptr) return "no rows are compared";
  if (first->gpu.empty() && first->recorded_at.empty()) {
    return "calculated, nothing measured" +
           (first->cuda_toolkit.empty() ? "" : fmt::format("; code by CUDA {}", first->cuda_toolkit));
  }
  return fmt::format("{}, commit {}, {}", first->gpu, first->commit, first->recorded_at);
}

/// As text within Markdown, where a bar ends a cell and angle brackets begin HTML.
std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char character : one_line(std::string(text))) {
    switch (character) {
      case '|':
        escaped += "\\|";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '`':
        escaped += "&#96;";
        break;
      case '*':
        escaped += "&#42;";
        break;
      case '[':
        escaped += "&#91;";
        break;
      case '\\':
        escaped += "&#92;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

/// As GitHub's runner unescapes it; in a property a colon and a comma end the value.
std::string annotation_text(std::string_view text, bool property) {
  std::string escaped;
  for (const char character : text) {
    const bool special = character == '%' || character == '\r' || character == '\n' ||
                         (property && (character == ':' || character == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned>(character)) : std::string(1, character);
  }
  return escaped;
}

std::string simulated_line(const Comparison& comparison) {
  return comparison.simulated ? fmt::format("{}\n\n", kSimulatedLine) : "";
}

std::string annotation(std::string_view command, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", command, annotation_text(title, true),
                     annotation_text(message, false));
}

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  std::string text = simulated_line(comparison);
  text += fmt::format("baseline   {}\n           {}\ncandidate  {}\n           {}\n\n", comparison.baseline,
                      provenance(comparison, &ComparedCase::baseline), comparison.candidate,
                      provenance(comparison, &ComparedCase::candidate));
  for (const GateFinding& finding : comparison.general) {
    text += fmt::format("{:<10}  {}\n", to_string(finding.grade), one_line(finding.message));
  }
  const std::vector<Group> groups = groups_of(comparison);
  const std::size_t shown = shown_of(groups);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{:<10}  {}\n            {}\n", groups[i].label, one_line(groups[i].names()),
                        one_line(groups[i].reason));
  }
  if (shown < groups.size()) text += fmt::format("{}\n", left_out(shown, groups.size()));
  return text + fmt::format("\n{}\n{}\n", headline(comparison), smallest_regression(comparison));
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string text = simulated_line(comparison);
  text += fmt::format("## occbench gate: {}\n\n", headline(comparison));
  text += fmt::format(
      "| | file | recorded |\n|---|---|---|\n| baseline | {} | {} |\n| candidate | {} | {} |\n\n",
      markdown_text(comparison.baseline), markdown_text(provenance(comparison, &ComparedCase::baseline)),
      markdown_text(comparison.candidate), markdown_text(provenance(comparison, &ComparedCase::candidate)));
  const std::vector<Group> groups = groups_of(comparison);
  if (!groups.empty() || !comparison.general.empty()) text += "| verdict | case | reason |\n|---|---|---|\n";
  for (const GateFinding& finding : comparison.general) {
    text += fmt::format("| {} | | {} |\n", to_string(finding.grade), markdown_text(finding.message));
  }
  const std::size_t shown = shown_of(groups);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("| {} | {} | {} |\n", groups[i].label, markdown_text(groups[i].names()),
                        markdown_text(groups[i].reason));
  }
  if (shown < groups.size()) text += fmt::format("\n{}\n", left_out(shown, groups.size()));
  return text + fmt::format("\n{}\n", markdown_text(smallest_regression(comparison)));
}

std::string comparison_annotations(const Comparison& comparison) {
  std::string text;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  const auto annotate = [&](Grade grade, std::string_view title, std::string_view message) {
    if (grade == Grade::note) return;
    const bool error = grade == Grade::regression;
    // The last place of each kind is kept for the headline.
    if (++(error ? errors : warnings) >= kMostAnnotations) return;
    text += annotation(error ? "error" : "warning", title, message);
  };
  for (const GateFinding& finding : comparison.general)
    annotate(finding.grade, "occupancy gate", finding.message);
  for (const Group& group : groups_of(comparison)) {
    annotate(group.cases.front()->findings.front().grade,
             fmt::format("occupancy {}: {}", group.label, group.names()), group.reason);
  }
  const Verdict verdict = comparison.verdict();
  const std::string_view command =
      verdict == Verdict::regression ? "error" : (verdict == Verdict::no_verdict ? "warning" : "notice");
  return text +
         annotation(command, "occupancy gate", headline(comparison) + ". " + smallest_regression(comparison));
}

}  // namespace occbench
