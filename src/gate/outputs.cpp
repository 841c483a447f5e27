#include "gate/outputs.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "gate/tolerances.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "record/json.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

struct Caught {
  double typical;
  double worst;
  std::string where;  ///< the case of the worst
};

std::optional<Caught> summarize(const Comparison& comparison, std::optional<double> ComparedCase::*member) {
  std::vector<double> values;
  const ComparedCase* worst = nullptr;
  for (const ComparedCase& compared : comparison.cases) {
    const std::optional<double>& value = compared.*member;
    if (!value) continue;
    values.push_back(*value);
    if (worst == nullptr || *value > *(worst->*member)) worst = &compared;
  }
  if (worst == nullptr) return std::nullopt;
  return Caught{median(values), *(worst->*member), worst->full_name()};
}

std::string sentence(const Caught& caught, std::string_view unit, std::string_view what) {
  const auto number = [](double value) {
    return value < 10 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
  };
  return fmt::format("{} {} of {} at the median case, {} at worst ({})", number(caught.typical), unit, what,
                     number(caught.worst), caught.where);
}

/// Names of simulated results always differ from those of measured ones.
std::string marked(const Comparison& comparison, std::string name) {
  return comparison.simulated ? "simulated: " + std::move(name) : std::move(name);
}

}  // namespace

std::string headline(const Comparison& comparison) {
  const auto not_compared =
      static_cast<std::size_t>(std::ranges::count_if(comparison.cases, &ComparedCase::not_compared));
  const std::pair<std::size_t, std::string_view> counts[] = {
      {comparison.count(Verdict::regression), to_string(Verdict::regression)},
      {comparison.count(Verdict::no_verdict), to_string(Verdict::no_verdict)},
      {comparison.count(Verdict::pass) - not_compared, to_string(Verdict::pass)},
      {not_compared, "not compared"}};
  std::string text = fmt::format("{}{}: {} case{}", to_string(comparison.verdict()),
                                 comparison.simulated ? " (simulated)" : "", comparison.cases.size(),
                                 comparison.cases.size() == 1 ? "" : "s");
  for (const auto& [count, what] : counts) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  }
  return text;
}

std::string smallest_regression(const Comparison& comparison) {
  const std::optional<Caught> points = summarize(comparison, &ComparedCase::caught_points);
  const std::optional<Caught> time = summarize(comparison, &ComparedCase::caught_time_pct);
  std::vector<std::string_view> more;
  for (const auto& [column, what] : {std::pair("registers_per_thread", "register"),
                                     std::pair("static_shared_bytes", "byte of shared memory"),
                                     std::pair("spill_bytes", "byte of spills")}) {
    if (!comparison.lacking.contains(column)) more.emplace_back(what);
  }
  std::vector<std::string> found;
  if (!more.empty()) found.push_back(fmt::format("one more {}", fmt::join(more, " or ")));
  if (!comparison.lacking.contains("theoretical_pct")) found.emplace_back("any loss of theory");
  const bool looked = points || time || comparison.count(Verdict::regression) > 0 ||
                      std::ranges::any_of(comparison.cases, &ComparedCase::compared);
  if (!looked || (found.empty() && !points && !time)) return "No regression could have been found.";
  if (points) found.push_back(sentence(*points, "points", "achieved occupancy"));
  if (time) found.push_back(sentence(*time, "%", "time"));
  if (!time) found.emplace_back(points ? "time is advisory" : "no measurements were compared");
  return fmt::format("Smallest regression that would have been found: {}.", fmt::join(found, "; "));
}

std::string reason(const ComparedCase& compared) {
  std::string text;
  for (const GateFinding& finding : compared.findings) {
    if (finding.grade != compared.findings.front().grade && finding.grade != Grade::note) continue;
    text += (text.empty() ? "" : "; ") + finding.message;
  }
  return text;
}

namespace {

Json to_json(const GateFinding& finding) {
  return {{"grade", to_string(finding.grade)},
          {"subject", finding.subject},
          {"baseline", finding.baseline},
          {"candidate", finding.candidate},
          {"message", finding.message}};
}

Json to_json(const std::vector<GateFinding>& findings) {
  Json list = Json::array();
  for (const GateFinding& finding : findings) list.push_back(to_json(finding));
  return list;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const ComparedCase& compared) {
  return {{"experiment", compared.experiment},
          {"case", compared.name},
          {"verdict", to_string(compared.verdict())},
          {"smallest_regression_points", number_or_null(compared.caught_points)},
          {"smallest_regression_time_pct", number_or_null(compared.caught_time_pct)},
          {"findings", to_json(compared.findings)}};
}

/// A value of the candidate and, if known, the range of its middle half.
struct Metric {
  std::string name;
  std::string unit;
  bool bigger_is_better;
  double value;
  std::optional<double> lower;
  std::optional<double> upper;
};

std::vector<Metric> metrics_of(const ComparedCase& compared) {
  std::vector<Metric> metrics;
  const Row& row = compared.candidate->row;
  if (row.theoretical_pct) metrics.push_back({"theoretical_pct", "%", true, *row.theoretical_pct, {}, {}});
  for (const Quantity& quantity : measured_quantities()) {
    const Real value = quantity.value(row);
    if (!value) continue;
    Metric& metric = metrics.emplace_back(Metric{std::string(quantity.name),
                                                 quantity.unit == "points" ? "%" : std::string(quantity.unit),
                                                 quantity.higher_is_better,
                                                 *value,
                                                 {},
                                                 {}});
    if (const Real spread = quantity.spread(*compared.candidate)) {
      metric.lower = *value - *spread / 2;
      metric.upper = *value + *spread / 2;
    }
  }
  if (row.time_us) {
    const double half = *row.time_us * row.time_spread_pct.value_or(0) / 200;
    metrics.push_back({"time_us", "us", false, *row.time_us, *row.time_us - half, *row.time_us + half});
  }
  return metrics;
}

/// Everything.
std::string comparison_json(const Comparison& comparison) {
  Json root = {{"verdict", to_string(comparison.verdict())},
               {"simulated", comparison.simulated},
               {"baseline", comparison.baseline},
               {"candidate", comparison.candidate},
               {"headline", headline(comparison)},
               {"smallest_regression", smallest_regression(comparison)},
               {"general", to_json(comparison.general)}};
  Json& cases = root["cases"] = Json::array();
  for (const ComparedCase& compared : comparison.cases) cases.push_back(to_json(compared));
  return json_text(root) + "\n";
}

/// Measurements of a throttled, failed or wrong launch are not points of a curve.
bool is_tracked(const ComparedCase& compared) {
  if (!compared.candidate) return false;
  const Row& row = compared.candidate->row;
  return row.check != "wrong" && row.time_status != "throttled" && row.time_status != "failed";
}

/// The candidate's measurements, whatever the verdict, for benchmark-action/github-action-benchmark: its tools
/// customBiggerIsBetter and customSmallerIsBetter. Fields as in its README, "Use this action with custom benchmarks".
std::string comparison_github_action_benchmark(const Comparison& comparison, bool bigger_is_better) {
  Json list = Json::array();
  for (const ComparedCase& compared : comparison.cases) {
    if (!is_tracked(compared)) continue;
    for (const Metric& metric : metrics_of(compared)) {
      if (metric.bigger_is_better != bigger_is_better) continue;
      Json& entry = list.emplace_back();
      entry["name"] = marked(comparison, fmt::format("{} {}", compared.full_name(), metric.name));
      entry["unit"] = metric.unit;
      entry["value"] = metric.value;
      if (metric.lower && metric.upper)
        entry["range"] = fmt::format("± {:.4g}", (*metric.upper - *metric.lower) / 2);
      entry["extra"] = compared.candidate->row.gpu;
    }
  }
  return json_text(list) + "\n";
}

/// Likewise for bencher.dev's adapter `json` (reference, "Bencher Metric Format"). Its built-in measure `latency` is in
/// nanoseconds.
std::string comparison_bencher(const Comparison& comparison) {
  Json root = Json::object();
  for (const ComparedCase& compared : comparison.cases) {
    if (!is_tracked(compared)) continue;
    Json measures = Json::object();
    for (const Metric& metric : metrics_of(compared)) {
      const bool time = metric.name == "time_us";
      const double scale = time ? 1000 : 1;
      Json& measure = measures[time ? "latency" : metric.name];
      measure["value"] = scale * metric.value;
      if (metric.lower) measure["lower_value"] = scale * *metric.lower;
      if (metric.upper) measure["upper_value"] = scale * *metric.upper;
    }
    if (!measures.empty()) root[marked(comparison, compared.full_name())] = measures;
  }
  return json_text(root) + "\n";
}

/// Whether XML 1.0 can hold it in any form.
bool is_of_xml(const Utf8Character& character) {
  return character.valid && character.code >= 0x20 && character.code != 0xfffe && character.code != 0xffff;
}

struct Escape {
  std::string_view character;
  std::string_view written;
};

constexpr Escape kXmlEscapes[] = {{"&", "&amp;"},  {"<", "&lt;"},  {">", "&gt;"},  {"\"", "&quot;"},
                                  {"\n", "&#10;"}, {"\t", "&#9;"}, {"\r", "&#13;"}};
constexpr Escape kMarkdownEscapes[] = {{"|", "\\|"},   {"<", "&lt;"},  {">", "&gt;"},  {"&", "&amp;"},
                                       {"`", "&#96;"}, {"*", "&#42;"}, {"[", "&#91;"}, {"\\", "&#92;"}};

/// A character without an escape is written unchanged.
std::string_view written_as(std::string_view character, std::span<const Escape> escapes) {
  const auto found = std::ranges::find(escapes, character, &Escape::character);
  return found == escapes.end() ? character : found->written;
}

/// Characters that XML 1.0 cannot hold become question marks.
std::string xml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view piece = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    const std::string_view written = written_as(piece, kXmlEscapes);
    escaped += written != piece || is_of_xml(character) ? written : "?";
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

  /// An error, not a failure: the test could not be run.
  void add_error(std::string_view suite, std::string_view name, std::string_view message,
                 std::string_view reason) {
    add(suite, name, element("error", Verdict::no_verdict, message, reason));
    ++errors;
  }

  void add_skipped(std::string_view suite, std::string_view name, std::string_view reason) {
    add(suite, name, fmt::format("<skipped message=\"{}\"/>", xml(reason)));
    ++skipped;
  }

  void add(std::string_view suite, const GateFinding& general) {
    const std::string& said = general.message;
    if (general.grade == Grade::no_verdict) return add_error(suite, said, said, said);
    add_skipped(suite, said, said);
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
      add_skipped(suite, compared.name, said);
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

/// JUnit's XML.
std::string comparison_junit(const Comparison& comparison) {
  std::map<std::string, Suite> suites;
  for (const ComparedCase& compared : comparison.cases) {
    const std::string suite = marked(comparison, compared.experiment);
    suites[suite].add(suite, compared);
  }
  // A finding on the runs as a whole is a test too, so that it cannot be overlooked.
  for (const GateFinding& finding : comparison.general) suites["gate"].add("gate", finding);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"occbench gate\">\n";
  for (const auto& [name, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  "
        "</testsuite>\n",
        xml(name), suite.tests, suite.failures, suite.errors, suite.skipped, suite.cases);
  }
  return text + "</testsuites>\n";
}

/// Nobody reads more lines than this; JSON and JUnit have all.
constexpr std::size_t kMostLines = 40;
/// In a group of regressions.
constexpr std::size_t kMostNames = 8;
/// Notes change no verdict.
constexpr std::size_t kMostNotes = 5;
/// GitHub shows ten errors and ten warnings per step and drops the others.
constexpr std::size_t kMostAnnotations = 10;

/// Cases with the same reason.
struct Group {
  std::string label;  ///< the grade
  std::string reason;
  std::vector<const ComparedCase*> cases;

  std::string title() const {
    return first_and_count(cases.front()->full_name(), cases.size());
  }

  /// One line each. For other grades than a regression the title is enough.
  std::vector<std::string> names() const {
    if (label != to_string(Grade::regression)) return {title()};
    std::vector<std::string> names;
    for (const ComparedCase* const each : std::span(cases).first(std::min(cases.size(), kMostNames)))
      names.push_back(each->full_name());
    if (names.size() < cases.size())
      names.push_back(
          fmt::format("and {} more; formats json and junit have all", cases.size() - names.size()));
    return names;
  }
};

/// Worst first, each case in one group. Cases without findings are left out.
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

/// Number of groups to show: notes come last.
std::size_t shown_of(const std::vector<Group>& groups) {
  const auto notes =
      static_cast<std::size_t>(std::ranges::count(groups, to_string(Grade::note), &Group::label));
  return std::min(groups.size() - notes + std::min(notes, kMostNotes), kMostLines);
}

std::string left_out(std::size_t shown, std::size_t all) {
  return fmt::format("... and {} more (formats json and junit have all)", all - shown);
}

/// The first recorded row of a side, whatever the two sides have in common.
std::string provenance(const Comparison& comparison, std::optional<RecordedCase> ComparedCase::*side) {
  const Row* first = nullptr;
  for (const ComparedCase& compared : comparison.cases) {
    if (!(compared.*side)) continue;
    const Row& row = (compared.*side)->row;
    if (first == nullptr || row.recorded_at < first->recorded_at) first = &row;
  }
  if (first == nullptr) return "no rows are compared";
  if (first->recorded_at.empty() && first->time_status.empty()) {
    return "calculated, nothing measured" + (first->gpu.empty() ? "" : ", for " + first->gpu) +
           (first->cuda_toolkit.empty() ? "" : fmt::format("; code by CUDA {}", first->cuda_toolkit));
  }
  return fmt::format("{}, commit {}, {}", first->gpu, first->commit, first->recorded_at);
}

/// As text within Markdown, where a bar ends a cell and angle brackets begin HTML.
std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char character : one_line(std::string(text)))
    escaped += written_as({&character, 1}, kMarkdownEscapes);
  return escaped;
}

/// As GitHub's runner unescapes it. In a property a colon or a comma ends the value.
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

/// Possible reasons why a case takes longer at the same occupancy, as far as both sides have them.
std::string what_else_changed(const Row& before, const Row& now) {
  std::string text;
  for (const auto& [column, value] :
       {std::pair("sm_clock_mhz", &Row::sm_clock_mhz), std::pair("dram_busy_pct", &Row::dram_busy_pct),
        std::pair("issue_active_pct", &Row::issue_active_pct)}) {
    if (before.*value && now.*value)
      text += fmt::format("{}{} {:.4g} -> {:.4g}", text.empty() ? ": " : ", ", column, *(before.*value),
                          *(now.*value));
  }
  return text;
}

/// The command that shows where the worst regression's occupancy went, unless only its time is worse. Empty if the
/// candidate's rows are not a file or were not measured.
std::string how_to_explain(const Comparison& comparison) {
  if (comparison.verdict() != Verdict::regression || !fs::is_regular_file(comparison.candidate)) return "";
  const ComparedCase& worst = comparison.cases.front();
  if (!worst.candidate || !worst.candidate->row.achieved_pct) return "";
  if (worst.baseline && worst.findings.front().subject == "time_us")
    return fmt::format("Occupancy does not explain the first; clock, memory or instructions may{}\n",
                       what_else_changed(worst.baseline->row, worst.candidate->row));
  std::string pattern;
  for (const char character : worst.full_name()) {
    if (std::string_view("\\.^$|()[]{}*+?").find(character) != std::string_view::npos) pattern += '\\';
    pattern += character;
  }
  return fmt::format("Causes and remedies of the first: occbench explain {} --filter '^{}$'\n",
                     comparison.candidate, pattern);
}

std::string annotation(std::string_view command, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", command, annotation_text(title, true),
                     annotation_text(message, false));
}

/// For a terminal.
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
    text += fmt::format("{:<10}  {}\n            {}\n", groups[i].label,
                        fmt::join(mapped(groups[i].names(), one_line), "\n            "),
                        one_line(groups[i].reason));
  }
  if (shown < groups.size()) text += fmt::format("{}\n", left_out(shown, groups.size()));
  return text + fmt::format("\n{}\n{}\n", headline(comparison), smallest_regression(comparison)) +
         how_to_explain(comparison);
}

/// For the summary of a GitHub job.
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
    text += fmt::format("| {} | {} | {} |\n", groups[i].label,
                        fmt::join(mapped(groups[i].names(), markdown_text), "<br>"),
                        markdown_text(groups[i].reason));
  }
  if (shown < groups.size()) text += fmt::format("\n{}\n", left_out(shown, groups.size()));
  return text + fmt::format("\n{}\n", markdown_text(smallest_regression(comparison)));
}

/// GitHub's workflow commands ::error and ::warning.
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
  for (const GateFinding& finding : comparison.general) {
    if (finding.grade == Grade::note) text += annotation("notice", "occupancy gate", finding.message);
    annotate(finding.grade, "occupancy gate", finding.message);
  }
  for (const Group& group : groups_of(comparison)) {
    const std::vector<std::string> names = group.names();
    annotate(group.cases.front()->findings.front().grade,
             fmt::format("occupancy {}: {}", group.label, group.title()),
             names.size() == 1 ? group.reason : fmt::format("{}\n{}", group.reason, fmt::join(names, "\n")));
  }
  const Verdict verdict = comparison.verdict();
  const std::string_view command =
      verdict == Verdict::regression ? "error" : (verdict == Verdict::no_verdict ? "warning" : "notice");
  return text +
         annotation(command, "occupancy gate", headline(comparison) + ". " + smallest_regression(comparison));
}

const std::string kSimulatedFirst = fmt::format("({}\\s+)?", kSimulatedLine);
const std::string kName = R"("([^"\\]|\\.)*")";
const std::string kBenchmarkBegins = R"(\[\s*(\]\s*$|\{\s*"name":\s*)" + kName + R"(,\s*"unit":))";

}  // namespace

const std::map<std::string, GateFormat> kGateFormats = {
    {"table", {comparison_table, kSimulatedFirst + "baseline   "}},
    {"markdown", {comparison_markdown, kSimulatedFirst + "## occbench gate: "}},
    {"annotations", {comparison_annotations, "::(error|warning|notice) title=occupancy "}},
    {"junit", {comparison_junit, R"(<\?xml [^>]*>\s*<testsuites name="occbench gate">)"}},
    {"json", {comparison_json, R"(\{\s*"verdict":)"}},
    {"github-action-benchmark-bigger",
     {[](const Comparison& comparison) { return comparison_github_action_benchmark(comparison, true); },
      kBenchmarkBegins}},
    {"github-action-benchmark-smaller",
     {[](const Comparison& comparison) { return comparison_github_action_benchmark(comparison, false); },
      kBenchmarkBegins}},
    {"bencher", {comparison_bencher, R"(\{\s*(\}\s*$|)" + kName + R"(:\s*\{\s*"\w+":\s*\{\s*"value":))"}}};

}  // namespace occbench
