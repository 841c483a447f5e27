// What a traced process writes and says.
#include <exception>
#include <unistd.h>

#include <fmt/core.h>

#include "trace/tracer.hpp"

namespace occbench {

/// What the parent has to know beside the kernels.
void Tracer::append_process(std::string& file, bool all) {
  if (all) {
    has_records_written_.reset();
    devices_written_.clear();
    ends_written_.clear();
  }
  bool has_all_records = has_records_;
  for (const UsedGpu* const gpu : gpus_.all())
    has_all_records = has_all_records && gpu->way != CountersWay::sampled;
  if (const bool before = has_records_written_.has_value();
      !before || *has_records_written_ != has_all_records) {
    has_records_written_ = has_all_records;
    append_facts(file, EntryKind::process, 0, ProcessFacts{::getpid(), has_all_records ? 1u : 0u});
    for (std::uint32_t i = 0; i < options_.metrics.size(); ++i)
      append_cut_text(file, EntryKind::metric, i, 0, options_.metrics[i]);
  }
  for (const int device : table_.devices()) {
    if (!devices_written_.insert(device).second) continue;
    append_facts(file, EntryKind::device, static_cast<std::uint32_t>(device), driver_.describe(device));
    const CountersStatus status = may_not_count() ? CountersStatus::unsupported
                                  : counts()      ? CountersStatus::ok
                                                  : CountersStatus::off;
    append_cut_text(file, EntryKind::counting, static_cast<std::uint32_t>(device),
                    static_cast<std::uint32_t>(status), options_.why_not_counted);
  }
  for (const UsedGpu* const gpu : gpus_.all()) {
    const WindowTotals totals = gpu->sampler ? gpu->sampler->totals() : WindowTotals{};
    std::int64_t& written = windows_written_[gpu->number];
    if (totals.windows != written || (all && written > 0))
      append_facts(file, EntryKind::windows, static_cast<std::uint32_t>(gpu->number), totals);
    written = totals.windows;
  }
  const std::lock_guard lock(words_mutex_);
  for (const auto& [device, end] : counting_ends_) {
    if (!devices_written_.contains(device) || !ends_written_.insert(device).second) continue;
    append_cut_text(file, EntryKind::counting, static_cast<std::uint32_t>(device),
                    static_cast<std::uint32_t>(end.status), end.why);
  }
}

void Tracer::write() {
  const std::lock_guard lock(write_mutex_);
  try {
    file_.update([&](std::string& text, bool all) {
      append_process(text, all);
      table_.append_to(text, all);
    });
  } catch (const std::exception& failure) {
    say_once(fmt::format("{}; it is tried again", failure.what()));
  }
}

/// CUPTI gives the records of a process to whoever asked for them last; a kernel that failed or runs has none.
void Tracer::say_what_has_no_record() {
  if (!has_records_ || !has_records_written_.value_or(true)) return;
  const MissingRecords missing = table_.missing_records();
  if ((missing.kernels == 0 && missing.launches <= missing.of / 10)) return;
  say_once(fmt::format(
      "{} of {} launches have no record, and so no time: the program takes CUPTI's records itself, or "
      "kernels failed or still ran at its end",
      missing.launches, missing.of));
}

void Tracer::say_why_nothing_was_counted() {
  if (!counts() || table_.size() == 0 || table_.has_readings()) return;
  {
    const std::lock_guard lock(words_mutex_);
    if (!counting_ends_.empty()) return;
  }
  if (options_.samples && plan_.launches() == 0) {
    say_once(
        "nothing was sampled: no window of samples of the GPU had a launch that could be told apart; "
        "--counters 1 counts a launch of each");
    return;
  }
  say_once(fmt::format(
      "nothing was counted: {} launches of {} kernels and configurations were its warm-up, or were "
      "not wanted; --after 0 counts from the second launch of each on",
      plan_.launches(), table_.size()));
}

}  // namespace occbench
