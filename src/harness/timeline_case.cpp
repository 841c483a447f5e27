#include "harness/timeline_case.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "harness/timeline_file.hpp"
#include "record/files.hpp"

namespace occbench {
namespace {

void note_failure(const std::exception& error, Session& session, CaseRecord& record) {
  session.miss();
  session.note_lost_context();
  add_note(record.note, fmt::format("no timeline: {}", error.what()));
}

}  // namespace

std::optional<Activity> sample_activity(const PlannedCase& planned, ReadyCase& ready, Session& session,
                                        MeasuredCase& into) {
  CaseRecord& record = into.record;
  try {
    ready.make_ready();
    const Sampled sampled =
        session.sample(record.times.time_us.value_or(0), [&] { ready.launch_and_wait(); });
    add_note(record.note, sampled.note);
    if (!sampled.note.empty()) {
      session.miss();
      return std::nullopt;
    }
    Activity activity = activity_of(sampled.samples, session.device().warp_slots());
    for (const std::string& loss : activity.losses) {
      add_note(record.note, fmt::format("timeline: {}", loss));
      fmt::print(stderr, "{}: timeline: {}\n", planned.name, loss);
    }
    if (activity.steps.empty()) {
      // What the runtime launches need not have warps.
      if (planned.variant->function != nullptr) session.miss();
      return std::nullopt;
    }
    into.samples.add("timeline_mean_pct", 0, activity.mean_pct());
    return activity;
  } catch (const std::exception& error) {
    note_failure(error, session, record);
    return std::nullopt;
  }
}

void write_timeline(const Activity& activity, Session& session, CaseRecord& record) {
  try {
    replace_text(
        case_file(session.options().timeline.value(), record.identity, "timeline"),
        timeline_csv(record.identity, activity, record.prediction ? &record.prediction->timeline : nullptr,
                     session.device().warp_slots()));
  } catch (const std::exception& error) {
    note_failure(error, session, record);
  }
}

}  // namespace occbench
