#include "harness/timeline_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

/// A predicted timeline in microseconds and percent.
class Predicted {
 public:
  Predicted(const Timeline* timeline, double sm_clock_mhz, double warp_slots)
      : timeline_(timeline), sm_clock_mhz_(sm_clock_mhz), warp_slots_(warp_slots) {}

  double duration_us() const {
    if (timeline_ == nullptr) return 0;
    return static_cast<double>(timeline_->warps.size()) * timeline_->step_cycles / sm_clock_mhz_;
  }

  std::optional<double> mean_pct(double start_us, double end_us) const {
    if (timeline_ == nullptr || end_us <= start_us) return std::nullopt;
    const double warps =
        warp_cycles_until(end_us * sm_clock_mhz_) - warp_cycles_until(start_us * sm_clock_mhz_);
    return 100 * warps / ((end_us - start_us) * sm_clock_mhz_ * warp_slots_);
  }

 private:
  double warp_cycles_until(double cycles) const {
    const std::vector<double>& warps = timeline_->warps;
    const double steps = std::min(cycles / timeline_->step_cycles, static_cast<double>(warps.size()));
    const auto whole = static_cast<std::size_t>(steps);
    double sum = 0;
    for (std::size_t i = 0; i < whole; ++i) sum += warps[i];
    if (whole < warps.size()) sum += warps[whole] * (steps - static_cast<double>(whole));
    return sum * timeline_->step_cycles;
  }

  const Timeline* timeline_;
  double sm_clock_mhz_;
  double warp_slots_;
};

/// Idle steps from the end of what was measured to that of what was predicted, as long as the longest before.
std::vector<ActivityStep> with_idle_until(std::vector<ActivityStep> steps, double end_us) {
  double longest_us = 0;
  for (const ActivityStep& step : steps) longest_us = std::max(longest_us, step.end_us - step.start_us);
  while (longest_us > 0 && steps.back().end_us < end_us) {
    const double start_us = steps.back().end_us;
    steps.push_back({start_us, std::min(end_us, start_us + longest_us), 0});
  }
  return steps;
}

std::string cell(const std::optional<double>& value) {
  return value ? real_text(*value) : "";
}

}  // namespace

std::filesystem::path case_file(const std::filesystem::path& folder, const CaseIdentity& of,
                                std::string_view kind) {
  constexpr std::string_view kAllowed = "._=+-";
  std::string name = fmt::format("{}.{}", of.experiment, of.name);
  for (char& letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || kAllowed.find(letter) != std::string_view::npos;
    if (!plain) letter = '_';
  }
  return folder / fmt::format("{}.{}.csv", name, kind);
}

std::string timeline_csv(const CaseIdentity& of, const Activity& measured, const Timeline* predicted,
                         double warp_slots) {
  const Predicted prediction(predicted, measured.sm_clock_mhz, warp_slots);
  std::string text = csv_record(std::vector<std::string>{"experiment", "case", "time_us", "active_warps_pct",
                                                         "predicted_active_warps_pct"});
  const auto add = [&](double time_us, std::optional<double> active, std::optional<double> predicted_pct) {
    text += csv_record(std::vector<std::string>{of.experiment, of.name, real_text(time_us), cell(active),
                                                cell(predicted_pct)});
  };
  const std::vector<ActivityStep> steps = with_idle_until(measured.steps, prediction.duration_us());
  for (const ActivityStep& step : steps) {
    add(step.start_us, step.active_warps_pct, prediction.mean_pct(step.start_us, step.end_us));
  }
  if (!steps.empty()) add(steps.back().end_us, 0, predicted == nullptr ? std::nullopt : std::optional(0.0));
  return text;
}

}  // namespace occbench
