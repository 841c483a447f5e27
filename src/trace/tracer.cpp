#include "trace/tracer.hpp"

#include <algorithm>
#include <exception>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "record/process_files.hpp"
#include "trace/regions.hpp"

namespace occbench {
namespace {

/// What a launch's begin tells its end.
enum : std::uint64_t { kNothing = 0, kEntered = 1, kCounted = 2, kCountedWithoutRecord = 3 };

/// The library's own calls launch kernels too, and are told of; they are not the program's.
thread_local bool is_inside = false;

class Inside {
 public:
  Inside() : before_(std::exchange(is_inside, true)) {}
  ~Inside() {
    is_inside = before_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

}  // namespace

Tracer::Tracer(TracerOptions options, Driver& driver, std::function<void(const std::string&)> say)
    : options_(std::move(options)), driver_(driver), say_(std::move(say)), sampling_(options_.sampling) {
  if (may_not_count()) say_once(fmt::format("nothing is counted, for {}", options_.why_not_counted));
}

void Tracer::say_once(const std::string& line) {
  const std::lock_guard lock(words_mutex_);
  if (said_.insert(line).second) say_(line);
}

void Tracer::counting_ended(int device, CountersStatus status, const std::string& why) {
  {
    const std::lock_guard lock(words_mutex_);
    LaunchTable::DeviceWords& words = words_[device];
    words.counters_status = status;
    words.note = why;
  }
  say_once(fmt::format("no launch is counted any more (GPU {}): {}", device, why));
}

std::shared_ptr<Tracer::Context> Tracer::make_context(void* handle) {
  const Inside inside;
  const int device = driver_.device_of(handle);
  const std::unique_lock lock(contexts_mutex_);
  const auto [found, is_new] = contexts_.try_emplace(handle);
  if (!is_new) return found->second;
  found->second = std::make_shared<Context>();
  found->second->device = device;
  if (device < 0) return found->second;
  if (!counted_of_device_.try_emplace(device, handle).second) {
    say_once(fmt::format(
        "GPU {} has a second context in this process: its launches have theory and time, and are not "
        "counted",
        device));
    return found->second;
  }
  ContextCounter::Listener listener;
  listener.readings = [this](std::span<const std::uint32_t> correlations, const CounterReadings& readings) {
    table_.add_readings(correlations, readings);
  };
  listener.ended = [this, device](CountersStatus status, const std::string& why) {
    counting_ended(device, status, why);
  };
  found->second->counter = std::make_unique<ContextCounter>(driver_.make_context(handle, program_metrics()),
                                                            captures_, std::move(listener), options_.times);
  return found->second;
}

std::shared_ptr<Tracer::Context> Tracer::find_context(void* handle) const {
  const std::shared_lock lock(contexts_mutex_);
  const auto found = contexts_.find(handle);
  return found != contexts_.end() ? found->second : nullptr;
}

std::shared_ptr<Tracer::Context> Tracer::context_of(void* handle) {
  std::shared_ptr<Context> context = find_context(handle);
  return context ? context : make_context(handle);
}

std::vector<std::shared_ptr<Tracer::Context>> Tracer::live_contexts() const {
  const std::shared_lock lock(contexts_mutex_);
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [handle, context] : contexts_) {
    if (context->counter) all.push_back(context);
  }
  return all;
}

/// A graph of several kernels would be counted as one.
bool Tracer::is_to_be_counted(const LaunchCall& call, const Context& context) {
  if (call.of_graph) {
    const std::lock_guard lock(graphs_mutex_);
    if (!one_kernel_graphs_.contains(call.function)) return false;
  }
  Countable countable = Countable::any;
  if (options_.sampling.paced && !context.counter->may_repeat()) countable = Countable::first;
  if (captures_.any()) countable = Countable::none;
  const Look look = sampling_.look(call, countable);
  // A handle may be gone when it turns out that no record tells of its kernel.
  if (look == Look::first && !call.of_graph)
    sampling_.describe(call, context.device, driver_.kernel_of(call));
  return look == Look::count;
}

/// A launch is counted as it runs without a trace: CUPTI's records slow it down. Other launches of its context are
/// held meanwhile. A graph's kernel is known by its record alone. Where launches have none, somebody else in the process
/// takes them, and they are left alone from the next launch on that is not counted.
bool Tracer::begin_to_count(const LaunchCall& call, Context& context) {
  const bool has_own = has_records_ && !call.of_graph;
  const bool counted = context.counter->begin(call.correlation, [&] {
    if (!has_own || records_come_of(context) || context.records_in_vain == records_) return;
    driver_.flush_records();
    if (!records_come_of(context)) context.records_in_vain = records_;
  });
  if (!counted) {
    sampling_.failed(call);
    return false;
  }
  table_.expect(call, context.device);
  const bool without_record =
      has_own && records_come_of(context) && driver_.keep_records(call.context, false);
  *call.state = without_record ? kCountedWithoutRecord : kCounted;
  return true;
}

void Tracer::resume_records(const LaunchCall& call, const Context& context, bool launched) {
  if (!driver_.keep_records(call.context, true)) {
    say_once("CUPTI does not go on recording kernels: further launches have no time");
  }
  if (launched) table_.add_unrecorded(driver_.kernel_of(call), context.device, call.correlation);
}

/// Records go on before other launches may, and these may whatever fails.
void Tracer::end_counted(const LaunchCall& call, Context& context, bool launched) {
  try {
    if (*call.state == kCountedWithoutRecord) resume_records(call, context, launched);
  } catch (const std::exception& failure) {
    say_once(fmt::format("a launch was not looked at: {}", failure.what()));
  }
  if (!context.counter->end(launched)) sampling_.failed(call);
}

void Tracer::launch_begins(const LaunchCall& call) {
  if (call.state != nullptr) *call.state = kNothing;
  if (!current_region().empty() && !abandoned_ && !finished_ && !is_inside)
    table_.name_region(call.correlation, current_region());
  if (abandoned_ || finished_ || is_inside || call.state == nullptr || call.context == nullptr || !counts())
    return;
  try {
    const std::shared_ptr<Context> context = context_of(call.context);
    if (!context->counter) return;
    ContextCounter& counter = *context->counter;
    const Inside inside;
    if (counter.usable()) {
      counter.prepare();
      if (is_to_be_counted(call, *context) && begin_to_count(call, *context)) return;
    }
    // Also when nothing more is counted: what was is still to be read.
    counter.enter();
    *call.state = kEntered;
  } catch (const std::exception& failure) {
    say_once(fmt::format("a launch was not looked at: {}", failure.what()));
  }
}

void Tracer::launch_ends(const LaunchCall& call, bool launched) {
  if (abandoned_ || is_inside || call.state == nullptr) return;
  try {
    if (launched && !has_records_ && !call.of_graph) {
      const Inside inside;
      table_.add_untimed(driver_.kernel_of(call), driver_.device_of(call.context), call.correlation);
    }
    if (*call.state == kNothing) return;
    if (!launched) sampling_.refused(call);
    const std::shared_ptr<Context> context = find_context(call.context);
    if (!context || !context->counter) return;
    const Inside inside;
    if (*call.state == kEntered) {
      if (launched && !call.of_graph && !captures_.any()) context->records_before = records_.load();
      context->counter->leave();
      return;
    }
    end_counted(call, *context, launched);
  } catch (const std::exception& failure) {
    say_once(fmt::format("a launch was not looked at: {}", failure.what()));
  }
}

void Tracer::capture_begins(void*) {
  if (abandoned_) return;
  captures_.begins();
  for (const auto& context : live_contexts()) context->counter->wait_until_open();
}

void Tracer::capture_has_begun(void* stream, bool capturing) {
  if (!abandoned_) captures_.has_begun(stream, capturing);
}

void Tracer::capture_has_ended(void* stream) {
  if (!abandoned_) captures_.has_ended(stream);
}

void Tracer::graph_instantiated(void* exec, void* graph) {
  if (abandoned_ || finished_) return;
  const Inside inside;
  const bool one_kernel = is_one_kernel(driver_.nodes_of(graph));
  const std::lock_guard lock(graphs_mutex_);
  if (one_kernel) {
    one_kernel_graphs_.insert(exec);
  } else {
    one_kernel_graphs_.erase(exec);
  }
}

void Tracer::graph_destroyed(void* exec) {
  const std::lock_guard lock(graphs_mutex_);
  one_kernel_graphs_.erase(exec);
}

void Tracer::stream_created(void* context, void* stream) {
  driver_.stream_created(context, stream);
}

void Tracer::stream_destroyed(void* context, void* stream) {
  captures_.has_ended(stream);
  driver_.stream_destroyed(context, stream);
}

void Tracer::context_destroyed(void* handle) {
  if (abandoned_) return;
  std::shared_ptr<Context> context;
  {
    const std::unique_lock lock(contexts_mutex_);
    const auto found = contexts_.find(handle);
    if (found == contexts_.end()) return;
    context = found->second;
    contexts_.erase(found);
  }
  const Inside inside;
  if (context->counter) context->counter->finish(true);
  // The next context of this GPU is counted.
  const std::unique_lock lock(contexts_mutex_);
  const auto counted = counted_of_device_.find(context->device);
  if (counted != counted_of_device_.end() && counted->second == handle) counted_of_device_.erase(counted);
}

void Tracer::profiler_started() {
  sampling_.begin();
}

void Tracer::kernel_ran(const KernelRecord& record) {
  if (abandoned_) return;
  ++records_;
  table_.add(record);
}

void Tracer::records_lost(std::size_t count) {
  table_.lose(count);
}

LaunchTable::DeviceWords Tracer::words_of(int device) {
  const std::lock_guard lock(words_mutex_);
  LaunchTable::DeviceWords& words = words_[device];
  if (words.device.sm_count == 0) words.device = driver_.describe(device);
  if (!words.counters_status && may_not_count()) {
    words.counters_status = CountersStatus::unsupported;
    words.note = options_.why_not_counted;
  }
  if (!words.counters_status) words.counters_status = counts() ? CountersStatus::ok : CountersStatus::off;
  return words;
}

/// Nothing has kept the counters from being read.
bool Tracer::words_of_all_are_ok() {
  const std::lock_guard lock(words_mutex_);
  return std::ranges::all_of(words_, [](const auto& words) {
    return words.second.counters_status.value_or(CountersStatus::ok) == CountersStatus::ok;
  });
}

/// CUPTI gives the records of a process to whoever asked for them last; a kernel that failed or runs has none.
void Tracer::say_what_has_no_record(const Unrecorded& unrecorded) {
  if (unrecorded.kernels == 0 && unrecorded.launches <= unrecorded.of / 10) return;
  say_once(fmt::format(
      "{} of {} launches have no record, and so no time: the program takes CUPTI's records itself, or "
      "kernels failed or still ran at its end",
      unrecorded.launches, unrecorded.of));
}

Unrecorded Tracer::write() {
  const std::lock_guard lock(write_mutex_);
  const Unrecorded unrecorded = has_records_ ? table_.set_looked_at(sampling_.looked_at()) : Unrecorded{};
  const std::uint64_t version = table_.version();
  if (version == written_version_) return unrecorded;
  try {
    write_process_file(options_.file,
                       table_.entries(::getpid(), [this](int device) { return words_of(device); }));
    written_version_ = version;
  } catch (const std::exception& failure) {
    say_once(fmt::format("{}; it is tried again", failure.what()));
  }
  return unrecorded;
}

void Tracer::tend() {
  if (abandoned_ || finished_) return;
  const Inside inside;
  for (const auto& context : live_contexts()) context->counter->tend();
  write();
}

void Tracer::finish(const std::function<void()>& last_records) {
  if (abandoned_ || finished_.exchange(true)) return;
  const Inside inside;
  for (const auto& context : live_contexts()) context->counter->finish(false);
  last_records();
  say_what_has_no_record(write());
  if (counts() && sampling_.launches() > 0 && !table_.has_readings() && words_of_all_are_ok()) {
    say_once(fmt::format(
        "nothing was counted: {} launches of {} kernels and configurations were its warm-up, or were "
        "not wanted; --after 0 counts from the second launch of each on",
        sampling_.launches(), sampling_.configurations()));
  }
  if (const std::size_t lost = table_.lost(); lost > 0) {
    say_once(fmt::format(
        "{} launches are in no row: CUPTI lost their records, or there were more than {} distinct ones", lost,
        LaunchTable::kMostEntries));
  }
}

}  // namespace occbench
