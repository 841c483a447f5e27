#include "harness/trace_case.hpp"

#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "harness/per_sm_file.hpp"
#include "harness/timeline_file.hpp"
#include "harness/trace_samples.hpp"
#include "measure/trace.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"
#include "record/columns.hpp"
#include "record/files.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// Traced launches of which per-SM figures, or what stands in for the counter, are made.
constexpr std::size_t kTracedLaunches = 4;

using Traces = std::vector<std::vector<WarpRecord>>;  ///< a traced launch each

/// How the records of a trace are read.
struct TraceShape {
  int warps_per_block;
  int max_warps_per_sm;

  double achieved_pct(const std::vector<WarpRecord>& records) const {
    return occbench::achieved_pct(sms_of(records, warps_per_block), max_warps_per_sm);
  }
};

/// Where the counters are closed, and a trace of this very kernel says the same.
bool stands_in(const PlannedCase& planned, Session& session, const CaseRecord& record) {
  const std::optional<CountersStatus>& status = record.readings.status;
  const bool closed = status != CountersStatus::ok && status != CountersStatus::off;
  if (!closed || !planned.chosen.kernel->trace_agrees_with_counter) return false;
  if (planned.variant->traced_function == nullptr) return true;
  Variant traced = *planned.variant;
  traced.function = planned.variant->traced_function;
  const Usage usage = session.instruments().inspect(traced).usage;
  const double traced_pct =
      theoretical_occupancy(session.device().limits, planned.chosen.launch, usage).theoretical_pct;
  return record.theory && traced_pct == record.theory->theoretical_pct;
}

/// Empty where the kernel keeps no trace.
Traces traces_of(ReadyCase& ready, std::size_t launches) {
  Traces traces;
  while (traces.size() < launches) {
    ready.make_ready();
    traces.push_back(ready.trace());
    if (traces.back().empty()) return {};
  }
  return traces;
}

void take_achieved_from(const std::vector<double>& achieved_pct, CaseRecord& record) {
  record.readings.counters.achieved_pct = median(achieved_pct);
  record.readings.achieved_spread_points = quartiles(achieved_pct).range();
  record.readings.achieved_source = AchievedSource::trace;
  add_note(record.note,
           "achieved_pct is that of traced launches, which can place the blocks of a partial last wave "
           "otherwise");
}

/// The trace and the counter of the very same launches: what the trace is worth where it has to stand in.
void trace_and_count(ReadyCase& ready, Session& session, const TraceShape& shape, MeasuredCase& into) {
  const std::string counter(find_column("achieved_pct")->counter.value().metric);
  std::vector<double> traced;
  const Counted counted = session.count(
      {counter}, [&] { traced.push_back(shape.achieved_pct(ready.trace())); }, [&] { ready.make_ready(); });
  add_note(into.record.note, counted.note);
  if (counted.status != CountersStatus::ok) return;
  into.samples.add("same_launch_trace_pct", traced);
  into.samples.add("same_launch_counter_pct", counted.readings.at(counter));
}

void trace_launches(const PlannedCase& planned, ReadyCase& ready, Session& session, bool as_counter,
                    MeasuredCase& into) {
  const std::optional<std::filesystem::path>& per_sm = session.options().per_sm;
  const Traces traces = traces_of(ready, per_sm || as_counter ? kTracedLaunches : std::size(kTracePrefixes));
  if (traces.empty()) {
    if (per_sm) add_note(into.record.note, "no file per SM: this kernel keeps no trace");
    return;
  }
  const TraceShape shape{warps_of_block(planned.chosen.launch.block_threads),
                         session.device().limits.max_warps_per_sm};
  if (planned.chosen.trace) {
    for (std::size_t i = 0; i < std::size(kTracePrefixes); ++i) {
      add_trace_samples(into.samples, traces[i], shape.warps_per_block, shape.max_warps_per_sm,
                        kTracePrefixes[i]);
    }
  }
  std::vector<double> achieved;
  for (const auto& records : traces) achieved.push_back(shape.achieved_pct(records));
  into.samples.add("achieved_pct_by_trace", achieved);
  if (as_counter) take_achieved_from(achieved, into.record);
  if (!per_sm) return;
  const CaseIdentity& identity = into.record.identity;
  replace_text(case_file(*per_sm, identity, "per_sm"),
               per_sm_csv(identity, traces, shape.warps_per_block, shape.max_warps_per_sm));
  if (into.record.readings.status == CountersStatus::ok) trace_and_count(ready, session, shape, into);
}

}  // namespace

void trace_case(const PlannedCase& planned, ReadyCase& ready, Session& session, MeasuredCase& into) {
  const bool per_sm = session.options().per_sm.has_value();
  try {
    const bool as_counter = stands_in(planned, session, into.record);
    if (planned.chosen.trace || per_sm || as_counter)
      trace_launches(planned, ready, session, as_counter, into);
  } catch (const std::exception& error) {
    if (per_sm) session.miss();
    session.note_lost_context();
    add_note(into.record.note, fmt::format("not traced: {}", error.what()));
  }
}

}  // namespace occbench
