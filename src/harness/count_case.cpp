#include "harness/count_case.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "harness/counter_columns.hpp"

namespace occbench {
namespace {

using CountOfSession = Counted (Session::*)(const std::vector<std::string>&, const std::function<void()>&,
                                            const std::function<void()>&);

Counted count(const std::vector<std::string>& metrics, ReadyCase& ready, Session& session,
              CountOfSession count_of_session) {
  try {
    return (session.*count_of_session)(
        metrics, [&] { ready.launch_and_wait(); }, [&] { ready.make_ready(); });
  } catch (const std::exception& error) {
    session.note_lost_context();
    return {.status = CountersStatus::failed, .note = error.what()};
  }
}

/// `own`, the counters of every case, and those beside them that the suite and the case ask for.
std::vector<std::string> metrics_of_case(const std::vector<std::string>& own, const PlannedCase& planned,
                                         const Session& session) {
  std::vector<std::string> metrics = session.options().suite == Suite::full ? metrics_of_full_suite() : own;
  std::ranges::copy(metrics_of(planned.chosen.counters), std::back_inserter(metrics));
  return metrics;
}

/// The counters of columns, all read together, for to configure a profiler again takes some 0.4 s. Where
/// they cannot be had, those of every case alone.
/// @returns their readings
CounterReadings count_columns(const PlannedCase& planned, ReadyCase& ready, Session& session,
                              MeasuredCase& into) {
  CaseRecord& record = into.record;
  const std::vector<std::string> own = metrics_for(record.compiled);
  std::vector<std::string> metrics = metrics_of_case(own, planned, session);
  const auto start = std::chrono::steady_clock::now();
  Counted counted = count(metrics, ready, session, metrics == own ? &Session::count : &Session::count_more);
  if (metrics != own && counted.status != CountersStatus::ok && session.stop() != Stop::context_lost) {
    const std::string why = std::move(counted.note);
    metrics = own;
    counted = count(metrics, ready, session, &Session::count);
    if (counted.status == CountersStatus::ok) add_note(record.note, why);
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  record.readings.status = counted.status;
  add_note(record.note, counted.note);
  if (counted.status != CountersStatus::ok) return {};
  set_counters(record.readings, counted.readings, session.device().warp_slots());
  add_note(record.note, note_on_missing(counted.readings, metrics));
  for (const auto& [metric, values] : counted.readings) into.samples.add(metric, values);
  into.samples.add("counting_ms_per_launch", 0, spent.count() / session.options().readings);
  return std::move(counted.readings);
}

}  // namespace

void count_case(const PlannedCase& planned, ReadyCase& ready, Session& session, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const CounterReadings of_columns = count_columns(planned, ready, session, into);
  const std::vector<std::string>& by_name = session.options().metrics;
  if (by_name.empty()) return;
  Counted more;
  if (record.readings.status == CountersStatus::ok && session.stop() != Stop::context_lost)
    more = count(by_name, ready, session, &Session::count);
  add_note(record.note, more.note);
  if (more.status != CountersStatus::ok) session.miss();
  record.extra = extra_columns(more.readings, by_name);
  for (const auto& [metric, values] : more.readings) {
    if (!of_columns.contains(metric)) into.samples.add(metric, values);
  }
}

}  // namespace occbench
