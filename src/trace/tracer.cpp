#include "trace/tracer.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

namespace occbench {
namespace {

/// What a launch's begin tells its end, beside the number of its kernel.
enum : std::uint64_t { kNothing, kLookedAt, kEntered, kCounted, kCountedWithoutRecord, kStates };
constexpr std::uint64_t kNoKernel = LaunchSlots::kMostKernels;

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
    : options_(std::move(options)),
      driver_(driver),
      say_(std::move(say)),
      plan_(options_.counting),
      file_(options_.file) {
  if (may_not_count()) say_once(fmt::format("nothing is counted, for {}", options_.why_not_counted));
}

void Tracer::say_once(const std::string& line) {
  const std::lock_guard lock(words_mutex_);
  if (said_.insert(line).second) say_(line);
}

template <typename Step>
void Tracer::attempt(Step step) {
  const Inside inside;
  try {
    step();
  } catch (const std::exception& failure) {
    say_once(fmt::format("a launch was not looked at: {}", failure.what()));
  }
}

// Contexts

std::shared_ptr<Tracer::Context> Tracer::make_context(void* handle) {
  const int device = driver_.device_of(handle);
  ContextCounter::Listener listener;
  listener.readings = [this](auto kernels, const CounterReadings& readings) {
    add_readings(kernels, readings);
  };
  listener.ended = [this, device](CountersStatus status, const std::string& why) {
    counting_ended(device, status, why);
  };
  auto context = std::make_shared<Context>();
  context->device = device;
  context->counter = std::make_unique<ContextCounter>(driver_.make_context(handle, options_.metrics), captures_,
                                                      std::move(listener), options_.times);
  bool is_second = false;
  {
    const std::unique_lock lock(contexts_mutex_);
    const auto [found, is_new] = contexts_.try_emplace(handle, context);
    if (!is_new) return found->second;
    is_second = device >= 0 && !counted_of_device_.try_emplace(device, handle).second;
    if (is_second || device < 0) context->counter.reset();
  }
  if (is_second) {
    say_once(fmt::format(
        "GPU {} has a second context in this process: its launches have theory and time, and are not "
        "counted",
        device));
  }
  return context;
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

std::vector<std::shared_ptr<Tracer::Context>> Tracer::counted_contexts() const {
  const std::shared_lock lock(contexts_mutex_);
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [handle, context] : contexts_) {
    if (context->counter) all.push_back(context);
  }
  return all;
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
  table_.context_is_gone(handle);
  // The next context of this GPU is counted.
  const std::unique_lock lock(contexts_mutex_);
  const auto counted = counted_of_device_.find(context->device);
  if (counted != counted_of_device_.end() && counted->second == handle) counted_of_device_.erase(counted);
}

// Launches

/// Null where a graph launches several kernels, and where the table is full.
TracedKernel* Tracer::kernel_of(const LaunchCall& call, const Context& context) {
  if (call.of_graph) return kernel_of_graph(call, context);
  if (TracedKernel* const known = table_.find(call)) return known;
  KernelFacts facts = driver_.facts_of(call);
  facts.device = static_cast<std::uint32_t>(context.device);
  const Uncounted why_not = context.counter ? plan_.why_not(call.name) : Uncounted::second_context;
  TracedKernel* const added = table_.add(call, facts, why_not);
  plan_.is_new(table_.size());
  return added;
}

/// A graph of several kernels would be counted as one.
TracedKernel* Tracer::kernel_of_graph(const LaunchCall& call, const Context& context) {
  LaunchCall kernel;
  {
    const std::shared_lock lock(graphs_mutex_);
    const auto found = one_kernel_graphs_.find(call.function);
    if (found == one_kernel_graphs_.end()) return nullptr;
    kernel = found->second;
  }
  kernel.context = call.context;
  return kernel_of(kernel, context);
}

/// Where records were asked for and none came, somebody else in the process takes them.
bool Tracer::records_come_of(const Context& context) {
  const std::uint32_t latest = context.latest;
  if (!has_records_ || latest == 0) return false;
  if (!table_.awaits_record(latest)) return true;
  if (records_go_elsewhere_.exchange(true)) return false;
  driver_.flush_records();
  const bool came = !table_.awaits_record(latest);
  if (came) records_go_elsewhere_ = false;
  return came;
}

/// A launch is counted as it runs without a trace: CUPTI's records slow it down. Other launches of its context are
/// held meanwhile. Where records go to somebody else, they are left alone.
bool Tracer::begin_to_count(const LaunchCall& call, Context& context, TracedKernel& kernel) {
  bool records_come = false;
  const bool counted =
      context.counter->begin(kernel.number, [&] { records_come = records_come_of(context); });
  if (!counted) {
    plan_.give_back(kernel);
    return false;
  }
  const bool without_record = records_come && driver_.keep_records(call.context, false);
  *call.state = (without_record ? kCountedWithoutRecord : kCounted) + kStates * kernel.number;
  table_.note(call.correlation, {LaunchKind::counted, kernel.number});
  return true;
}

/// Records go on before other launches may, and these may whatever fails.
void Tracer::end_counted(const LaunchCall& call, Context& context, TracedKernel& kernel, bool launched) {
  if (*call.state % kStates == kCountedWithoutRecord) {
    if (launched) table_.add_unrecorded(kernel, call.correlation);
    if (!driver_.keep_records(call.context, true))
      say_once("CUPTI does not go on recording kernels: further launches have no time");
  }
  if (!context.counter->end(launched)) plan_.give_back(kernel);
}

void Tracer::launch_begins(const LaunchCall& call) {
  if (call.state != nullptr) *call.state = kNothing;
  if (is_over() || is_inside || call.state == nullptr || call.context == nullptr || !counts()) return;
  attempt([&] {
    const std::shared_ptr<Context> context = context_of(call.context);
    TracedKernel* const kernel = kernel_of(call, *context);
    if (kernel != nullptr) table_.note(call.correlation, {LaunchKind::plain, kernel->number});
    std::uint64_t state = kLookedAt;
    if (context->counter) {
      ContextCounter& counter = *context->counter;
      if (counter.usable()) {
        counter.prepare();
        Countable countable = Countable::any;
        if (options_.counting.paced && !counter.may_repeat()) countable = Countable::first;
        if (captures_.any()) countable = Countable::none;
        if (kernel != nullptr && plan_.take(*kernel, countable) && begin_to_count(call, *context, *kernel))
          return;
      }
      // Also when nothing more is counted: what was is still to be read.
      counter.enter();
      state = kEntered;
    }
    *call.state = state + kStates * (kernel != nullptr ? kernel->number : kNoKernel);
  });
}

void Tracer::launch_ends(const LaunchCall& call, bool launched) {
  if (abandoned_ || is_inside || call.state == nullptr || *call.state == kNothing) return;
  attempt([&] {
    const std::uint64_t state = *call.state % kStates;
    const std::uint64_t number = *call.state / kStates;
    TracedKernel* const kernel = number != kNoKernel ? &table_.at(static_cast<std::uint32_t>(number)) : nullptr;
    const std::shared_ptr<Context> context = find_context(call.context);
    const bool runs = launched && !captures_.any();
    if (kernel != nullptr && runs) ++kernel->launched;
    if (kernel != nullptr && !launched) table_.note(call.correlation, {});
    if (!context) return;
    if (state == kCounted || state == kCountedWithoutRecord) {
      end_counted(call, *context, *kernel, launched);
      return;
    }
    if (kernel != nullptr && runs) context->latest = call.correlation;
    if (state == kEntered) context->counter->leave();
  });
}

void Tracer::capture_begins(void*) {
  if (abandoned_) return;
  captures_.begins();
  for (const auto& context : counted_contexts()) context->counter->wait_until_open();
}

void Tracer::capture_has_begun(void* stream, bool capturing) {
  if (!abandoned_) captures_.has_begun(stream, capturing);
}

void Tracer::capture_has_ended(void* stream) {
  if (!abandoned_) captures_.has_ended(stream);
}

/// One that is a launch of one kernel and nothing else that an SM does can be counted.
void Tracer::graph_instantiated(void* exec, void* graph) {
  if (is_over()) return;
  const Inside inside;
  const std::vector<GraphNode> nodes = driver_.nodes_of(graph);
  const LaunchCall* kernel = nullptr;
  bool is_one = true;
  for (const GraphNode& node : nodes) {
    is_one = is_one && (node.kind == GraphNode::Kind::empty || (node.kind == GraphNode::Kind::kernel && kernel == nullptr));
    if (node.kind == GraphNode::Kind::kernel) kernel = &node.launch;
  }
  is_one = is_one && kernel != nullptr && !kernel->name.empty();
  const std::unique_lock lock(graphs_mutex_);
  one_kernel_graphs_.erase(exec);
  if (is_one) one_kernel_graphs_.emplace(exec, *kernel);
}

void Tracer::graph_destroyed(void* exec) {
  const std::unique_lock lock(graphs_mutex_);
  one_kernel_graphs_.erase(exec);
}

/// Others' arguments alone may have changed.
void Tracer::graph_changed(void* exec, const LaunchCall* kernel) {
  const std::unique_lock lock(graphs_mutex_);
  const auto found = one_kernel_graphs_.find(exec);
  if (found == one_kernel_graphs_.end()) return;
  const LaunchCall& known = found->second;
  const bool is_same = kernel != nullptr && kernel->function == known.function && kernel->grid == known.grid &&
                       kernel->block == known.block &&
                       kernel->dynamic_shared_bytes == known.dynamic_shared_bytes;
  if (!is_same) one_kernel_graphs_.erase(found);
}

void Tracer::stream_created(void* context, void* stream) {
  driver_.stream_created(context, stream);
}

void Tracer::stream_destroyed(void* context, void* stream) {
  captures_.has_ended(stream);
  driver_.stream_destroyed(context, stream);
}

void Tracer::profiler_started() {
  plan_.begin();
}

void Tracer::kernel_ran(const KernelRecord& record) {
  if (abandoned_) return;
  table_.add(record);
  records_go_elsewhere_ = false;
}

void Tracer::records_lost(std::size_t count) {
  table_.lose(count);
}

// Counters

void Tracer::add_readings(std::span<const std::optional<std::uint32_t>> kernels, const CounterReadings& readings) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i]) continue;
    std::vector<double> values;
    for (const std::string& metric : options_.metrics) {
      const auto found = readings.find(metric);
      values.push_back(found != readings.end() && i < found->second.size() ? found->second[i] : std::nan(""));
    }
    table_.add_reading(*kernels[i], std::move(values));
  }
}

void Tracer::counting_ended(int device, CountersStatus status, const std::string& why) {
  {
    const std::lock_guard lock(words_mutex_);
    counting_ends_[device] = {status, why};
  }
  say_once(fmt::format("no launch is counted any more (GPU {}): {}", device, why));
}

// The file

/// What the parent has to know beside the kernels.
void Tracer::append_process(std::string& file, bool all) {
  if (all) {
    process_written_ = false;
    devices_written_.clear();
    ends_written_.clear();
  }
  if (!std::exchange(process_written_, true)) {
    append_facts(file, EntryKind::process, 0, ProcessFacts{::getpid(), has_records_ ? 1u : 0u});
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

void Tracer::tend() {
  if (is_over()) return;
  const Inside inside;
  for (const auto& context : counted_contexts()) context->counter->tend();
  write();
}

/// CUPTI gives the records of a process to whoever asked for them last; a kernel that failed or runs has none.
void Tracer::say_what_has_no_record() {
  const MissingRecords missing = table_.missing_records();
  if (!has_records_ || (missing.kernels == 0 && missing.launches <= missing.of / 10)) return;
  say_once(fmt::format(
      "{} of {} launches have no record, and so no time: the program takes CUPTI's records itself, or "
      "kernels failed or still ran at its end",
      missing.launches, missing.of));
}

void Tracer::say_why_nothing_was_counted() {
  if (!counts() || plan_.launches() == 0 || table_.has_readings()) return;
  {
    const std::lock_guard lock(words_mutex_);
    if (!counting_ends_.empty()) return;
  }
  say_once(fmt::format(
      "nothing was counted: {} launches of {} kernels and configurations were its warm-up, or were "
      "not wanted; --after 0 counts from the second launch of each on",
      plan_.launches(), table_.size()));
}

void Tracer::finish(const std::function<void()>& last_records) {
  if (abandoned_ || finished_.exchange(true)) return;
  const Inside inside;
  for (const auto& context : counted_contexts()) context->counter->finish(false);
  last_records();
  write();
  say_what_has_no_record();
  say_why_nothing_was_counted();
  if (const std::size_t lost = table_.lost(); lost > 0) {
    say_once(fmt::format(
        "{} launches are in no row: CUPTI lost their records, or there were more than {} distinct ones", lost,
        LaunchTable::kMostKernels));
  }
}

}  // namespace occbench
