#include "harness/count_case.hpp"

#include <algorithm>
#include <chrono>

#include "harness/counter_columns.hpp"

namespace occbench {
namespace {

using CountOfSession = Counted (Session::*)(const std::vector<std::string>&, const std::function<void()>&,
                                            const std::function<void()>&);

Counted count(const std::vector<std::string>& metrics, ReadyCase& ready, Session& session,
              CountOfSession count_of_session = &Session::count) {
  try {
    return (session.*count_of_session)(
        metrics, [&] { ready.launch_and_wait(); }, [&] { ready.make_ready(); });
  } catch (const std::exception& error) {
    session.note_lost_context();
    return {.status = CountersStatus::failed, .note = error.what()};
  }
}

void add_samples(CaseSamples& samples, const CounterReadings& readings) {
  for (const auto& [metric, values] : readings) samples.add(metric, values);
}

/// The suite's counters. @returns their readings
CounterReadings count_columns(ReadyCase& ready, Session& session, MeasuredCase& into) {
  const std::vector<std::string> metrics = metrics_for(into.record.compiled);
  const auto start = std::chrono::steady_clock::now();
  Counted counted = count(metrics, ready, session);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  into.record.readings.status = counted.status;
  add_note(into.record.note, counted.note);
  if (counted.status != CountersStatus::ok) return {};
  set_counters(into.record.readings, counted.readings, session.device().warp_slots());
  add_note(into.record.note, note_on_missing(counted.readings, metrics));
  add_samples(into.samples, counted.readings);
  into.samples.add("counting_ms_per_launch", 0, spent.count() / session.options().readings);
  return std::move(counted.readings);
}

}  // namespace

void count_case(const PlannedCase& planned, ReadyCase& ready, Session& session, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const CounterReadings of_columns = count_columns(ready, session, into);
  const auto count_more = [&](const std::vector<std::string>& metrics,
                              CountOfSession count_of_session = &Session::count) -> Counted {
    const bool can = record.readings.status == CountersStatus::ok && session.stop() != Stop::context_lost;
    if (metrics.empty() || !can) return {};
    Counted more = count(metrics, ready, session, count_of_session);
    add_note(record.note, more.note);
    return more;
  };
  const auto count_columns_too = [&](const std::vector<std::string>& metrics,
                                     CountOfSession count_of_session) {
    const Counted more = count_more(metrics, count_of_session);
    if (more.status != CountersStatus::ok) return;
    set_counters(record.readings, more.readings, session.device().warp_slots());
    add_note(record.note, note_on_missing(more.readings, metrics));
    add_samples(into.samples, more.readings);
  };
  count_columns_too(metrics_of(planned.chosen.counters), &Session::count);
  // These are dear, and the other suites are to be short.
  if (session.options().suite == Suite::full) count_columns_too(metrics_read_once(), &Session::count_once);
  const std::vector<std::string>& by_name = session.options().metrics;
  const Counted more = count_more(by_name);
  if (!by_name.empty() && more.status != CountersStatus::ok) session.miss();
  record.extra = extra_columns(more.readings, by_name);
  for (const auto& [metric, values] : more.readings) {
    if (!of_columns.contains(metric)) into.samples.add(metric, values);
  }
}

}  // namespace occbench
