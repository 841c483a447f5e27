#include "fleet/events.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

namespace occbench {
namespace {

/// Something that happens in a case or does not.
struct Event {
  std::string cause;
  std::string words;  ///< "throttle reason sw_power_cap"
  std::function<bool(const CaseReading&, const FleetCase&)> happens;
};

std::vector<Event> events_of(const FleetRows& rows) {
  std::vector<Event> events = {
      {"other_processes", "another process on the GPU",
       [](const CaseReading& reading, const FleetCase&) { return reading.other_processes > 0; }},
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
                      }});
  }
  return events;
}

/// How often an event happens to a GPU.
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

/// More of a GPU's cases than of its peers', in % of them. In 71 recorded smoke runs nothing happened in any case.
constexpr double kEventsNamedFrom = 5;
/// One case or two may have been disturbed by anything.
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

void add_events(const FleetRows& rows, std::span<const std::size_t> peers, std::span<ComparedGpu> compared) {
  for (const Event& event : events_of(rows)) {
    std::vector<double> shares;
    for (const std::size_t gpu : peers) shares.push_back(count_of(rows, rows.gpus[gpu], event).pct());
    const Middle usual = middle_of(shares, kEventsNamedFrom);
    for (ComparedGpu& each : compared) {
      const Count own = count_of(rows, rows.gpus[each.gpu], event);
      const double more = own.pct() - usual.median;
      if (own.happened < kFewestEvents || more <= usual.named_from) continue;
      each.findings.push_back({.cause = event.cause,
                               .size = more,
                               .size_unit = "% of cases",
                               .named_from = usual.named_from,
                               .sentence = fmt::format("{} in {} of {} cases; its peers: in {:.0f} %.",
                                                       event.words, own.happened, own.cases, usual.median)});
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
