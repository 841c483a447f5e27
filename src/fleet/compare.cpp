#include "fleet/compare.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

/// Rows from before the column memory_bus_bits do not have it; that does not distinguish models.
void require_one_model(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::map<std::string, std::size_t> models;
  std::map<std::pair<std::string, std::string>, std::size_t> names;
  std::set<std::string> buses;
  for (const std::size_t number : gpus) {
    const MeasuredGpu& gpu = rows.gpus[number];
    ++names[{gpu.model, gpu.compute_capability}];
    if (!gpu.memory_bus_bits.empty()) buses.insert(gpu.memory_bus_bits);
    ++models[fmt::format(
        "{} ({}{})", gpu.model, gpu.compute_capability,
        gpu.memory_bus_bits.empty() ? "" : ", memory bus of " + gpu.memory_bus_bits + " bits")];
  }
  if (names.size() < 2 && buses.size() < 2) return;
  const auto told =
      mapped(models, [](const auto& each) { return fmt::format("{}: {}", each.first, each.second); });
  throw InputError("the rows are of several models ({}); peers are of one model: choose it with --model",
                   fmt::join(told, "; "));
}

/// The most frequent value; of equally frequent ones the first in order.
std::string most_frequent(const FleetRows& rows, std::span<const std::size_t> gpus,
                          std::string MeasuredGpu::*value) {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t gpu : gpus) ++counts[rows.gpus[gpu].*value];
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

/// Numbers of the cases that at least half of some GPUs have.
std::vector<std::size_t> usual_cases(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::vector<std::size_t> usual;
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    const auto having =
        std::ranges::count_if(gpus, [&](std::size_t gpu) { return rows.gpus[gpu].reading(number).present; });
    if (2 * having >= std::ssize(gpus)) usual.push_back(number);
  }
  return usual;
}

std::size_t cases_of(const MeasuredGpu& gpu) {
  return static_cast<std::size_t>(std::ranges::count_if(gpu.readings, &CaseReading::present));
}

/// Cases with data: a time, or a reason why they have none.
std::size_t cases_read(const MeasuredGpu& gpu) {
  return static_cast<std::size_t>(std::ranges::count_if(gpu.readings, [](const CaseReading& each) {
    return each.present && (each.failed || (!std::isnan(each.time_us) && !std::isnan(each.sm_clock_mhz)));
  }));
}

/// Why a GPU is not compared; empty if it can be. @param usual  cases that GPUs have
std::string why_not(const MeasuredGpu& gpu, const std::string& commit, std::span<const std::size_t> usual,
                    std::size_t peers) {
  constexpr std::string_view kRemedy =
      "record the same cases by the same build, or compare what two runs share: occbench gate "
      "FEWER_CASES.csv MORE_CASES.csv";
  if (gpu.commit != commit)
    return fmt::format("its rows are of commit {}, those of most of its peers of {}: the code may differ; {}",
                       gpu.commit, commit, kRemedy);
  const auto has =
      std::ranges::count_if(usual, [&](std::size_t number) { return gpu.reading(number).present; });
  if (2 * has < std::ssize(usual) || has == 0)
    return fmt::format("it has {} of {} cases that most GPUs have; {}", has, usual.size(), kRemedy);
  if (2 * cases_read(gpu) < cases_of(gpu))
    return fmt::format("{} of its {} cases have a time and a measured clock", cases_read(gpu), cases_of(gpu));
  if (peers < kFewestPeers)
    return fmt::format(
        "there {} to compare, and a comparison needs {}: give more with --baseline, or --since with two "
        "earlier runs of each GPU by the same build",
        peers == 1 ? "is 1 GPU" : fmt::format("are {} GPUs", peers), kFewestPeers);
  return "";
}

/// A GPU's value of a quantity, and the GPU that gets the finding.
struct Value {
  ComparedGpu* of;  ///< nullptr: of the baseline
  Deviation deviation;
};

/// Whether values are two halves, each narrower than the gap between them: then no majority says which is right.
bool are_two_halves(std::vector<double> values, double named_from) {
  if (values.size() % 2 != 0) return false;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double apart = values[half] - values[half - 1];
  return apart > 2 * named_from && apart > values[half - 1] - values.front() &&
         apart > values.back() - values[half];
}

/// @param numbers  of the peers
/// @param values   the same, minus the peers' median
/// @returns the distance from which on a GPU is named
std::optional<double> judge(const FleetRows& rows, FleetQuantity quantity, const std::vector<double>& numbers,
                            const std::vector<Value>& values) {
  if (numbers.size() < kFewestPeers) return std::nullopt;
  const FleetQuantityFacts& facts = facts_of(quantity);
  const double typical_cases =
      median(mapped(values, [](const Value& each) { return static_cast<double>(each.deviation.cases); }));
  const Middle middle = middle_of(numbers, facts.named_from);
  const auto is_out = [&](double value) { return std::abs(value) > middle.named_from; };
  if (2 * std::ranges::count_if(numbers, is_out) >= std::ssize(numbers) ||
      are_two_halves(numbers, facts.named_from)) {
    for (const Value& each : values) {
      if (each.of != nullptr && each.of->no_verdict.empty())
        each.of->no_verdict = fmt::format(
            "half and more differ in {}, and no majority says which: give a --baseline of healthy GPUs",
            facts.name);
    }
    return middle.named_from;
  }
  for (const Value& each : values) {
    const double distance = each.deviation.value;
    // A median of far fewer cases is less certain.
    if (each.of == nullptr || 2 * static_cast<double>(each.deviation.cases) < typical_cases ||
        std::abs(distance) <= middle.named_from)
      continue;
    each.of->findings.push_back(
        {.cause = std::string(facts.name),
         .size = distance,
         .size_unit = std::string(facts.unit),
         .named_from = middle.named_from,
         .note = distance > 0 && quantity != FleetQuantity::counters,
         .sentence = fmt::format(fmt::runtime(distance < 0 ? facts.below : facts.above), std::abs(distance)),
         .worst_case = rows.cases[each.deviation.worst].name});
  }
  return middle.named_from;
}

/// Counters depend on the number of SMs: a GPU with another number is compared in all but counters.
bool says(const FleetRows& rows, std::size_t gpu, FleetQuantity quantity, const std::string& usual_sms) {
  return quantity != FleetQuantity::counters || rows.gpus[gpu].sm_count == usual_sms;
}

/// Meaning of an event in most of a GPU's cases if the peers have it as well.
enum class Shared : unsigned char { usual, note, fault };

/// Something that happens in a case or does not.
struct Event {
  std::string cause;
  std::string words;  ///< "throttle reason sw_power_cap"
  std::function<bool(const CaseReading&, const FleetCase&)> happens;
  Shared shared = Shared::usual;
};

/// Heat, the power supply and the slowdowns for either. A power cap is a setting.
bool is_slowdown(const std::string& reason) {
  return reason.ends_with("slowdown");
}

std::vector<Event> events_of(const FleetRows& rows) {
  std::vector<Event> events = {
      {"other_processes", "another process on the GPU",
       [](const CaseReading& reading, const FleetCase&) { return reading.other_processes > 0; },
       Shared::note},
      {"counters_missing", "counters that could not be read",
       [](const CaseReading& reading, const FleetCase&) { return reading.counters_missing; }},
      {"idle_sm", "an SM without work",
       [](const CaseReading& reading, const FleetCase& of) {
         return of.on_all_sms && reading.cycles_min == 0;
       }},
  };
  for (std::size_t number = 0; number < rows.reasons.size(); ++number) {
    events.push_back({"throttle_" + rows.reasons[number], "throttle reason " + rows.reasons[number],
                      [number](const CaseReading& reading, const FleetCase&) {
                        return (reading.throttle_reasons >> number & 1U) != 0;
                      },
                      is_slowdown(rows.reasons[number]) ? Shared::fault : Shared::usual});
  }
  return events;
}

/// How often an event happens on a GPU.
struct Count {
  std::size_t happened = 0;
  std::size_t cases = 0;

  double pct() const {
    return cases == 0 ? 0 : 100 * static_cast<double>(happened) / static_cast<double>(cases);
  }
};

Count count_of(const FleetRows& rows, const MeasuredGpu& gpu, const Event& event) {
  Count count;
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    const CaseReading& reading = gpu.reading(number);
    if (!reading.present) continue;
    ++count.cases;
    if (event.happens(reading, rows.cases[number])) ++count.happened;
  }
  return count;
}

/// Excess over the peers' share of cases, in % of a GPU's cases. In 71 recorded smoke runs nothing happened in any
/// case.
constexpr double kEventsNamedFrom = 5;
/// Share of a GPU's cases, in %, independent of its peers.
constexpr double kSharedNamedFrom = 50;
/// One or two cases may have been disturbed by anything.
constexpr std::size_t kFewestEvents = 3;

/// A column that should not differ between peers.
struct Attribute {
  const char* column;
  const char* words;  ///< before the value
  const char* unit;   ///< after it
  std::string MeasuredGpu::*value;
  bool note;
};

constexpr Attribute kAttributes[] = {
    {"sm_count", "", " SMs", &MeasuredGpu::sm_count, false},
    {"memory_clock_mhz", "memory clock ", " MHz", &MeasuredGpu::memory_clock_mhz, false},
    {"gpu_state", "settings ", "", &MeasuredGpu::gpu_settings, false},
    {"driver", "driver ", "", &MeasuredGpu::driver, true},
};

/// The value of more than half of those that have one; empty if there is none.
std::string usual_value(const FleetRows& rows, std::span<const std::size_t> gpus,
                        std::string MeasuredGpu::*value) {
  std::map<std::string, std::size_t> counts;
  std::size_t all = 0;
  for (const std::size_t gpu : gpus) {
    const std::string& text = rows.gpus[gpu].*value;
    if (text.empty()) continue;
    ++counts[text];
    ++all;
  }
  for (const auto& [text, count] : counts) {
    if (2 * count > all) return text;
  }
  return "";
}

double difference(const std::string& value, const std::string& usual) {
  const auto is_number = [](const std::string& text) {
    return text.find_first_not_of("0123456789") == std::string::npos && text.size() < 10;
  };
  return is_number(value) && is_number(usual) ? std::stod(value) - std::stod(usual) : 0;
}

/// Below this a launch's overhead is a good part of its time. Adds of 5 us differed by 7 % between twenty runs of one
/// H200.
constexpr double kShortestTime_us = 50;

/// A single case says nothing about a GPU: something else may have disturbed it.
constexpr std::size_t kFewestCases = 2;

/// Logarithms of a reading in %, and points: differences are taken between these.
struct Levels {
  double time = kNoReading;
  double clock = kNoReading;
  double longest = kNoReading;  ///< cycles of the SM with most
  double achieved = kNoReading;
};

double percent_log(double value) {
  return value > 0 ? 100 * std::log(value) : kNoReading;
}

Levels levels_of(const CaseReading& reading) {
  return {percent_log(reading.time_us), percent_log(reading.sm_clock_mhz), percent_log(reading.cycles_max),
          reading.achieved_elapsed_pct};
}

/// Subtracts the peers' median from each value; the peers are the first GPUs. Nothing is left if fewer than two have
/// a value.
void subtract_median(std::vector<Levels>& levels, std::size_t peers, double Levels::*member) {
  std::vector<double> there;
  there.reserve(peers);
  for (const Levels& each : std::span(levels).first(peers)) {
    if (!std::isnan(each.*member)) there.push_back(each.*member);
  }
  const double middle = there.size() < 2 ? kNoReading : median(there);
  for (Levels& each : levels) each.*member -= middle;
}

/// Slower by this, minus the part that the clock explains. A case that follows the SM clock only in part gets the
/// benefit of it.
double beyond_clock(const Levels& difference) {
  const double in_cycles = difference.time + difference.clock;
  if (std::isnan(in_cycles)) return difference.time;
  return std::abs(in_cycles) < std::abs(difference.time) ? in_cycles : difference.time;
}

/// A case's value of a quantity, from a GPU's differences to its peers; above 0 = faster, higher.
double said_of(FleetQuantity quantity, const FleetCase& by, const Levels& difference,
               double typical_time_us) {
  const bool is_long = typical_time_us >= kShortestTime_us;
  const bool tells_of_sms = by.bound == BoundBy::sm && by.on_all_sms && is_long;
  switch (quantity) {
    case FleetQuantity::sm_clock:
      return difference.clock;
    case FleetQuantity::gpc_clock:
      // Time in cycles of the mean clock, minus the cycles that the longest SM counted by its own clock.
      return tells_of_sms ? difference.longest - difference.time - difference.clock : kNoReading;
    case FleetQuantity::sm_cycles:
      // If cycles were not counted, time in cycles of the mean clock: it also shows a slower GPC.
      return !tells_of_sms                    ? kNoReading
             : std::isnan(difference.longest) ? -difference.time - difference.clock
                                              : -difference.longest;
    case FleetQuantity::bandwidth:
      return by.bound == BoundBy::memory ? -beyond_clock(difference) : kNoReading;
    case FleetQuantity::l2:
      return by.bound == BoundBy::l2 && is_long ? -beyond_clock(difference) : kNoReading;
    case FleetQuantity::counters:
      return by.bound == BoundBy::sm ? difference.achieved : kNoReading;
  }
  return kNoReading;
}

/// A GPU's differences to its peers, by case.
struct SaidByCase {
  double value;
  std::size_t number;
};

/// The middle value. For an even count it is the middle value nearer to 0, or 0 if their signs differ: more than half
/// of the cases are at least that far out.
double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const double upper = values[values.size() / 2];
  const double lower = values[(values.size() - 1) / 2];
  if ((lower < 0) != (upper < 0)) return 0;
  return std::abs(lower) < std::abs(upper) ? lower : upper;
}

Deviation deviation_of(const std::vector<SaidByCase>& said) {
  const double middle = middle_of(mapped(said, &SaidByCase::value));
  const auto worst = std::ranges::max_element(
      said, {}, [&](const SaidByCase& each) { return middle < 0 ? -each.value : each.value; });
  return {middle, said.size(), worst->number};
}

/// Converts differences of logarithms of speed in % to a ratio less 1: -69 is half of the speed, -50 %, or twice the
/// time, -100 %.
double as_ratio(const FleetQuantityFacts& facts, double difference) {
  if (facts.unit != "%") return difference;
  return facts.tells_time ? -100 * std::expm1(-difference / 100) : 100 * std::expm1(difference / 100);
}

/// For each of some GPUs, in their order. The first `peers` of them are the peers.
std::vector<Deviations> deviations_of(const FleetRows& rows, std::span<const std::size_t> gpus,
                                      std::size_t peers) {
  std::vector<std::array<std::vector<SaidByCase>, kFleetQuantities.size()>> said(gpus.size());
  std::vector<Levels> levels(gpus.size());
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    std::vector<double> times;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const CaseReading& reading = rows.gpus[gpus[i]].reading(number);
      levels[i] = levels_of(reading);
      if (reading.time_us > 0) times.push_back(reading.time_us);
    }
    const double typical = times.empty() ? 0 : median(times);
    for (const auto member : {&Levels::time, &Levels::clock, &Levels::longest, &Levels::achieved})
      subtract_median(levels, peers, member);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
        const double value = said_of(kFleetQuantities[q], rows.cases[number], levels[i], typical);
        if (!std::isnan(value))
          said[i][q].push_back({as_ratio(facts_of(kFleetQuantities[q]), value), number});
      }
    }
  }
  std::vector<Deviations> deviations(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
      if (said[i][q].size() >= kFewestCases) deviations[i][q] = deviation_of(said[i][q]);
    }
  }
  return deviations;
}

/// Appends events that a GPU has in a larger share of its cases than its peers: throttle reasons, another process,
/// unread counters, an SM without work. Slowdowns and other processes in most of its cases are reported whatever
/// happens to peers.
void add_events(const FleetRows& rows, std::span<const std::size_t> peers, std::span<ComparedGpu> compared) {
  for (const Event& event : events_of(rows)) {
    const std::vector<double> shares =
        mapped(peers, [&](std::size_t gpu) { return count_of(rows, rows.gpus[gpu], event).pct(); });
    const Middle usual = occbench::middle_of(shares, kEventsNamedFrom);
    for (ComparedGpu& each : compared) {
      const Count own = count_of(rows, rows.gpus[each.gpu], event);
      const double more = own.pct() - usual.median;
      const bool is_more = more > usual.named_from;
      const bool is_told = is_more || (event.shared != Shared::usual && own.pct() > kSharedNamedFrom);
      if (own.happened < kFewestEvents || !is_told) continue;
      each.findings.push_back({.cause = event.cause,
                               .size = is_more ? more : own.pct(),
                               .size_unit = "% of cases",
                               .named_from = is_more ? usual.named_from : kSharedNamedFrom,
                               .note = !is_more && event.shared == Shared::note,
                               .sentence = fmt::format("{} in {} of {} cases; its peers: in {:.0f} %.",
                                                       event.words, own.happened, own.cases, usual.median)});
    }
  }
}

void add_failures(const FleetRows& rows, ComparedGpu& compared) {
  std::size_t failed = 0;
  std::string first;
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    if (!rows.gpus[compared.gpu].reading(number).failed) continue;
    if (failed++ == 0) first = rows.cases[number].name;
  }
  if (failed == 0) return;
  compared.findings.push_back({.cause = "failed",
                               .size = static_cast<double>(failed),
                               .size_unit = "cases",
                               .sentence = fmt::format("{} of {} cases failed or gave a wrong result.",
                                                       failed, cases_of(rows.gpus[compared.gpu])),
                               .worst_case = first});
}

/// Appends a note of cases that most peers have and this GPU lacks. A case that ended the run may have left no row.
void add_missing(const FleetRows& rows, std::span<const std::size_t> usual, ComparedGpu& compared) {
  std::vector<std::size_t> missing(usual.begin(), usual.end());
  std::erase_if(missing, [&](std::size_t number) { return rows.gpus[compared.gpu].reading(number).present; });
  if (missing.empty()) return;
  compared.findings.push_back({.cause = "missing",
                               .size = static_cast<double>(missing.size()),
                               .size_unit = "cases",
                               .note = true,
                               .sentence = fmt::format("it lacks {} of {} cases that most of its peers have.",
                                                       missing.size(), usual.size()),
                               .worst_case = rows.cases[missing.front()].name});
}

/// Appends columns in which a GPU differs from more than half of its peers, and cases that failed.
void add_differences(const FleetRows& rows, std::span<const std::size_t> peers,
                     std::span<ComparedGpu> compared) {
  for (const Attribute& attribute : kAttributes) {
    const std::string usual = usual_value(rows, peers, attribute.value);
    if (usual.empty()) continue;
    for (ComparedGpu& each : compared) {
      const std::string& value = rows.gpus[each.gpu].*attribute.value;
      if (value.empty() || value == usual) continue;
      each.findings.push_back({.cause = attribute.column,
                               .size = difference(value, usual),
                               .size_unit = attribute.unit[0] == ' ' ? attribute.unit + 1 : attribute.unit,
                               .note = attribute.note,
                               .sentence = fmt::format("{}{}{}; most of its peers have {}.", attribute.words,
                                                       value, attribute.unit, usual)});
    }
  }
  const std::vector<std::size_t> usual = usual_cases(rows, peers);
  for (ComparedGpu& each : compared) {
    add_failures(rows, each);
    add_missing(rows, usual, each);
  }
}

}  // namespace

Middle middle_of(std::span<const double> values, double least) {
  constexpr double kSigmaOfDeviation = 1.4826;
  constexpr double kSigmas = 5;
  constexpr std::size_t kFewestForSpread = 5;
  const double middle = median(values);
  if (values.size() < kFewestForSpread) return {middle, least};
  const std::vector<double> distances =
      mapped(values, [&](double value) { return std::abs(value - middle); });
  return {middle, std::max(least, kSigmas * kSigmaOfDeviation * median(distances))};
}

bool ComparedGpu::out_of_line() const {
  return std::ranges::any_of(findings, [](const FleetFinding& finding) { return !finding.note; });
}

ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline) {
  std::vector<std::size_t> all(baseline.begin(), baseline.end());
  all.insert(all.end(), judged.begin(), judged.end());
  if (all.empty()) return {};
  require_one_model(rows, all);
  const std::string commit = most_frequent(rows, all, &MeasuredGpu::commit);
  const std::vector<std::size_t> usual = usual_cases(rows, all);
  const auto why_no_peer = [&](std::size_t gpu) {
    return why_not(rows.gpus[gpu], commit, usual, kFewestPeers);
  };
  ComparedFleet result;
  std::vector<std::size_t> gpus;  // the peers first
  const auto add = [&](std::span<const std::size_t> some) {
    std::ranges::copy_if(some, std::back_inserter(gpus), &std::string::empty, why_no_peer);
  };
  add(baseline);
  if (const auto other = std::ranges::find_if_not(baseline, &std::string::empty, why_no_peer);
      other != baseline.end()) {
    result.remarks.push_back(fmt::format("left out of the baseline: {} of {} ({}: {})",
                                         baseline.size() - gpus.size(), counted(std::ssize(baseline), "GPU"),
                                         rows.gpus[*other].uuid, why_no_peer(*other)));
  }
  const bool by_baseline = gpus.size() >= kFewestPeers;
  if (!baseline.empty() && !by_baseline) {
    // A GPU is not a peer of itself, unless only its own runs exist.
    const auto uuid_of = [&](std::size_t gpu) { return rows.gpus[gpu].uuid; };
    const bool is_one_gpu = std::ranges::count(all, uuid_of(all.front()), uuid_of) == std::ssize(all);
    if (!is_one_gpu)
      std::erase_if(gpus,
                    [&](std::size_t peer) { return std::ranges::count(judged, uuid_of(peer), uuid_of) > 0; });
    result.remarks.push_back(fmt::format(
        "the baseline has {} of the {} {} that it needs: the judged {} are peers as well", gpus.size(),
        kFewestPeers, is_one_gpu ? "other runs of this GPU" : "other GPUs", is_one_gpu ? "runs" : "GPUs"));
  }
  const std::size_t in_baseline = gpus.size();
  add(judged);
  const std::span<const std::size_t> peers = std::span(gpus).first(by_baseline ? in_baseline : gpus.size());

  std::vector<ComparedGpu>& compared = result.gpus;
  for (const std::size_t gpu : judged)
    compared.push_back({gpu, {}, {}, why_not(rows.gpus[gpu], commit, usual, peers.size())});
  std::vector<ComparedGpu*> place(rows.gpus.size(), nullptr);
  for (ComparedGpu& each : compared) place[each.gpu] = &each;

  std::vector<Deviations> deviations = deviations_of(rows, gpus, peers.size());
  const std::string sms = most_frequent(rows, all, &MeasuredGpu::sm_count);
  for (const FleetQuantity quantity : kFleetQuantities) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto& deviation = deviations[i][static_cast<std::size_t>(quantity)];
      if (deviation && says(rows, peers[i], quantity, sms)) numbers.push_back(deviation->value);
    }
    const double middle = numbers.size() < kFewestPeers ? 0 : median(numbers);
    for (double& number : numbers) number -= middle;
    std::vector<Value> values;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      auto& deviation = deviations[i][static_cast<std::size_t>(quantity)];
      if (deviation) deviation->value -= middle;
      if (deviation && says(rows, gpus[i], quantity, sms)) values.push_back({place[gpus[i]], *deviation});
    }
    result.named_from[static_cast<std::size_t>(quantity)] = judge(rows, quantity, numbers, values);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ComparedGpu* const of = place[gpus[i]];
    if (of == nullptr) continue;
    of->deviations = deviations[i];
    const bool is_compared =
        std::ranges::any_of(deviations[i], [](const auto& each) { return each.has_value(); });
    if (!is_compared && of->no_verdict.empty())
      of->no_verdict = fmt::format(
          "nothing of it is compared: fewer than {} of its cases have a reading of one kind", kFewestCases);
  }
  if (peers.size() >= kFewestPeers) {
    add_events(rows, peers, compared);
    add_differences(rows, peers, compared);
  }
  return result;
}

const FleetQuantityFacts& facts_of(FleetQuantity quantity) {
  // In the order of the enumerators.
  static constexpr FleetQuantityFacts kFacts[] = {
      {"sm_clock", "%", 0.4, "SM clock {:.2f} % below the median.", "SM clock {:.2f} % above the median."},
      {"gpc_clock", "%", 0.3,
       "kernels on all SMs take {:.2f} % longer than their cycles at the mean clock: a GPC's clock is "
       "slower, or all clocks were while times were taken.",
       "its GPCs' clocks are closer together: kernels on all SMs take {:.2f} % less time than the median.",
       true},
      {"sm_cycles", "%", 0.3,
       "the same work takes {:.2f} % more SM cycles: fewer SMs do it, or, if none were counted, a GPC is "
       "slower.",
       "the same work takes {:.2f} % fewer SM cycles.", true},
      {"bandwidth", "%", 1, "bandwidth of device memory {:.2f} % below the median.",
       "bandwidth of device memory {:.2f} % above the median."},
      {"l2", "%", 4, "kernels bound by the L2 cache are {:.2f} % slower than the median.",
       "kernels bound by the L2 cache are {:.2f} % faster than the median."},
      {"counters", "points", 0.3,
       "counters read {:.2f} points of occupancy below the median over elapsed cycles.",
       "counters read {:.2f} points of occupancy above the median over elapsed cycles."},
  };
  return kFacts[static_cast<std::size_t>(quantity)];
}

}  // namespace occbench
