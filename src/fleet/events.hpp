#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fleet/compare.hpp"

namespace occbench {

/// Something that happens in a case or does not: a throttle reason, another process, unread counters, an SM
/// without work.
struct Event {
  std::string cause;
  std::string words;  ///< "throttle reason sw_power_cap"
  bool (*happens)(const CaseReading&, const FleetCase&, unsigned number);
  unsigned number = 0;  ///< of the throttle reason
};

/// Those that happened to one of the GPUs. The others can name nobody, so that they are no tests (Tarone,
/// Biometrics 46:515, 1990).
std::vector<Event> events_of(const FleetRows& rows, std::span<const std::size_t> gpus);

/// Chance of `count` or more among `trials` where each has the given rate.
double binomial_tail(std::size_t count, std::size_t trials, double rate);

/// Appends what happens to a GPU more often than chance gives, at the rate that its peers have.
/// @param judged  GPUs in the order of `compared`; @param peers  all
void add_events(const FleetRows& rows, std::span<const std::size_t> peers, std::span<ComparedGpu> compared,
                double tests);

/// Appends columns in which a GPU differs from more than half of its peers, and cases that failed.
void add_differences(const FleetRows& rows, std::span<const std::size_t> peers,
                     std::span<ComparedGpu> compared);

}  // namespace occbench
