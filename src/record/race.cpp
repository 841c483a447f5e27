#include "record/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/core.h>

#include "occupancy/statistics.hpp"
#include "record/case_record.hpp"

namespace occbench {
namespace {

// These words are in users' files.
constexpr std::string_view kLeftOut = "left out: ";
constexpr std::string_view kRuledOut = "ruled out: ";
constexpr std::string_view kByIntervals = " (95 % intervals)";
constexpr std::string_view kAsFast = "not told from the fastest";

constexpr double kNever = std::numeric_limits<double>::infinity();

/// One launch is enough if it takes this many times the fastest. A disturbance rarely makes a launch so much longer.
constexpr double kHopeless = 1.5;
/// Two launches cannot resolve less than the spread of unstable times, or than events can (harness/measure_case.cpp).
constexpr double kSpread = 0.05;
constexpr double kResolutionUs = 0.5;
/// The fewest that give a 95 % interval: 2 x 0.5^6 = 3 %.
constexpr std::size_t kTurn = 6;
constexpr std::size_t kMostLaunches = 96;
/// Configurations nearer to one another count as equally fast.
constexpr double kIndifference = 0.01;
/// Fewest challengers of the fastest in a round. Their number is halved down to this (successive halving: Karnin,
/// Koren and Somekh, ICML 2013).
constexpr std::size_t kFewestPlaces = 4;
/// Random configurations before neighbours are followed: with 20 of them one is among the best 14 % with 95 %.
constexpr std::size_t kFirstSample = 20;

class Field {
 public:
  Field(std::span<const std::vector<int>> places, Racers& racers, std::optional<double> known_us,
        std::uint64_t seed)
      : places_(places),
        racers_(racers),
        known_us_(known_us.value_or(kNever)),
        runners_(places.size()),
        estimates_(places.size(), kNever) {
    for (std::size_t i = 0; i < places.size(); ++i) waiting_.push_back(i);
    // The same order on every machine, which std::shuffle does not promise.
    std::mt19937_64 generator(seed);
    for (std::size_t left = waiting_.size(); left > 1; --left)
      std::swap(waiting_[left - 1], waiting_[generator() % left]);
  }

  RaceResult run() {
    while (!waiting_.empty() && !racers_.must_stop()) first_launches(next());
    rule_out([&](const Runner& each) { return fastest_launch(each) * (1 - kSpread) - kResolutionUs; });
    while (!is_decided() && !racers_.must_stop()) take_turns();
    return result();
  }

 private:
  struct Runner {
    std::vector<double> times;
    bool in = false;
    std::optional<bool> right;
  };

  static double fastest_launch(const Runner& runner) {
    return *std::ranges::min_element(runner.times);
  }
  static double median_of(const Runner& runner) {
    return median(runner.times);
  }
  /// A configuration's time is hardly above this.
  static double upper(const Runner& runner) {
    return runner.times.size() < kTurn ? *std::ranges::max_element(runner.times)
                                       : median_interval(runner.times).second;
  }
  static double lower(const Runner& runner) {
    return runner.times.size() < kTurn ? fastest_launch(runner) : median_interval(runner.times).first;
  }

  std::size_t next() {
    auto chosen = waiting_.end() - 1;
    if (launched_ >= kFirstSample) {
      const auto likely =
          std::ranges::min_element(waiting_, {}, [&](std::size_t number) { return estimates_[number]; });
      if (estimates_[*likely] < kNever) chosen = likely;
    }
    const std::size_t number = *chosen;
    waiting_.erase(chosen);
    ++launched_;
    return number;
  }

  void first_launches(std::size_t number) {
    Runner& runner = runners_[number];
    runner.times = racers_.time(number, 1);
    if (runner.times.empty()) return;
    runner.in = true;
    const double best = best_upper();
    if (runner.times.front() > kHopeless * best) {
      put_out(number, RaceOutcome::ruled_out_by_launches,
              fmt::format("a launch took {:.4g} us, and the fastest configuration {:.4g} us",
                          runner.times.front(), best));
    } else {
      launch(number, 1);
      if (runner.in && median_of(runner) < best_us_) note_best(number);
    }
    if (!runner.times.empty()) tell_neighbours(number, fastest_launch(runner));
  }

  void tell_neighbours(std::size_t of, double time) {
    for (const std::size_t number : waiting_) {
      std::size_t differences = 0;
      for (std::size_t axis = 0; axis < places_[of].size(); ++axis)
        differences += places_[of][axis] != places_[number][axis] ? 1 : 0;
      if (differences == 1) estimates_[number] = std::min(estimates_[number], time);
    }
  }

  void launch(std::size_t number, std::size_t launches) {
    Runner& runner = runners_[number];
    const std::vector<double> more = racers_.time(number, launches);
    if (more.empty()) runner.in = false;
    runner.times.insert(runner.times.end(), more.begin(), more.end());
  }

  /// A configuration with a wrong result leaves before it rules others out.
  bool is_right(std::size_t number) {
    Runner& runner = runners_[number];
    if (!runner.right) runner.right = racers_.is_right(number);
    if (!*runner.right) runner.in = false;
    return *runner.right;
  }

  void note_best(std::size_t number) {
    if (!is_right(number)) return;
    best_us_ = median_of(runners_[number]);
    best_upper_us_ = upper(runners_[number]);
  }

  double best_upper() const {
    return std::min(known_us_, best_upper_us_);
  }

  std::vector<std::size_t> racing() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (runners_[i].in) numbers.push_back(i);
    }
    std::ranges::sort(numbers, {}, [&](std::size_t number) { return median_of(runners_[number]); });
    return numbers;
  }

  /// Finds the fastest configuration with a correct result, by all its launches.
  void find_best() {
    best_us_ = best_upper_us_ = kNever;
    for (const std::size_t number : racing()) {
      if (!is_right(number)) continue;
      note_best(number);
      return;
    }
  }

  void put_out(std::size_t number, RaceOutcome outcome, const std::string& why) {
    runners_[number].in = false;
    racers_.ruled_out(number, outcome, why);
  }

  /// Rules out all whose least time is above the fastest.
  template <typename Least>
  void rule_out(const Least& least) {
    find_best();
    const double best = best_upper();
    for (const std::size_t number : racing()) {
      const double at_least = least(runners_[number]);
      if (at_least > best)
        put_out(number,
                runners_[number].times.size() < kTurn ? RaceOutcome::ruled_out_by_launches
                                                      : RaceOutcome::ruled_out_by_intervals,
                fmt::format("{} launches took at least {:.4g} us, and the fastest configuration "
                            "takes at most {:.4g} us",
                            runners_[number].times.size(), at_least, best));
    }
  }

  /// Whether it cannot be faster than the fastest by more than kIndifference.
  bool is_told(const Runner& runner) const {
    return runner.times.size() >= kTurn && lower(runner) >= (1 - kIndifference) * best_upper();
  }

  bool is_decided() const {
    const std::vector<std::size_t> left = racing();
    if (left.empty() || (left.size() == 1 && known_us_ == kNever)) return true;
    if (runners_[left.front()].times.size() >= kMostLaunches) return true;
    return std::ranges::all_of(left, [&](std::size_t number) { return is_told(runners_[number]); });
  }

  /// The fastest, and the others that may still be faster: at most the more promising half of the previous round.
  std::vector<std::size_t> next_turn() {
    std::vector<std::size_t> numbers = racing();
    const std::size_t fastest = numbers.front();
    std::erase_if(numbers,
                  [&](std::size_t number) { return number == fastest || is_told(runners_[number]); });
    std::ranges::sort(numbers, {}, [&](std::size_t number) { return lower(runners_[number]); });
    numbers.resize(std::min(numbers.size(), places_in_turn_));
    places_in_turn_ = std::max(kFewestPlaces, numbers.size() / 2);
    numbers.insert(numbers.begin(), fastest);
    return numbers;
  }

  void take_turns() {
    std::vector<std::size_t> order = next_turn();
    // Back and forth, so that a GPU that warms up does not favour any.
    if (std::exchange(backwards_, !backwards_)) std::ranges::reverse(order);
    for (const std::size_t number : order) {
      if (racers_.must_stop()) return;
      launch(number, kTurn - runners_[number].times.size() % kTurn);
    }
    rule_out([](const Runner& each) { return lower(each); });
  }

  RaceResult result() {
    find_best();
    RaceResult result;
    for (const std::size_t number : racing()) {
      if (!result.fastest) {
        result.fastest = number;
      } else {
        result.as_fast.push_back(number);
      }
    }
    for (Runner& runner : runners_) result.times.push_back(std::move(runner.times));
    return result;
  }

  std::span<const std::vector<int>> places_;
  Racers& racers_;
  double known_us_;
  std::vector<Runner> runners_;
  std::vector<double> estimates_;     ///< fastest launch of a neighbour
  std::vector<std::size_t> waiting_;  ///< not launched yet
  std::size_t launched_ = 0;
  double best_us_ = kNever;
  double best_upper_us_ = kNever;
  std::size_t places_in_turn_ = std::numeric_limits<std::size_t>::max();
  bool backwards_ = false;
};

/// @param note  one of those that add_note() joined
std::optional<RaceOutcome> outcome_of(std::string_view note) {
  if (note.starts_with(kLeftOut)) return RaceOutcome::left_out;
  if (note.starts_with(kRuledOut))
    return note.ends_with(kByIntervals) ? RaceOutcome::ruled_out_by_intervals
                                        : RaceOutcome::ruled_out_by_launches;
  return note == kAsFast ? std::optional(RaceOutcome::as_fast) : std::nullopt;
}

}  // namespace

std::string race_note(RaceOutcome outcome, std::string_view why) {
  switch (outcome) {
    case RaceOutcome::left_out:
      return fmt::format("{}{}", kLeftOut, why);
    case RaceOutcome::ruled_out_by_launches:
      return fmt::format("{}{}", kRuledOut, why);
    case RaceOutcome::ruled_out_by_intervals:
      return fmt::format("{}{}{}", kRuledOut, why, kByIntervals);
    case RaceOutcome::as_fast:
      break;
  }
  return std::string(kAsFast);
}

std::optional<RaceOutcome> race_outcome(const CaseRecord& record) {
  std::string_view rest = record.note;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kNoteSeparator), rest.size());
    const std::optional<RaceOutcome> outcome = outcome_of(rest.substr(0, end));
    // Older files have "left out: " also before a reading of a case that was launched.
    const bool was_launched = record.times.status != TimeStatus::skipped;
    if (outcome && was_launched == (outcome != RaceOutcome::left_out)) return outcome;
    rest.remove_prefix(std::min(end + kNoteSeparator.size(), rest.size()));
  }
  return std::nullopt;
}

bool is_ruled_out(std::optional<RaceOutcome> outcome) {
  return outcome == RaceOutcome::ruled_out_by_launches || outcome == RaceOutcome::ruled_out_by_intervals;
}

RaceResult race(std::span<const std::vector<int>> places, Racers& racers, std::optional<double> known_us,
                std::uint64_t seed) {
  return Field(places, racers, known_us, seed).run();
}

std::pair<double, double> median_interval(std::span<const double> readings) {
  std::vector<double> sorted(readings.begin(), readings.end());
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  // The smallest count for which at most so many readings lie below the median with more than 2.5 % probability.
  double chance = std::pow(0.5, count);
  double below = chance;
  std::size_t out = 0;
  while (below <= 0.025) {
    chance *= (count - static_cast<double>(out)) / (static_cast<double>(out) + 1);
    below += chance;
    ++out;
  }
  out = std::max<std::size_t>(out, 1);
  return {sorted[out - 1], sorted[sorted.size() - out]};
}

}  // namespace occbench
