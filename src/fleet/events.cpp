#include "fleet/events.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

namespace occbench {
namespace {

/// How often an event happens to a GPU.
struct Count {
  std::size_t happened = 0;
  std::size_t cases = 0;
};

Count count_of(const FleetRows& rows, const MeasuredGpu& gpu, const Event& event) {
  Count count;
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    const CaseReading& reading = gpu.reading(number);
    if (!reading.present) continue;
    ++count.cases;
    if (event.happens(reading, rows.cases[number], event.number)) ++count.happened;
  }
  return count;
}

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
    {"gpu_settings", "settings ", "", &MeasuredGpu::gpu_settings, false},
    {"driver", "driver ", "", &MeasuredGpu::driver, true},
};

/// The value of more than half of those that have one; empty where there is none.
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

void add_failures(const FleetRows& rows, ComparedGpu& compared) {
  std::size_t failed = 0;
  std::string first;
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    if (!rows.gpus[compared.gpu].reading(number).failed) continue;
    if (failed++ == 0) first = rows.cases[number].name;
  }
  if (failed == 0) return;
  compared.findings.push_back(
      {.cause = "failed",
       .size = static_cast<double>(failed),
       .size_unit = "cases",
       .sentence = fmt::format("{} of {} cases failed or gave a wrong result.", failed, rows.cases.size()),
       .worst_case = first});
}

}  // namespace

std::vector<Event> events_of(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::vector<Event> events = {
      {"other_processes", "another process on the GPU",
       [](const CaseReading& reading, const FleetCase&, unsigned) { return reading.other_processes > 0; }},
      {"counters_missing", "counters that could not be read",
       [](const CaseReading& reading, const FleetCase&, unsigned) { return reading.counters_missing; }},
      {"idle_sm", "an SM without work",
       [](const CaseReading& reading, const FleetCase& of, unsigned) {
         return of.on_all_sms && reading.cycles_min == 0;
       }},
  };
  for (unsigned number = 0; number < rows.reasons.size(); ++number) {
    events.push_back({"throttle_" + rows.reasons[number], "throttle reason " + rows.reasons[number],
                      [](const CaseReading& reading, const FleetCase&, unsigned reason) {
                        return (reading.throttle_reasons >> reason & 1U) != 0;
                      },
                      number});
  }
  std::erase_if(events, [&](const Event& event) {
    return std::ranges::none_of(
        gpus, [&](std::size_t gpu) { return count_of(rows, rows.gpus[gpu], event).happened > 0; });
  });
  return events;
}

double binomial_tail(std::size_t count, std::size_t trials, double rate) {
  const auto n = static_cast<double>(trials);
  double sum = 0;
  for (std::size_t k = count; k <= trials; ++k) {
    const auto x = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(rate) +
                    (n - x) * std::log1p(-rate));
  }
  return std::min(1.0, sum);
}

void add_events(const FleetRows& rows, std::span<const std::size_t> peers, std::span<ComparedGpu> compared,
                double tests) {
  for (const Event& event : events_of(rows, peers)) {
    std::map<std::size_t, Count> counts;
    Count all;
    for (const std::size_t gpu : peers) {
      const Count& count = counts[gpu] = count_of(rows, rows.gpus[gpu], event);
      all.happened += count.happened;
      all.cases += count.cases;
    }
    for (ComparedGpu& each : compared) {
      const Count& own = counts[each.gpu];
      if (own.happened == 0) continue;
      // Half an event more, so that what never happened to a peer is not impossible.
      const double rate = (static_cast<double>(all.happened - own.happened) + 0.5) /
                          (static_cast<double>(all.cases - own.cases) + 1);
      const double chance = std::min(1.0, tests * binomial_tail(own.happened, own.cases, rate));
      if (chance > kMostChance) continue;
      each.findings.push_back(
          {.cause = event.cause,
           .size = static_cast<double>(own.happened),
           .size_unit = "cases",
           .chance = chance,
           .sentence = fmt::format("{} in {} of {} cases; its peers: {} of {}.", event.words, own.happened,
                                   own.cases, all.happened - own.happened, all.cases - own.cases)});
    }
  }
}

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
  for (ComparedGpu& each : compared) add_failures(rows, each);
}

}  // namespace occbench
