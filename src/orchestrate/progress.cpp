#include "orchestrate/progress.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/ostream.h>

#include "files/output.hpp"
#include "occupancy/text.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::size_t kWidest = 56;
constexpr std::size_t kNarrowest = 24;

std::string name_of(const CaseRecord& record, std::size_t width) {
  // The end of a name distinguishes cases.
  return shortened(full_name(record.identity), width, width / 3);
}

std::string verdict(const CaseRecord& record) {
  if (!record.times.status) return "";
  if (*record.times.status != TimeStatus::ok) return std::string(to_string(*record.times.status));
  if (record.check == Check::wrong) return "wrong result";
  if (record.check == Check::lost_updates) return "lost updates";
  const std::optional<CountersStatus>& counters = record.readings.status;
  if (counters == CountersStatus::ok) return "ok";
  return fmt::format("ok, counters {}", counters ? to_string(*counters) : "");
}

Real theoretical_pct(const CaseRecord& record) {
  return record.theory ? Real(record.theory->theoretical_pct) : std::nullopt;
}

Real predicted_pct(const CaseRecord& record) {
  return record.prediction ? Real(record.prediction->predicted_pct) : std::nullopt;
}

/// Values reconstructed from the launch itself say nothing about predictions.
Real compared_pct(const CaseRecord& record) {
  return is_reconstructed_work(record.identity.work_source) ? std::nullopt : predicted_pct(record);
}

/// Mean of |value - achieved| over the cases that have both.
std::optional<double> mean_error(std::span<const CaseRecord> records, Real (*value_of)(const CaseRecord&),
                                 std::size_t& count) {
  double sum = 0;
  count = 0;
  for (const CaseRecord& record : records) {
    const Real& achieved = record.readings.counters.achieved_pct;
    const Real value = value_of(record);
    if (!achieved || !value) continue;
    sum += std::abs(*value - *achieved);
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

/// The first line of the note of a row without times.
std::string why_not_measured(const CaseRecord& record) {
  const bool is_without =
      record.times.status == TimeStatus::failed || record.times.status == TimeStatus::skipped;
  return is_without ? record.note.substr(0, record.note.find('\n')) : "";
}

}  // namespace

RowTable::RowTable(std::size_t name_width) : name_width_(std::clamp(name_width, kNarrowest, kWidest)) {}

std::string RowTable::header() const {
  return fmt::format("{:<{}} {:>8} {:>9} {:>13} {:>10} {:>6} {:>11} {:>6}  {}", "case", name_width_,
                     "theory %", "predict %", "range", "achieved %", "+-", "time us", "+- %", "status");
}

std::string RowTable::line(const CaseRecord& record) const {
  return fmt::format(
      "{:<{}} {:>8} {:>9} {:>13} {:>10} {:>6} {:>11} {:>6}  {}", name_of(record, name_width_), name_width_,
      number_or_dash(theoretical_pct(record), 2), number_or_dash(predicted_pct(record), 2),
      record.prediction ? to_string(record.prediction->interval) : "-",
      number_or_dash(record.readings.counters.achieved_pct, 2),
      number_or_dash(record.readings.achieved_spread_points, 2), number_or_dash(record.times.time_us, 2),
      number_or_dash(record.times.time_spread_pct, 2), verdict(record));
}

std::string agreement(std::span<const CaseRecord> records) {
  const auto is_simulated = [](const CaseRecord& each) {
    return each.readings.achieved_source == AchievedSource::simulated;
  };
  if (std::ranges::any_of(records, is_simulated)) return "";
  std::size_t count = 0;
  const std::optional<double> theory = mean_error(records, theoretical_pct, count);
  if (!theory) return "";
  std::string text =
      fmt::format("Theory is {:.2f} points from the counter on average ({} cases)", *theory, count);
  const std::optional<double> prediction = mean_error(records, compared_pct, count);
  if (prediction) text += fmt::format("; the prediction {:.2f} points ({} cases)", *prediction, count);
  return text + ".";
}

Progress::Progress(std::size_t total, std::size_t name_width, Console& console)
    : table_(name_width), console_(console), terminal_(isatty(STDOUT_FILENO) != 0), total_(total) {
  fmt::print(console_.out, "{:>9} {}\n", "", table_.header());
}

void Progress::add(const CaseRecord& record) {
  clear();
  ++done_;
  fmt::print(console_.out, "{:>9} {}\n", fmt::format("{}/{}", done_, total_), table_.line(record));
  if (const std::string why = why_not_measured(record); !why.empty())
    fmt::print(console_.out, "{:>9} {}\n", "", why);
  console_.out.flush();
}

void Progress::show(const std::string& running) {
  if (!terminal_) return;
  clear();
  // The first case of a binary waits until CUDA has started: too early for an estimate.
  constexpr std::size_t kEnough = 3;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double left = done_ < kEnough ? 0
                                      : elapsed / static_cast<double>(done_) *
                                            static_cast<double>(total_ - std::min(done_, total_));
  fmt::print(console_.out, "[{}/{}] {}: {:.0f} s{}", done_, total_, running, elapsed,
             done_ < kEnough ? "" : fmt::format(", about {:.0f} s left", left));
  console_.out.flush();
  shown_ = true;
}

void Progress::clear() {
  if (!std::exchange(shown_, false)) return;
  console_.out.flush();
  // Not through the stream, which lets no control character through to a terminal.
  write_all(STDOUT_FILENO, "\r\033[K");
}

}  // namespace occbench
