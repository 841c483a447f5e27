#include "cli/shard.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// About how long a case takes beside its launches: the mean of 799 cases on an H200.
constexpr double kSecondsOfCase = 0.13;
/// Launches of a case: checked, timed and counted.
constexpr double kLaunchesOfCase = 45;
constexpr double kCyclesPerSecond = 1.7e9;

constexpr int kMostShards = 100'000;

int number_of(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

struct ExpectedCase {
  double seconds;
  std::string name;
};

}  // namespace

double expected_seconds(const CaseRecord& record) {
  if (record.times.status && record.times.status != TimeStatus::ok) return 0;
  double cycles = 0;
  if (record.identity.work && record.theory && record.theory->waves)
    cycles = record.identity.work->cycles * std::ceil(*record.theory->waves);
  return kSecondsOfCase + kLaunchesOfCase * cycles / kCyclesPerSecond;
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string_view whole = text;
  Shard shard{0, 0};
  if (slash != std::string::npos)
    shard = {number_of(whole.substr(0, slash)), number_of(whole.substr(slash + 1))};
  if (shard.index < 1 || shard.index > shard.count || shard.count > kMostShards) {
    throw InputError(
        fmt::format("--shard {}: write I/N with 1 <= I <= N <= {}, as in 3/16", text, kMostShards));
  }
  return shard;
}

std::set<std::string> cases_of_shard(std::span<const CaseRecord> cases, Shard shard) {
  std::vector<ExpectedCase> expected;
  for (const CaseRecord& each : cases) expected.push_back({expected_seconds(each), full_name(each.identity)});
  std::ranges::sort(expected, [](const ExpectedCase& a, const ExpectedCase& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
  });
  std::vector<double> seconds(static_cast<std::size_t>(shard.count), 0);
  std::set<std::string> names;
  for (const ExpectedCase& each : expected) {
    const auto least = std::ranges::min_element(seconds);
    // A case that cannot be launched takes no time, and must not all go to one shard.
    *least += std::max(each.seconds, 1e-3);
    if (least - seconds.begin() == shard.index - 1) names.insert(each.name);
  }
  if (names.empty()) {
    throw InputError(fmt::format("--shard {}/{} has no case: there are {}, so use at most that many shards",
                                 shard.index, shard.count, cases.size()));
  }
  return names;
}

std::string filter_of_names(const std::set<std::string>& names) {
  std::string filter;
  for (const std::string& name : names) {
    filter += filter.empty() ? "^(" : "|";
    for (const char character : name) {
      if (std::string_view(".[]{}()\\*+?|^$").find(character) != std::string_view::npos) filter += '\\';
      filter += character;
    }
  }
  return filter + ")$";
}

}  // namespace occbench
