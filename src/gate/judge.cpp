#include "gate/judge.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "diagnose/diagnose.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"
#include "record/provenance.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// Times are compared only if they were recorded this close together, on the same GPU.
constexpr int kComparableSeconds = 3600;

std::string shown(std::string_view value) {
  return value.empty() ? "(empty)" : std::string(value);
}

/// "registers_per_thread 31 -> 33"
std::string change_text(std::string_view what, std::string_view before, std::string_view now) {
  return fmt::format("{} {} -> {}", what, shown(before), shown(now));
}

/// Adds a finding without values.
void add_finding(ComparedCase& into, Grade grade, std::string_view subject, std::string message,
                 double weight = 0) {
  into.findings.push_back({grade, std::move(message), std::string(subject), "", "", weight});
}

/// The two sides with their names for messages.
std::array<std::pair<std::string_view, const Cases*>, 2> named(const Sides& sides) {
  return {{{"baseline", &sides.baseline}, {"candidate", &sides.candidate}}};
}

/// Change in the columns that are known before the launch.
enum class LaunchChange {
  none,
  better,  ///< less is needed or more fits, and nothing else differs: measurements are still compared
  other,   ///< another launch: its measurements are not separate findings
};

/// Grade of a column's difference. Consequences are as severe as their causes and have no grade yet.
std::optional<Grade> grade_of(const Column& column, const Row& before, const Row& now) {
  if (column.gate == GateRule::consequence) return std::nullopt;
  const Real was = number_of(before, column);
  const Real is = number_of(now, column);
  // An unknown value is not worse than a known one. An exact number may be left to the driver.
  const bool may_be_unknown = column.gate != GateRule::exact || type_name(column) == "text";
  if (may_be_unknown && (cell_text(before, column).empty() || cell_text(now, column).empty()))
    return Grade::no_verdict;
  if (column.gate == GateRule::exact || !was || !is) return Grade::regression;
  const bool better = column.gate == GateRule::lower_is_better ? *is < *was : *is > *was;
  return better ? Grade::note : Grade::regression;
}

/// Work that was inferred from a measurement differs from run to run.
bool is_inferred(const Column& column, const Row& row) {
  return column.name == "work" && is_inferred_work(row.work_source);
}

/// False, with the reason, if runs of one side differ in a column that is known before the launch.
bool is_one_launch(const Sides& sides, const GateContext& context, ComparedCase& into) {
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      for (const Column* column : context.exact) {
        if (cell_text(recorded->row, *column) == cell_text(runs->front()->row, *column)) continue;
        if (is_inferred(*column, recorded->row)) continue;
        add_finding(into, Grade::no_verdict, column->name,
                    fmt::format("{} differs between runs of the {}", column->name, side));
        return false;
      }
    }
  }
  return true;
}

/// The value of a `calc` column in a calculated row, in that form; empty if it has none.
std::string said(const Row& row, std::string_view column, std::string_view form = "{}") {
  const auto found = std::ranges::find(row.extra, column, &std::pair<std::string, std::string>::first);
  return found == row.extra.end() || found->second.empty() ? ""
                                                           : fmt::format(fmt::runtime(form), found->second);
}

/// Adds a finding for each column that is known before the launch and differs, graded by its gate rule.
LaunchChange compare_launches(const Sides& sides, const GateContext& context, ComparedCase& into) {
  const Row& before = sides.baseline.front()->row;
  const Row& now = sides.candidate.front()->row;
  const double loss = before.theoretical_pct.value_or(0) - now.theoretical_pct.value_or(0);
  std::vector<const Column*> different;
  std::optional<Grade> gravest;
  for (const Column* column : context.exact) {
    if (cell_text(before, *column) == cell_text(now, *column) || is_inferred(*column, now)) continue;
    different.push_back(column);
    gravest = std::max(gravest, grade_of(*column, before, now));
  }
  for (const char* bounds : {"max_block_threads", "required_block_threads"}) {
    if (said(before, bounds) == said(now, bounds)) continue;
    gravest = Grade::regression;
    add_finding(into, Grade::regression, bounds,
                change_text(bounds, said(before, bounds), said(now, bounds)));
  }
  if (different.empty() && !gravest) return LaunchChange::none;
  const Grade of_consequences = gravest.value_or(Grade::regression);
  for (const Column* column : different) {
    const std::string was = cell_text(before, *column);
    const std::string is = cell_text(now, *column);
    const Grade grade = grade_of(*column, before, now).value_or(of_consequences);
    into.findings.push_back(
        {grade,
         change_text(column->name, was, is) + (grade == Grade::note ? ": better" : "") +
             (column->name == "theoretical_pct" ? said(now, "cannot_launch", " ({})") : ""),
         std::string(column->name), was, is, 1000 + std::max(0.0, loss)});
  }
  if (of_consequences == Grade::note) {
    add_finding(into, Grade::note, "", "record the baseline again");
    return LaunchChange::better;
  }
  if (loss <= 0) {
    add_finding(
        into, Grade::note, "",
        fmt::format("theoretical occupancy is no lower{}; if the change is meant, record the baseline again",
                    said(now, "assumed", " ({})")));
  }
  return LaunchChange::other;
}

/// Rows that were calculated and never launched: only columns known before the launch can be compared.
bool was_never_launched(const Sides& sides) {
  const auto is_calculated = [](const RecordedCase* recorded) {
    const Row& row = recorded->row;
    return row.recorded_at.empty() && row.time_status.empty() && row.counters_status.empty() &&
           !row.time_us && !row.achieved_pct;
  };
  return std::ranges::all_of(sides.baseline, is_calculated) &&
         std::ranges::all_of(sides.candidate, is_calculated);
}

/// False, with the row's note, if calculated rows have no theory.
bool have_answers(const Sides& sides, ComparedCase& into) {
  if (!was_never_launched(sides)) return true;
  std::string lacking;
  std::string why;
  for (const auto& [side, runs] : named(sides)) {
    const Row& row = runs->front()->row;
    if (row.theoretical_pct || row.note.empty()) continue;
    lacking = lacking.empty() ? "the " + std::string(side) : "either";
    why = row.note;
  }
  if (lacking.empty()) return true;
  add_finding(into, lacking == "either" ? Grade::note : Grade::no_verdict, "theoretical_pct",
              fmt::format("no answer in {}: {}", lacking, why));
  return false;
}

std::string explanation(const Cases& cases) {
  try {
    return explanation_of(facts_of(case_record(cases.front()->row)));
  } catch (const InputError&) {
    return "";  // the row has an impossible value, which the gate reports itself
  }
}

/// Notes where the candidate's occupancy is lost now, if that differs from the baseline: the sentence of the first
/// finding of src/diagnose. Adds nothing if the row does not say enough for one.
void add_loss_change(const Sides& sides, ComparedCase& into) {
  const std::string now = explanation(sides.candidate);
  if (now.empty() || now == explanation(sides.baseline)) return;
  add_finding(into, Grade::note, "explanation", now);
}

/// False if the rows are of different machines or tables.
bool same_machine(const Sides& sides, ComparedCase& into) {
  Cases all = sides.baseline;
  all.insert(all.end(), sides.candidate.begin(), sides.candidate.end());
  const Row& first = all.front()->row;
  for (const RecordedCase* recorded : all) {
    for (const Column& column : columns()) {
      if (column.gate != GateRule::machine) continue;
      const std::string before = cell_text(first, column);
      const std::string now = cell_text(recorded->row, column);
      if (before == now) continue;
      add_finding(into, Grade::no_verdict, column.name,
                  "cannot be compared: " + change_text(column.name, before, now));
      return false;
    }
  }
  return true;
}

/// False if a result was wrong: the time of such a kernel says nothing.
bool right_results(const Sides& sides, ComparedCase& into) {
  const auto wrong = [](const RecordedCase* recorded) { return recorded->row.check == "wrong"; };
  const bool before = std::ranges::any_of(sides.baseline, wrong);
  const bool now = std::ranges::any_of(sides.candidate, wrong);
  if (now && !before) add_finding(into, Grade::regression, "check", "the kernel's result is wrong now", 1e6);
  if (before) add_finding(into, Grade::no_verdict, "check", "the baseline's result is wrong");
  return !before && !now;
}

/// A launch of a program. The program decides how often it makes each, and so what could be read of it.
bool of_a_program(const Row& row) {
  return row.launches.has_value();
}

/// Empty if the row does not say.
std::string throttle_reasons(const Row& row) try {
  return parse_gpu_state(row.gpu_state).condition.throttle_reasons;
} catch (const InputError&) {
  return "";
}

/// Why a row's measurements cannot be used; empty if they can.
std::string unfit(const Row& row) {
  if (row.time_status == "ok" || row.time_status == "unstable" || row.time_status == "simulated") return "";
  const std::string status = row.time_status.empty() ? "not measured" : row.time_status;
  // The note of a throttled row has another subject.
  const std::string why = status == "throttled" ? throttle_reasons(row) : row.note;
  return why.empty() ? status : fmt::format("{} ({})", status, why);
}

/// The reason why the first such row is unfit, and its side.
std::string first_unfit(const Sides& sides) {
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      const std::string reason = unfit(recorded->row);
      if (!reason.empty()) return fmt::format("{} in the {}", reason, side);
    }
  }
  return "";
}

/// The pairs in which both runs measured the case; says why if there are none.
Sides fit_pairs(const Sides& sides, ComparedCase& into) {
  Sides fit;
  for (std::size_t i = 0; i < sides.baseline.size(); ++i) {
    if (!unfit(sides.baseline[i]->row).empty() || !unfit(sides.candidate[i]->row).empty()) continue;
    fit.baseline.push_back(sides.baseline[i]);
    fit.candidate.push_back(sides.candidate[i]);
  }
  if (!fit.baseline.empty()) return fit;
  const Row& before = sides.baseline.front()->row;
  const Row& now = sides.candidate.front()->row;
  if (before.time_status == "skipped" && now.time_status == "skipped") {
    add_finding(into, Grade::note, "time_status", "skipped in both: " + now.note);
    return fit;
  }
  add_finding(into, Grade::no_verdict, "time_status", first_unfit(sides));
  return fit;
}

/// The median over the runs that have the value.
Real median_of(const Cases& runs, const std::function<Real(const Row&)>& value) {
  std::vector<double> values;
  for (const RecordedCase* recorded : runs) {
    if (const Real found = value(recorded->row)) values.push_back(*found);
  }
  return values.empty() ? Real() : Real(median(values));
}

double largest_spread(const Sides& sides, const Quantity& quantity) {
  double largest = 0;
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      largest = std::max(largest, quantity.spread(*recorded).value_or(0));
    }
  }
  return largest;
}

/// False, with the reason, if achieved occupancy is missing or was read by different means.
bool achieved_is_comparable(const Sides& sides, bool any_source, ComparedCase& into) {
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      const Row& row = recorded->row;
      if (row.achieved_pct) continue;
      const std::string status = row.counters_status.empty() ? "not read" : row.counters_status;
      const bool by_choice = status == "off" && of_a_program(row);
      add_finding(into, by_choice ? Grade::note : Grade::no_verdict, "counters_status",
                  fmt::format("no achieved occupancy in the {}: {}", side,
                              status == "ok" ? "achieved_pct is empty" : "counters " + status));
      return false;
    }
  }
  const std::string before(achieved_source(sides.baseline.front()->row));
  const std::string now(achieved_source(sides.candidate.front()->row));
  const auto is_of_gpu = [](const std::string& source) { return source == "counter" || source == "sampled"; };
  if (before == now || (any_source && is_of_gpu(before) && is_of_gpu(now))) return true;
  add_finding(into, Grade::no_verdict, "counters_status",
              "achieved_pct cannot be compared: " + change_text("read by", before, now) +
                  (is_of_gpu(before) && is_of_gpu(now) ? "; --any-source compares them" : ""));
  return false;
}

/// Origin of a loss of occupancy at unchanged resources, as far as the counters say.
std::string circumstances(const Sides& sides) {
  const auto cycles = [](const Row& row) { return row.sm_cycles_active_avg; };
  const Real before = median_of(sides.baseline, cycles);
  const Real now = median_of(sides.candidate, cycles);
  std::string text = "; launch, registers, shared memory and theory are as before";
  if (!before || !now || *before <= 0 || *now <= 1.05 * *before) return text;
  return text +
         fmt::format(
             ", but the SMs are active {:.2f} times as long: some warps or blocks take longer than others",
             *now / *before);
}

/// A note reports a loss hidden by scatter from this multiple of the limit on.
constexpr double kHiddenLimits = 5;

/// Allowed loss of a quantity, given its tolerance.
double allowed(const Sides& sides, const Quantity& quantity, const Tolerance& tolerance) {
  const double by_spread = tolerance.allowed(largest_spread(sides, quantity));
  if (!quantity.of_unchanged_code) return by_spread;
  return std::max(by_spread,
                  quantity.of_unchanged_code(sides.baseline.front()->row, sides.candidate.front()->row));
}

/// One quantity on both sides.
struct Difference {
  double before;
  double now;
  double loss;  ///< above 0 is worse
  double allowed;

  bool counts() const {
    return std::abs(loss) > allowed;
  }
  std::string was() const {
    return fmt::format("{:.4g}", before);
  }
  std::string is() const {
    return fmt::format("{:.4g}", now);
  }
};

/// Empty if a side does not have the quantity.
std::optional<Difference> difference(const Sides& sides, const Quantity& quantity,
                                     const std::function<Real(const Row&)>& value, const GateContext& context,
                                     const std::string& experiment) {
  const Real before = median_of(sides.baseline, value);
  const Real now = median_of(sides.candidate, value);
  if (!before || !now || (quantity.unit == "%" && *before <= 0)) return std::nullopt;
  const double change = quantity.unit == "%" ? 100 * (*now / *before - 1) : *now - *before;
  return Difference{*before, *now, quantity.higher_is_better ? -change : change,
                    allowed(sides, quantity, context.tolerances.of(experiment, quantity))};
}

void add_difference(const Sides& sides, const Quantity& quantity, const Difference& found,
                    LaunchChange launch_change, ComparedCase& into) {
  const bool worse = found.loss > 0;
  const std::string was = found.was();
  const std::string is = found.is();
  std::string message =
      fmt::format("{}: {:.3g} {} {}, {:.3g} allowed", change_text(quantity.name, was, is),
                  std::abs(found.loss), quantity.unit, worse ? "worse" : "better", found.allowed);
  if (worse && quantity.name == "achieved_pct" && launch_change == LaunchChange::none)
    message += circumstances(sides);
  const auto has_own_spread = [](const RecordedCase* each) {
    return each->achieved_elapsed_spread_points.has_value();
  };
  if (worse && quantity.name == "achieved_elapsed_pct" &&
      !(std::ranges::all_of(sides.baseline, has_own_spread) &&
        std::ranges::all_of(sides.candidate, has_own_spread)))
    message += "; with the samples of both runs more may be allowed";
  if (!worse) message += "; record the baseline again";
  into.findings.push_back({worse ? Grade::regression : Grade::note, message, std::string(quantity.name), was,
                           is, std::abs(found.loss) / std::max(found.allowed, 1e-9)});
  if (worse && quantity.name == "achieved_pct") add_loss_change(sides, into);
}

/// The warp cycles of a launch are achieved_pct times the mean active cycles, and achieved_elapsed_pct times those of
/// the longest SM. The two differ by at most 1.6 % in the recorded suites, because each column is a median of
/// launches.
constexpr double kSameWarpCycles = 0.02;

bool contradicts_itself(const Row& row) {
  if (!row.achieved_pct || !row.achieved_elapsed_pct || !row.sm_cycles_active_avg ||
      !row.sm_cycles_active_max)
    return false;
  const double over_active = *row.achieved_pct * *row.sm_cycles_active_avg;
  const double over_elapsed = *row.achieved_elapsed_pct * *row.sm_cycles_active_max;
  return std::abs(over_active - over_elapsed) > kSameWarpCycles * over_elapsed;
}

/// If only the placement of the last blocks differs, achieved_elapsed_pct moves by its scatter alone: by less than
/// this part of its move for a change of occupancy itself. The value is a choice.
constexpr double kMostOfPlacement = 0.5;

/// achieved_pct is over the cycles in which an SM had a warp, achieved_elapsed_pct over all SMs and the longest one's
/// cycles. If the second is unchanged, the first shows only which SMs had the last blocks. That is random if several
/// run out of blocks at once. @returns the reading that then stands for both sides; empty if occupancy itself
/// changed.
Real reading_if_only_placement_differs(const Sides& sides, const GateContext& context, ComparedCase& into) {
  const Quantity& active = *find_quantity("achieved_pct");
  const Quantity& elapsed = *find_quantity("achieved_elapsed_pct");
  const auto of_active = difference(sides, active, active.value, context, into.experiment);
  const auto of_elapsed = difference(sides, elapsed, elapsed.value, context, into.experiment);
  into.caught_points = of_elapsed ? of_elapsed->allowed : of_active->allowed;
  if (!of_elapsed || of_elapsed->counts()) return std::nullopt;
  if (std::ranges::any_of(sides.candidate, [](const auto* one) { return contradicts_itself(one->row); }))
    return std::nullopt;
  // If SMs are idle most of the time, both fall by the same share: a share of few percent is less than the tolerance.
  const double share = of_active->before > 0 ? std::min(1.0, of_elapsed->before / of_active->before) : 1;
  Tolerance of_share = context.tolerances.of(into.experiment, elapsed);
  of_share.limit *= share;
  if (of_active->counts() && std::abs(of_elapsed->loss) > allowed(sides, elapsed, of_share))
    return std::nullopt;
  if (of_active->counts()) {
    const bool both_moved = of_elapsed->loss / of_active->loss > kMostOfPlacement * share;
    add_finding(into, Grade::note, active.name,
                fmt::format("{}, {} over all SMs ({}) {} -> {}: {}",
                            change_text(active.name, of_active->was(), of_active->is()),
                            both_moved ? "and" : "but", elapsed.name, of_elapsed->was(), of_elapsed->is(),
                            both_moved ? fmt::format("within the {:.3g} points allowed", of_elapsed->allowed)
                                       : "the last blocks ran on other SMs"));
  }
  return of_active->before;
}

/// Why no launch can have a row's occupancies, a clause; empty if one can.
std::string why_impossible(const Row& row) {
  const double most = std::min(100.0, row.theoretical_pct.value_or(100));
  const double achieved = row.achieved_pct.value_or(0);
  if (achieved - most >= kBeyondReach)
    return fmt::format("achieved_pct is {:.4g}, and the launch can reach {:.4g}", achieved, most);
  const double elapsed = row.achieved_elapsed_pct.value_or(0);
  if (elapsed > (1 + kSameWarpCycles) * achieved && elapsed - achieved >= kBeyondReach)
    return fmt::format("achieved_elapsed_pct is {:.4g}, and achieved_pct, which leaves idle SMs out, {:.4g}",
                       elapsed, achieved);
  return "";
}

/// False, with the reason, if a row has occupancies that no launch can have.
bool are_possible(const Sides& sides, ComparedCase& into) {
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      const std::string why = why_impossible(recorded->row);
      if (why.empty()) continue;
      add_finding(into, Grade::no_verdict, "achieved_pct",
                  fmt::format("the {} belongs to another launch: {}; record it again", side, why));
      return false;
    }
  }
  return true;
}

/// For a launch that needs less, only the occupancies themselves are judged: their reference has changed.
void judge_measured(const Sides& sides, const GateContext& context, LaunchChange launch_change,
                    ComparedCase& into) {
  if (!achieved_is_comparable(sides, context.tolerances.any_source, into) || !are_possible(sides, into))
    return;
  const Real held = reading_if_only_placement_differs(sides, context, into);
  for (const Quantity& quantity : measured_quantities()) {
    if (launch_change == LaunchChange::better && find_column(quantity.name) == nullptr) continue;
    const auto as_if_held = [&](const Row& row) {
      Row placed_alike = row;
      if (held) placed_alike.achieved_pct = held;
      return quantity.value(placed_alike);
    };
    const auto found = difference(sides, quantity, as_if_held, context, into.experiment);
    if (found && found->counts()) add_difference(sides, quantity, *found, launch_change, into);
    const double limit = context.tolerances.of(into.experiment, quantity).limit;
    if (found && !found->counts() && found->loss > kHiddenLimits * limit) {
      add_finding(into, Grade::note, quantity.name,
                  fmt::format("{}: {:.3g} {} worse is within the scatter of its readings, {:.3g}",
                              change_text(quantity.name, found->was(), found->is()), found->loss,
                              quantity.unit, found->allowed));
    }
    if (!found && median_of(sides.baseline, quantity.value)) {
      add_finding(into, Grade::no_verdict, quantity.name,
                  fmt::format("{} is missing in the candidate", quantity.name));
    }
  }
}

/// Why the times of two rows cannot decide; empty if they can.
std::string why_advisory(const Row& baseline, const Row& candidate) {
  if (baseline.time_status == "simulated") return "simulated";
  if (baseline.gpu_uuid.empty() || candidate.gpu_uuid.empty()) return "which GPU it was is not known";
  if (baseline.gpu_uuid != candidate.gpu_uuid) return "not of the same GPU";
  try {
    const auto apart = parse_iso_time(candidate.recorded_at) - parse_iso_time(baseline.recorded_at);
    return std::chrono::abs(apart) > std::chrono::seconds(kComparableSeconds)
               ? "recorded more than an hour apart"
               : "";
  } catch (const InputError&) {
    return "not known to be recorded within an hour";
  }
}

/// Whether times are unstable in the candidate and much less so in the baseline.
bool has_become_unstable(const RecordedCase& before, const RecordedCase& now) {
  return is_unstable(now.row) &&
         now.row.time_spread_pct.value_or(0) >
             time_quantity().tolerance.spreads * before.row.time_spread_pct.value_or(0);
}

/// The pairs whose times can be compared.
Sides steady_pairs(const Sides& sides) {
  Sides steady;
  for (std::size_t i = 0; i < sides.baseline.size(); ++i) {
    const RecordedCase& before = *sides.baseline[i];
    const RecordedCase& now = *sides.candidate[i];
    if (is_unstable(before.row) || has_become_unstable(before, now)) continue;
    steady.baseline.push_back(&before);
    steady.candidate.push_back(&now);
  }
  return steady;
}

/// Why times are not compared, and the grade of that; empty if they are.
std::optional<std::pair<Grade, std::string>> why_no_times(const Sides& sides, const Sides& steady) {
  const Row& row = sides.baseline.front()->row;
  // The program decides how often it makes a launch.
  const Grade lack = of_a_program(row) ? Grade::note : Grade::no_verdict;
  if (steady.baseline.empty()) {
    // Such a case varies by itself, which casts no doubt on the candidate.
    const bool before =
        std::ranges::any_of(sides.baseline, [](const auto* each) { return is_unstable(each->row); });
    return std::pair(before ? Grade::note : lack,
                     fmt::format("times are unstable in the {}", before ? "baseline" : "candidate"));
  }
  for (const auto& [side, runs] : named(steady)) {
    for (const RecordedCase* recorded : *runs) {
      const std::int64_t launches = recorded->row.repetitions.value_or(0);
      if (launches < kFewestLaunches)
        return std::pair(lack, fmt::format("{} in the {} {} too few; {} are needed",
                                           counted(launches, "timed launch", "es"), side,
                                           launches == 1 ? "is" : "are", kFewestLaunches));
    }
  }
  return std::nullopt;
}

void judge_time(const Sides& sides, const GateContext& context, ComparedCase& into) {
  const std::string advisory =
      context.paired ? "" : why_advisory(sides.baseline.front()->row, sides.candidate.front()->row);
  const Sides steady = steady_pairs(sides);
  if (const auto reason = why_no_times(sides, steady)) {
    if (advisory.empty()) add_finding(into, reason->first, "time_us", reason->second);
    return;
  }
  const auto pairs = std::ssize(steady.baseline);
  const Quantity& quantity = pairs >= kFewestPairs ? paired_time_quantity() : time_quantity();
  const auto found = difference(steady, quantity, quantity.value, context, into.experiment);
  if (!found) {
    const bool is_gone =
        median_of(steady.baseline, quantity.value) && !median_of(steady.candidate, quantity.value);
    const bool is_program = of_a_program(sides.baseline.front()->row);
    if (is_gone)
      add_finding(into, is_program ? Grade::note : Grade::no_verdict, "time_us", "no time in the candidate");
    return;
  }
  if (advisory.empty()) into.caught_time_pct = found->allowed;
  if (!found->counts()) return;
  const bool slower = found->loss > 0;
  const double change = std::abs(found->loss);
  const std::string was = found->was();
  const std::string is = found->is();
  std::string message =
      fmt::format("{}: {} % {}, {:.2g} % allowed", change_text("time_us", was, is),
                  change < 100 ? fmt::format("{:.2g}", change) : fmt::format("{:.0f}", change),
                  slower ? "slower" : "faster", found->allowed);
  if (context.paired) message += fmt::format(" over {} pairs", pairs);
  if (!advisory.empty()) message += "; advisory: " + advisory;
  if (slower && into.findings.empty()) message += "; occupancy, launch and resources are as before";
  const Grade grade = !slower ? Grade::note : advisory.empty() ? Grade::regression : Grade::advisory;
  into.findings.push_back({grade, message, "time_us", was, is, change});
}

/// Another launch is judged by the resources that it requests, without a test. Notes give the change of its occupancy
/// and time.
void tell_measured(const Sides& sides, ComparedCase& into) {
  const Row& first = sides.baseline.front()->row;
  const Row& second = sides.candidate.front()->row;
  const auto achieved = [](const Row& row) { return row.achieved_pct; };
  const Real reached = median_of(sides.baseline, achieved);
  if (const Real reaches = median_of(sides.candidate, achieved);
      reached && reaches && first.counters_status == second.counters_status)
    add_finding(into, Grade::note, "achieved_pct",
                fmt::format("{} ({:+.3g} points)",
                            change_text("achieved_pct", fmt::format("{:.4g}", *reached),
                                        fmt::format("{:.4g}", *reaches)),
                            *reaches - *reached));
  const Quantity& quantity = time_quantity();
  const Real before = median_of(sides.baseline, quantity.value);
  const Real now = median_of(sides.candidate, quantity.value);
  if (first.grid_blocks != second.grid_blocks || !before || !now || *before <= 0) return;
  const std::string was = fmt::format("{:.4g}", *before);
  const std::string is = fmt::format("{:.4g}", *now);
  const std::string advisory = why_advisory(first, second);
  add_finding(into, Grade::note, "time_us",
              fmt::format("{} ({:+.3g} %{})", change_text("time_us", was, is), 100 * (*now / *before - 1),
                          advisory.empty() ? "" : "; advisory: " + advisory));
}

void apply_rules(const Sides& sides, const GateContext& context, ComparedCase& into) {
  if (!have_answers(sides, into)) return;
  if (!same_machine(sides, into)) return;
  const bool right = right_results(sides, into);
  if (!is_one_launch(sides, context, into)) return;
  const LaunchChange launch_change = compare_launches(sides, context, into);
  if (launch_change == LaunchChange::other && right) tell_measured(sides, into);
  if (launch_change == LaunchChange::other || !right) return;
  if (was_never_launched(sides)) {
    into.compared = std::ranges::any_of(
        context.exact, [](const Column* column) { return column->gate == GateRule::lower_is_better; });
    return;
  }
  const Sides fit = fit_pairs(sides, into);
  if (fit.baseline.empty()) return;
  into.compared = true;
  judge_measured(fit, context, launch_change, into);
  const bool same_grid = fit.baseline.front()->row.grid_blocks == fit.candidate.front()->row.grid_blocks;
  if (same_grid) judge_time(fit, context, into);
}

}  // namespace

void judge(const Sides& sides, const GateContext& context, ComparedCase& into) {
  apply_rules(sides, context, into);
  // Within a grade in the order of the rules: causes before consequences, occupancy before time.
  std::ranges::stable_sort(into.findings, std::ranges::greater(), &GateFinding::grade);
}

}  // namespace occbench
