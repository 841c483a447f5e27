#include "harness/count_case.hpp"

#include <chrono>
#include <cstdio>
#include <exception>

#include <fmt/core.h>

#include "record/counter_columns.hpp"

namespace occbench {
namespace {

/// Why these counters cannot be read; ok where they can.
Counted try_counters(Instruments& instruments, const std::vector<std::string>& metrics) {
  try {
    instruments.set_up_counters(metrics);
    return {.status = CountersStatus::ok};
  } catch (const CountersUnavailable& unavailable) {
    return {.status = unavailable.status(), .note = unavailable.what()};
  }
}

Counted count(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup,
              const std::vector<std::string>& metrics) {
  try {
    return count_launches(
        instruments, setup, metrics, [&] { ready.launch_and_wait(); }, [&] { ready.make_ready(); });
  } catch (const std::exception& error) {
    return {.status = CountersStatus::failed, .note = error.what()};
  }
}

/// The counters of columns. @returns their readings
CounterReadings count_columns(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup,
                              int readings, double warp_slots, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const auto start = std::chrono::steady_clock::now();
  Counted counted = count(ready, instruments, setup, setup.metrics);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  record.readings.status = counted.status;
  add_note(record.note, counted.note);
  if (counted.status != CountersStatus::ok) {
    // Where no case is counted, the run has said so at its start.
    if (setup.status == CountersStatus::ok)
      fmt::print(stderr, "{}: counters {}: {}\n", full_name(record.identity), to_string(counted.status),
                 counted.note);
    return {};
  }
  add_note(record.note, setup.note);
  set_counters(record.readings, counted.readings, warp_slots);
  add_note(record.note, note_on_missing(counted.readings, setup.metrics));
  for (const auto& [metric, values] : counted.readings) into.samples.add(metric, values);
  into.samples.add("counting_ms_per_launch", 0, spent.count() / readings);
  return std::move(counted.readings);
}

}  // namespace

CounterSetup set_up_counters(Instruments& instruments, const Options& options) {
  CounterSetup setup{.metrics = counters_read(CounterRead::every_case), .by_name = options.metrics};
  if (options.counters == CounterMode::off) return setup;
  if (options.suite == Suite::full) {
    const std::vector<std::string> all = counters_read(CounterRead::full_suite);
    const Counted tried = try_counters(instruments, all);
    if (tried.status == CountersStatus::ok || tried.status == CountersStatus::busy) {
      setup.status = CountersStatus::ok;
      setup.metrics = all;
      return setup;
    }
    setup.note = tried.note;
  }
  const Counted tried = try_counters(instruments, setup.metrics);
  const bool stays = tried.status == CountersStatus::denied || tried.status == CountersStatus::unsupported;
  setup.status = stays ? tried.status : CountersStatus::ok;
  if (stays) setup.note = tried.note;
  if (!setup.note.empty())
    fmt::print(stderr, "counters{}: {}\n",
               stays ? fmt::format(" {}", to_string(tried.status)) : " of the full suite", setup.note);
  return setup;
}

Counted count_launches(Instruments& instruments, const CounterSetup& setup,
                       const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
  if (setup.status != CountersStatus::ok) return {.status = setup.status, .note = setup.note};
  try {
    return {.status = CountersStatus::ok, .note = {}, .readings = instruments.count(metrics, launch, before)};
  } catch (const CountersUnavailable& unavailable) {
    return {.status = unavailable.status(), .note = unavailable.what()};
  }
}

void count_case(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup, int readings,
                double warp_slots, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const CounterReadings of_columns = count_columns(ready, instruments, setup, readings, warp_slots, into);
  if (setup.by_name.empty()) return;
  Counted more;
  if (record.readings.status == CountersStatus::ok) more = count(ready, instruments, setup, setup.by_name);
  add_note(record.note, more.note);
  if (more.status != CountersStatus::ok) into.missed = true;
  record.extra = extra_columns(more.readings, setup.by_name);
  for (const auto& [metric, values] : more.readings) {
    if (!of_columns.contains(metric)) into.samples.add(metric, values);
  }
}

}  // namespace occbench
