// Replays `occbench sweep --fastest` on recorded tables: race_replay FILE.csv... [--repetitions N]
//
// A table is the rows and samples of a sweep that measured all. A launch is one of the recorded launches of its
// configuration, drawn at random. A line of CSV a repetition says what the race chose, how much slower that is than the
// fastest of the table (medians of the recorded launches), and what the race launched: a configuration that is made ready
// is launched once more than it is timed. The device time of the table is that of the launches that its rows count, and of two
// more of each.

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"
#include "record/csv.hpp"
#include "record/race.hpp"

namespace occbench {
namespace {

struct Recorded {
  std::string name;
  std::vector<int> places;    ///< of its values on the axes
  std::vector<double> times;  ///< microseconds; empty where it did not run
  double median_us = 0;
  double all_us = 0;  ///< of its launches: those that were timed, and two before them
  bool wrong = false;
};

std::vector<Recorded> read_table(const std::string& file) {
  std::map<std::string, std::vector<double>> times;
  for (const Sample& sample : read_samples(samples_beside(file))) {
    if (sample.quantity == "time_us") times[sample.case_name].push_back(sample.value);
  }
  std::map<std::string, std::map<std::string, int>> seen;
  std::vector<Recorded> table;
  for (const CaseRecord& record : read_case_records(file)) {
    if (record.times.status == TimeStatus::skipped) continue;
    Recorded& of = table.emplace_back();
    of.name = record.identity.name;
    of.wrong = record.check == Check::wrong;
    for (const auto& [key, value] : record.identity.parameters) {
      auto& values = seen[key];
      of.places.push_back(values.try_emplace(value, static_cast<int>(values.size())).first->second);
    }
    if (record.times.status != TimeStatus::failed) of.times = times[of.name];
    if (of.times.empty()) continue;
    of.median_us = median(of.times);
    of.all_us = of.median_us * static_cast<double>(record.times.repetitions.value_or(0) + 2);
  }
  return table;
}

class Replay final : public Racers {
 public:
  Replay(const std::vector<Recorded>& table, std::uint64_t seed) : table_(table), generator_(seed) {}

  std::vector<double> time(std::size_t number, std::size_t count) override {
    const std::vector<double>& recorded = table_[number].times;
    if (recorded.empty()) return {};
    launched.insert(number);
    std::vector<double> times;
    while (times.size() < count) times.push_back(recorded[generator_() % recorded.size()]);
    launches += count;
    make_ready(number);
    for (const double each : times) microseconds += each;
    return times;
  }
  bool is_right(std::size_t number) override {
    make_ready(number);
    microseconds += 2 * table_[number].median_us;
    return !table_[number].wrong;
  }
  void ruled_out(std::size_t, RaceOutcome, const std::string&) override {}
  bool must_stop() override {
    return false;
  }

  std::set<std::size_t> launched;
  std::size_t launches = 0;  ///< that were timed
  double microseconds = 0;   ///< of all launches

 private:
  void make_ready(std::size_t number) {
    if (last_ != number) microseconds += table_[number].median_us;
    last_ = number;
  }

  const std::vector<Recorded>& table_;
  std::optional<std::size_t> last_;
  std::mt19937_64 generator_;
};

void replay(const std::string& file, int repetitions) {
  const std::vector<Recorded> table = read_table(file);
  std::vector<std::vector<int>> places;
  const Recorded* best = nullptr;
  double all_us = 0;
  for (const Recorded& each : table) {
    places.push_back(each.places);
    if (each.times.empty()) continue;
    all_us += each.all_us;
    if (!each.wrong && (best == nullptr || each.median_us < best->median_us)) best = &each;
  }
  if (best == nullptr) throw InputError(file + ": no configuration ran with a right result");
  for (int seed = 1; seed <= repetitions; ++seed) {
    Replay racers(table, static_cast<std::uint64_t>(seed));
    const RaceResult result = race(places, racers, {}, static_cast<std::uint64_t>(seed));
    const Recorded& chosen = table[result.fastest.value()];
    fmt::print("{},{},{},{},{},{:.2f},{},{:.3f},{:.2f},{}\n", file, seed, table.size(),
               racers.launched.size(), racers.launches, 100 * racers.microseconds / all_us, chosen.name,
               chosen.median_us, 100 * (chosen.median_us / best->median_us - 1), result.as_fast.size());
  }
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  int repetitions = 10;
  try {
    if (const auto flag = std::ranges::find(words, "--repetitions"); flag != words.end()) {
      const auto number = flag + 1 == words.end()
                              ? std::nullopt
                              : occbench::read_number(std::string_view(flag[1]), 1, 1'000'000);
      if (!number) throw occbench::InputError("--repetitions needs a number from 1 to 1000000");
      repetitions = *number;
      words.erase(flag, flag + 2);
    }
    if (words.empty()) throw occbench::InputError("usage: race_replay FILE.csv... [--repetitions N]");
    fmt::print(
        "file,seed,configurations,launched,launches,device_time_pct,chosen,time_us,over_fastest_pct,as_"
        "fast\n");
    for (const std::string& file : words) occbench::replay(file, repetitions);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 64;
  }
  return 0;
}
