#include "record/race.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/case_record.hpp"

namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

/// Configurations whose times are drawn: a median each, and launches spread around it.
class DrawnRacers final : public Racers {
 public:
  DrawnRacers(std::vector<double> medians, double spread, std::uint64_t seed)
      : medians_(std::move(medians)), spread_(spread), generator_(seed) {}

  std::vector<double> time(std::size_t number, std::size_t launches) override {
    if (cannot.contains(number)) return {};
    std::vector<double> times;
    for (std::size_t i = 0; i < launches; ++i) {
      const double disturbed = std::bernoulli_distribution(0.01)(generator_) ? 1.3 : 1;
      times.push_back(medians_[number] * std::exp(std::normal_distribution(0.0, spread_)(generator_)) *
                      disturbed);
    }
    counts[number] += launches;
    total += launches;
    return times;
  }
  bool is_right(std::size_t number) override {
    ++asked[number];
    return !wrong.contains(number);
  }
  void ruled_out(std::size_t number, RaceOutcome outcome, const std::string& why) override {
    out[number] = race_note(outcome, why);
  }
  bool must_stop() override {
    return total >= most;
  }

  std::set<std::size_t> cannot;
  std::set<std::size_t> wrong;
  std::size_t most = 1'000'000;
  std::size_t total = 0;
  std::map<std::size_t, std::size_t> counts;
  std::map<std::size_t, int> asked;
  std::map<std::size_t, std::string> out;

 private:
  std::vector<double> medians_;
  double spread_;
  std::mt19937_64 generator_;
};

/// A grid of two axes, with the least time at one place.
struct Landscape {
  std::vector<std::vector<int>> places;
  std::vector<double> medians;
};
Landscape bowl(int side) {
  Landscape of;
  for (int x = 0; x < side; ++x) {
    for (int y = 0; y < side; ++y) {
      of.places.push_back({x, y});
      of.medians.push_back(100 + 3.0 * ((x - 5) * (x - 5) + (y - 7) * (y - 7)));
    }
  }
  return of;
}

TEST(Race, FindsTheFastestWithAFewLaunchesOfMost) {
  const Landscape of = bowl(20);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DrawnRacers racers(of.medians, 0.005, seed);
    const RaceResult result = race(of.places, racers, {}, seed);
    EXPECT_EQ(result.fastest, 5U * 20 + 7);
    EXPECT_EQ(racers.counts.size(), 400U);
    EXPECT_LT(racers.total, 400U * 3);
  }
}

TEST(Race, OfNearEqualsChoosesOneWithinOnePercentAndNamesTheOthers) {
  std::vector<std::vector<int>> places;
  std::vector<double> medians;
  for (int i = 0; i < 100; ++i) {
    places.push_back({i});
    medians.push_back(i < 10 ? 100 + 0.05 * i : 150);
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DrawnRacers racers(medians, 0.02, seed);
    const RaceResult result = race(places, racers, {}, seed);
    EXPECT_LT(medians[*result.fastest], 101);
    EXPECT_THAT(result.as_fast, Not(IsEmpty()));
    EXPECT_LE(racers.counts[*result.fastest], 96U + 6);
    EXPECT_LE(racers.total, 2 * 100U + 2 * 10 * 6 + 5 * 96);
  }
}

/// As the header says: 95 % intervals, several looks. The fastest is 2 % ahead of each of 50 others.
TEST(Race, SeldomRulesTheFastestOut) {
  std::vector<std::vector<int>> places;
  std::vector<double> medians(51, 102);
  medians[17] = 100;
  for (int i = 0; i < 51; ++i) places.push_back({i});
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    DrawnRacers racers(medians, 0.01, seed);
    race(places, racers, {}, seed);
    lost += racers.out.contains(17) ? 1 : 0;
  }
  EXPECT_LE(lost, 10);
}

TEST(Race, IsNotWonByAWrongResultWhichRulesNobodyOut) {
  const Landscape of = bowl(10);
  std::vector<double> medians = of.medians;
  medians[3] = 10;
  DrawnRacers racers(medians, 0.005, 1);
  racers.wrong = {3};
  racers.cannot = {0, 1};
  const RaceResult result = race(of.places, racers, {}, 1);
  EXPECT_EQ(result.fastest, 57U);
  EXPECT_EQ(racers.asked[3], 1);
  EXPECT_FALSE(racers.out.contains(0));
}

TEST(Race, ThatMustStopSaysWhatItDidNotReach) {
  const Landscape of = bowl(20);
  DrawnRacers racers(of.medians, 0.005, 1);
  racers.most = 200;
  const RaceResult result = race(of.places, racers, {}, 1);
  EXPECT_EQ(std::ranges::count_if(result.times, &std::vector<double>::empty),
            400 - std::ssize(racers.counts));
  // Neighbours of the fastest came first.
  EXPECT_LT(of.medians[*result.fastest], 103);
}

TEST(Race, IsAgainstTheFastestOfARunBefore) {
  DrawnRacers racers({100, 120}, 0.001, 1);
  const RaceResult result = race(std::vector<std::vector<int>>{{0}, {1}}, racers, 50, 1);
  EXPECT_EQ(result.fastest, std::nullopt);
  EXPECT_EQ(racers.out.size(), 2U);
}

CaseRecord noted(const std::string& note, TimeStatus status = TimeStatus::ok) {
  CaseRecord record;
  record.times.status = status;
  record.note = note;
  return record;
}

TEST(RaceOutcomes, AreReadFromTheNotesThatFilesHave) {
  EXPECT_EQ(race_outcome(noted("no work; left out: the same machine code, launch and arguments as a",
                               TimeStatus::skipped)),
            RaceOutcome::left_out);
  EXPECT_EQ(
      race_outcome(noted("no work; ruled out: a launch took 644 us, and the fastest configuration 50 us")),
      RaceOutcome::ruled_out_by_launches);
  EXPECT_EQ(
      race_outcome(noted("ruled out: 6 launches took at least 11 us, and the fastest configuration takes "
                         "at most 10 us (95 % intervals)")),
      RaceOutcome::ruled_out_by_intervals);
  EXPECT_EQ(race_outcome(noted("no work; not told from the fastest")), RaceOutcome::as_fast);
}

TEST(RaceOutcomes, AreNoOtherNotes) {
  EXPECT_EQ(race_outcome(noted("")), std::nullopt);
  EXPECT_EQ(race_outcome(noted("too many threads", TimeStatus::skipped)), std::nullopt);
  EXPECT_EQ(race_outcome(noted("timed twice: throttled at first; its 95 % intervals")), std::nullopt);
  EXPECT_EQ(race_outcome(noted("left out: achieved_pct = 1e+300 is out of range")), std::nullopt);
  EXPECT_EQ(race_outcome(noted("ruled out: a launch took 644 us; left out: power_w = -1 is out of range")),
            RaceOutcome::ruled_out_by_launches);
}

TEST(RaceOutcomes, AreReadAsTheyWereWritten) {
  for (const RaceOutcome outcome : {RaceOutcome::left_out, RaceOutcome::ruled_out_by_launches,
                                    RaceOutcome::ruled_out_by_intervals, RaceOutcome::as_fast}) {
    CaseRecord record =
        noted("no work", outcome == RaceOutcome::left_out ? TimeStatus::skipped : TimeStatus::ok);
    add_note(record.note, race_note(outcome, "slower"));
    EXPECT_EQ(race_outcome(record), outcome);
  }
}

/// Conover's table, and the definition: so many of all samples have the median in the interval.
TEST(MedianInterval, CoversTheMedianInAtLeast95Of100Samples) {
  EXPECT_EQ(median_interval(std::vector<double>{3, 1, 2, 6, 5, 4}), (std::pair<double, double>{1, 6}));
  EXPECT_EQ(median_interval(std::vector<double>{9, 8, 7, 6, 5, 4, 3, 2, 1}),
            (std::pair<double, double>{2, 8}));
  std::mt19937_64 generator(1);
  std::lognormal_distribution<double> skewed(0, 1);
  for (const std::size_t size : {6, 12, 25, 96}) {
    int covered = 0;
    for (int sample = 0; sample < 4000; ++sample) {
      std::vector<double> readings(size);
      for (double& reading : readings) reading = skewed(generator);
      const auto [low, high] = median_interval(readings);
      covered += low <= 1 && 1 <= high ? 1 : 0;
    }
    EXPECT_GE(covered, 4000 * 0.943);
    EXPECT_LE(covered, 4000 * 0.985);
  }
}

}  // namespace
}  // namespace occbench
