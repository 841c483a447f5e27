#include "trace/tracer.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "trace/gpu_samplers.hpp"
#include "trace/regions.hpp"

namespace occbench {

/// A launch's begin passes this to its end, as one nonzero number. The table's objects have addresses that are multiples of 64.
struct Tracer::Begun {
  enum State : std::uint64_t { not_counted, entered, counted, counted_without_record };

  State state;
  Launched launched;
  bool by_graph = false;  ///< also if the graph is one kernel, held in `launched`

  std::uint64_t packed() const {
    const auto of = [](const void* object) { return reinterpret_cast<std::uintptr_t>(object); };
    return of(launched.kernel) | of(launched.graph) | (launched.graph != nullptr ? kIsGraph : 0) |
           (by_graph ? kByGraph : 0) | static_cast<std::uint64_t>(state) << 1 | kBegun;
  }
  static Begun unpacked(std::uint64_t value) {
    void* const object = reinterpret_cast<void*>(static_cast<std::uintptr_t>(value & ~kFlags));
    const Launched launched = (value & kIsGraph) != 0 ? Launched{nullptr, static_cast<TracedGraph*>(object)}
                                                      : Launched{static_cast<TracedKernel*>(object), nullptr};
    return {static_cast<State>(value >> 1 & 3), launched, (value & kByGraph) != 0};
  }

 private:
  static constexpr std::uint64_t kBegun = 1;
  static constexpr std::uint64_t kIsGraph = 8;
  static constexpr std::uint64_t kByGraph = 16;
  static constexpr std::uint64_t kFlags = 31;
};

Tracer::Tracer(TracerOptions options, Driver& driver, std::function<void(const std::string&)> say)
    : options_(std::move(options)),
      driver_(driver),
      say_(std::move(say)),
      plan_(options_.counting),
      table_(options_.regions),
      streams_(driver),
      file_(options_.file),
      gpus_(counts() ? options_.samples_after : std::nullopt, options_.windows, driver, table_, captures_,
            {[this](const UsedGpu& gpu) { return release_counters(gpu); },
             [this](const UsedGpu& gpu) { reclaim_counters(gpu); },
             [this](const UsedGpu& gpu) { sampling_begins(gpu); },
             [this](const UsedGpu& gpu, CountersStatus status, const std::string& why) {
               keep_records(gpu, true);
               counting_ended(gpu.number, status, why);
             },
             [this](const std::string& line) { say_once(line); }}) {
  if (may_not_count()) say_once(fmt::format("nothing is counted, for {}", options_.why_not_counted));
}

void Tracer::say_once(const std::string& line) {
  const std::lock_guard lock(words_mutex_);
  if (said_.insert(line).second) say_(line);
}

/// A failure, even lack of memory, does not reach the program. @returns whether nothing failed
template <typename Step>
bool Tracer::attempt(Step step, std::string_view what, std::string_view then) {
  const Inside inside;
  try {
    try {
      step();
      return true;
    } catch (const std::exception& failure) {
      say_once(fmt::format("{}{}{}", what, failure.what(), then));
    }
  } catch (const std::exception&) {  // no memory for the message either
  }
  return false;
}

// Contexts

Tracer::Context& Tracer::make_context(void* handle) {
  const int device = driver_.device_of(handle);
  ContextCounter::Listener listener;
  listener.readings = [this](auto kernels, const CounterReadings& readings) {
    add_readings(kernels, readings);
  };
  listener.ended = [this, device](CountersStatus status, const std::string& why) {
    counting_ended(device, status, why);
  };
  listener.idle = [this, number = driver_.number_in_records(handle)] {
    table_.was_idle(number, driver_.time_ns());
  };
  if (options_.samples_after) listener.ready = options_.sampling_begins;
  auto context = std::make_shared<Context>();
  context->handle = handle;
  if (device >= 0) context->gpu = gpus_.of(device);
  std::unique_ptr<CountedContext> counted = driver_.make_context(handle, options_.metrics);
  if (context->gpu != nullptr && context->gpu->sampled)
    counted = std::make_unique<AloneContext>(std::move(counted), *context->gpu->sampled, context->gpu->sms,
                                             [this] { return driver_.time_ns(); });
  context->counter =
      std::make_unique<ContextCounter>(std::move(counted), captures_, std::move(listener), options_.times);
  bool is_second = false;
  {
    const std::unique_lock lock(contexts_mutex_);
    const auto [found, is_new] = contexts_.try_emplace(handle, context);
    if (!is_new) return *found->second;
    is_second = device >= 0 && !counted_of_device_.try_emplace(device, handle).second;
    if (is_second || device < 0) context->counter.reset();
  }
  const auto is_without_records = [&] {
    return !has_records_ || (context->gpu != nullptr && context->gpu->is_without_records());
  };
  if (is_without_records()) {
    if (context->gpu != nullptr) context->gpu->lacks_records = true;
    driver_.keep_records(handle, false);
    if (!is_without_records()) resume_records(handle);  // it was decided meanwhile
  }
  keep_records_if_needed();
  if (is_second && !options_.samples_after) {
    say_once(fmt::format(
        "GPU {} has a second context in this process: its launches have theory and time, and are not "
        "counted",
        device));
  }
  return *context;
}

/// Releases the counters used to count a GPU's launches. @returns false if its kernels have not ended: it can be tried again
bool Tracer::release_counters(const UsedGpu& gpu) {
  const std::vector<std::shared_ptr<Context>> contexts = counted_contexts();
  return std::ranges::all_of(contexts, [&](const std::shared_ptr<Context>& context) {
    if (context->gpu != &gpu) return true;
    // Records end while nothing runs, so that none stays open.
    const auto end_records = [&] {
      context->gpu->lacks_records = true;
      driver_.keep_records(context->handle, false);
    };
    return context->counter->release(end_records);
  });
}

void Tracer::reclaim_counters(const UsedGpu& gpu) {
  keep_records(gpu, true);
  for (const auto& context : counted_contexts()) {
    if (context->gpu == &gpu) context->counter->resume();
  }
}

/// Reports it, and switches the GPU's records off.
void Tracer::sampling_begins(const UsedGpu& gpu) {
  options_.sampling_begins();
  keep_records(gpu, false);
}

/// Without them kernels run as if untraced, and samples give times.
void Tracer::keep_records(const UsedGpu& gpu, bool kept) {
  std::vector<void*> handles;
  {
    const std::shared_lock lock(contexts_mutex_);
    for (const auto& [handle, context] : contexts_) {
      if (context->gpu != &gpu) continue;
      handles.push_back(handle);
      if (!kept) context->gpu->lacks_records = true;
    }
  }
  if (kept) keep_records_if_needed();
  for (void* const handle : handles) kept ? resume_records(handle) : driver_.keep_records(handle, false);
  if (!kept) keep_records_if_needed();
}

/// Unless records have ended for good. @returns false if CUPTI refuses
bool Tracer::resume_records(void* handle) {
  const std::lock_guard lock(has_records_mutex_);
  return !has_records_ || driver_.keep_records(handle, true);
}

/// While CUPTI records kernels of any context, launches in the others take longer too: training steps 6 %, and 0 % without records (H100,
/// CUDA 13.0).
void Tracer::keep_records_if_needed() {
  const std::lock_guard lock(keeps_records_mutex_);
  std::vector<void*> without;
  bool needed = false;
  {
    const std::shared_lock contexts_lock(contexts_mutex_);
    for (const auto& [handle, context] : contexts_) {
      const bool is_without = context->gpu != nullptr && context->gpu->is_without_records();
      if (is_without) without.push_back(handle);
      needed = needed || !is_without;
    }
  }
  needed = needed && has_records_;
  if (needed == keeps_records_ || !driver_.keep_records(nullptr, needed)) return;
  keeps_records_ = needed;
  if (!needed) return;
  for (void* const handle : without) driver_.keep_records(handle, false);
}

Tracer::Context* Tracer::find_context(void* handle) const {
  if (Context* const latest = latest_context_; latest != nullptr && latest->handle == handle) return latest;
  const std::shared_lock lock(contexts_mutex_);
  const auto found = contexts_.find(handle);
  if (found == contexts_.end()) return nullptr;
  latest_context_ = found->second.get();
  return found->second.get();
}

Tracer::Context& Tracer::context_of(void* handle) {
  Context* const context = find_context(handle);
  return context != nullptr ? *context : make_context(handle);
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
    gone_contexts_.insert(contexts_.extract(found));
    latest_context_ = nullptr;
  }
  attempt([&] {
    if (context->counter) context->counter->finish(true);
  });
  table_.context_is_gone(handle);
  // The next context of this GPU is counted.
  const std::unique_lock lock(contexts_mutex_);
  if (context->gpu == nullptr) return;
  const auto counted = counted_of_device_.find(context->gpu->number);
  if (counted != counted_of_device_.end() && counted->second == handle) counted_of_device_.erase(counted);
}

// Launches

/// Null if the table is full.
TracedKernel* Tracer::kernel_of(const LaunchCall& call, const Context& context) {
  if (TracedKernel* const known = table_.find(call)) return known;
  KernelFacts facts = driver_.facts_of(call);
  facts.device = static_cast<std::uint32_t>(context.gpu->number);
  if (driver_.may_launch_kernels(call)) {
    say_once(
        "kernels of this program may launch others: these are in no row, and in no share of the GPU time; "
        "a counted launch includes those that it launches");
  }
  const bool can_be = context.counter || context.gpu->way != CountersWay::counted;
  Uncounted why_not = can_be ? plan_.why_not(call.name) : Uncounted::second_context;
  if (!options_.only.empty() && !is_in_region(current_region(), options_.only)) why_not = Uncounted::left_out;
  TracedKernel* const added = table_.add(call, facts, why_not);
  plan_.is_new(table_.size());
  return added;
}

std::shared_ptr<Tracer::Graph> Tracer::find_graph(void* exec) const {
  const std::shared_lock lock(graphs_mutex_);
  const auto found = graphs_.find(exec);
  return found == graphs_.end() ? nullptr : found->second;
}

/// Nothing if it has no kernels or unknown ones.
Tracer::Launched Tracer::launched_by(Graph& graph, const LaunchCall& call, const Context& context) {
  std::string_view why_not;
  Launched launched;
  {
    const std::lock_guard lock(graph.mutex);
    if (const auto known = graph.launched.find(call.region); known != graph.launched.end())
      return known->second;
    launched = find_launched(graph.nodes, call, context, why_not);
    graph.launched[call.region] = launched;
  }
  if (!why_not.empty())
    say_once(fmt::format("{}: launches of it without a record of CUPTI's are in no row", why_not));
  return launched;
}

Tracer::Launched Tracer::find_launched(const std::vector<GraphNode>& nodes, const LaunchCall& call,
                                       const Context& context, std::string_view& why_not) {
  std::vector<TracedKernel*> kernels;
  std::vector<Begins> begins;
  bool has_kernels = false;
  for (const GraphNode& node : nodes) {
    if (node.kind == GraphNode::Kind::empty || node.is_disabled) continue;
    TracedKernel* known = nullptr;
    if (node.kind == GraphNode::Kind::kernel) {
      LaunchCall kernel = node.launch;
      kernel.context = call.context;
      kernel.region = call.region;
      if (*kernel.name == 0) {
        why_not = "a CUDA graph has a kernel whose name the driver does not say";
        return {};
      }
      known = kernel_of(kernel, context);
      if (known == nullptr) {
        why_not = "a CUDA graph has a kernel for which there is no room among those that are told apart";
        return {};
      }
      has_kernels = true;
    }
    kernels.push_back(known);
    begins.push_back(node.begins);
  }
  if (!has_kernels) return {};
  // A graph of one kernel and nothing else is counted as that kernel.
  if (kernels.size() == 1) return {kernels.front(), nullptr};
  TracedGraph* const graph = table_.add_graph(std::move(kernels), std::move(begins));
  if (graph == nullptr) why_not = "this program has more CUDA graphs than are told apart";
  return {nullptr, graph};
}

Tracer::Launched Tracer::launched_by(const LaunchCall& call, const Context& context) {
  if (context.gpu == nullptr) return {};
  if (!call.of_graph) return {kernel_of(call, context), nullptr};
  const std::shared_ptr<Graph> graph = find_graph(call.function);
  return graph != nullptr ? launched_by(*graph, call, context) : Launched{};
}

void Tracer::note(const LaunchCall& call, const Context& context, const Launched& launched) {
  if (launched.kernel == nullptr && launched.graph == nullptr) return;
  NotedLaunch noted = launched.kernel != nullptr ? NotedLaunch{LaunchKind::plain, launched.kernel->number}
                                                 : NotedLaunch{LaunchKind::graph, launched.graph->number};
  if (captures_.is_capturing(call.stream))
    noted.kind = launched.kernel != nullptr ? LaunchKind::captured : LaunchKind::captured_graph;
  table_.note(call.correlation, noted);
  const auto is_wanted = [](const TracedKernel* kernel) {
    return kernel != nullptr && kernel->uncounted != Uncounted::left_out;
  };
  table_.mark(call.correlation, {streams_.of(call, !captures_.any()), gpus_.time_of_call(*context.gpu)},
              launched.kernel != nullptr ? is_wanted(launched.kernel)
                                         : std::ranges::any_of(launched.graph->kernels, is_wanted));
}

/// The thread must be in a region.
void Tracer::name_region(const Launched& launched) {
  if (launched.kernel != nullptr) table_.add_region(*launched.kernel, current_region());
  if (launched.graph == nullptr) return;
  for (TracedKernel* const kernel : launched.graph->kernels) {
    if (kernel != nullptr) table_.add_region(*kernel, current_region());
  }
}

/// Asks CUPTI for the latest launch's record if it has not come. If none comes, another client in the process takes records, and CUPTI is
/// not asked again until a record comes. @returns whether records come
bool Tracer::check_records(const Context& context) {
  const std::uint32_t latest = context.latest;
  if (!has_records_ || latest == 0) return false;
  if (!table_.awaits_record(latest)) return true;
  if (records_go_elsewhere_.exchange(true)) return false;
  driver_.flush_records();
  const bool came = !table_.awaits_record(latest);
  if (came) records_go_elsewhere_ = false;
  return came;
}

/// A launch is counted without CUPTI's records, which slow it down. Other launches of its context are held meanwhile. If records go to
/// another client, they are left alone.
bool Tracer::begin_to_count(const LaunchCall& call, Context& context, TracedKernel& kernel) {
  bool records_come = false;
  const bool counted = context.counter->begin(kernel.number, [&] {
    records_come = check_records(context);
    return table_.longest_ns(kernel);
  });
  if (!counted) {
    plan_.give_back(kernel);
    return false;
  }
  // From here on its end opens the gate.
  *call.state = Begun{Begun::counted, {&kernel, nullptr}, call.of_graph}.packed();
  if (records_come && driver_.keep_records(call.context, false))
    *call.state = Begun{Begun::counted_without_record, {&kernel, nullptr}, call.of_graph}.packed();
  table_.note(call.correlation, {LaunchKind::counted, kernel.number});
  return true;
}

/// Records resume before other launches do, which resume whatever fails.
void Tracer::end_counted(const Begun& begun, std::uint32_t correlation, Context& context, bool launched) {
  TracedKernel& kernel = *begun.launched.kernel;
  bool goes_on = true;
  if (begun.state == Begun::counted_without_record) {
    if (launched) table_.add_unrecorded(kernel, correlation);
    goes_on = resume_records(context.handle);
  }
  if (!context.counter->end(launched)) plan_.give_back(kernel);
  if (!goes_on) say_once("CUPTI does not go on recording kernels: further launches have no time");
}

/// @returns whether it is counted; otherwise it has entered the gate
bool Tracer::count_if_due(const LaunchCall& call, Context& context, const Launched& launched) {
  ContextCounter& counter = *context.counter;
  if (counter.usable() && !context.gpu->is_handed_over) {
    counter.prepare();
    Countable countable = options_.counting.paced ? counter.countable() : Countable::any;
    if (captures_.any()) countable = Countable::none;
    TracedKernel* const kernel = launched.kernel;
    if (kernel != nullptr && plan_.take(*kernel, countable) && begin_to_count(call, context, *kernel))
      return true;
  }
  // Also when counting has ended: earlier launches are still to be read.
  counter.gate().enter();
  return false;
}

void Tracer::launch_begins(const LaunchCall& call) {
  if (call.state != nullptr) *call.state = 0;
  if (is_over() || is_inside || call.context == nullptr) return;
  if (!counts()) {
    if (!current_region().empty()) attempt([&] { table_.name_region(call.correlation, current_region()); });
    return;
  }
  if (call.state == nullptr) return;
  const bool looked_at = attempt([&] {
    Context& context = context_of(call.context);
    const bool has_region = regions_used() && !current_region().empty();
    std::optional<LaunchCall> in_region;
    if (options_.regions && has_region) {
      in_region = call;
      in_region->region = table_.region_number(current_region()) + 1;
    }
    const Launched launched = launched_by(in_region ? *in_region : call, context);
    note(call, context, launched);
    if (launched.graph != nullptr) gpus_.launches_a_graph(*context.gpu);
    if (has_region) name_region(launched);
    Begun::State state = Begun::not_counted;
    if (context.counter && context.gpu->way == CountersWay::counted) {
      if (count_if_due(call, context, launched)) return;
      state = Begun::entered;
    }
    *call.state = Begun{state, launched, call.of_graph}.packed();
  });
  if (looked_at || *call.state != 0) return;
  // Otherwise it could be counted with another.
  const Context* const context = find_context(call.context);
  if (context == nullptr || !context->counter || context->gpu->way != CountersWay::counted) return;
  context->counter->gate().enter();
  *call.state = Begun{Begun::entered, {}, call.of_graph}.packed();
}

void Tracer::launch_ends(void* handle, std::uint32_t correlation, const std::uint64_t* state, bool launched) {
  if (abandoned_ || is_inside || state == nullptr || *state == 0) return;
  const Begun begun = Begun::unpacked(*state);
  const auto [kernel, graph] = begun.launched;
  const bool captures = captures_.any();
  if (launched && !captures) {
    if (kernel != nullptr) ++kernel->launched;
    if (kernel != nullptr && begun.by_graph) ++kernel->launched_by_graphs;
    if (graph != nullptr) ++graph->launched;
    if (begun.state == Begun::not_counted) return;
  }
  attempt([&] {
    if (!launched) table_.note(correlation, {});
    Context* const context = find_context(handle);
    if (context == nullptr) return;
    if (begun.state == Begun::counted || begun.state == Begun::counted_without_record) {
      end_counted(begun, correlation, *context, launched);
      return;
    }
    if (captures && launched && (kernel != nullptr || graph != nullptr) && !table_.is_captured(correlation)) {
      table_.note(correlation, kernel != nullptr ? NotedLaunch{LaunchKind::captured, kernel->number}
                                                 : NotedLaunch{LaunchKind::captured_graph, graph->number});
      captures_.doubt();
    }
    if (kernel != nullptr && launched && !captures)
      context->latest.store(correlation, std::memory_order_release);
    if (begun.state == Begun::entered) context->counter->gate().leave();
  });
}

void Tracer::memory_call_begins(void* context, std::uint32_t correlation) {
  if (is_over() || is_inside || captures_.any()) return;
  const Context* const of = find_context(context);
  if (of == nullptr || of->gpu == nullptr || !of->gpu->sampler) return;
  table_.note(correlation, {LaunchKind::memory, static_cast<std::uint32_t>(of->gpu->number)});
  table_.mark(correlation, {0, gpus_.time_of_call(*of->gpu)}, false);
}

void Tracer::capture_begins(void*) {
  if (abandoned_) return;
  captures_.begins();
  attempt([&] {
    for (const auto& context : counted_contexts()) context->counter->gate().wait_until_open();
  });
}

/// A capture that cannot be noted is treated as endless: nothing waits for the GPU any more.
void Tracer::capture_has_begun(void* stream, bool capturing) {
  if (!abandoned_) attempt([&] { captures_.has_begun(stream, capturing); });
}

void Tracer::capture_has_ended(void* stream) {
  if (!abandoned_) captures_.has_ended(stream);
}

/// CUPTI seems to put records of kernels in conditional nodes into one device buffer, 8 MiB by default, and to write past its end. After
/// 349,524 records the program has an illegal memory access (CUDA 13.0, driver 580.159.04, H100); none if records were off when the graph
/// was instantiated.
void Tracer::graph_gets_conditional() {
  if (is_over()) return;
  const std::lock_guard lock(has_records_mutex_);
  if (!has_records_.exchange(false)) return;
  attempt([&] {
    std::vector<void*> handles;
    {
      const std::shared_lock contexts_lock(contexts_mutex_);
      for (const auto& [handle, context] : contexts_) handles.push_back(handle);
    }
    for (void* const handle : handles) driver_.keep_records(handle, false);
    keep_records_if_needed();
    say_once(fmt::format(
        "a CUDA graph has conditional nodes, with which CUPTI's records can end the program: there are "
        "none from here on, and {}",
        counts() ? "kernels of conditional nodes are in no row, others without a sample lack times"
                 : "later kernels are in no row"));
  });
}

/// A known graph was updated: calls that change it still name its original nodes.
void Tracer::graph_instantiated(void* exec, void* graph) {
  if (is_over()) return;
  attempt([&] {
    auto made = std::make_shared<Graph>();
    made->nodes = driver_.nodes_of(graph);
    const std::unique_lock lock(graphs_mutex_);
    const std::shared_ptr<Graph> before = std::exchange(graphs_[exec], made);
    if (before == nullptr) return;
    const std::lock_guard of_nodes(before->mutex);
    if (before->nodes.size() != made->nodes.size()) return;
    for (std::size_t i = 0; i < made->nodes.size(); ++i) {
      made->nodes[i].handle = before->nodes[i].handle;
      made->nodes[i].inside = before->nodes[i].inside;
      made->nodes[i].is_disabled = before->nodes[i].is_disabled;
    }
  });
}

void Tracer::graph_destroyed(void* exec) {
  const std::unique_lock lock(graphs_mutex_);
  graphs_.erase(exec);
}

/// @param change of its nodes; says whether it launches something else now, or nothing if that is unknown: the graph is forgotten. A
/// program may not change and launch an executable graph at the same time, so no launch waits for the driver here.
template <typename Change>
void Tracer::change_graph(void* exec, Change change) {
  if (is_over()) return;
  attempt([&] {
    const std::shared_ptr<Graph> graph = find_graph(exec);
    if (graph == nullptr) return;
    std::optional<bool> changed;
    {
      const std::lock_guard lock(graph->mutex);
      changed = change(graph->nodes);
      if (changed.value_or(false)) graph->launched.clear();
    }
    if (!changed) graph_destroyed(exec);
  });
}

/// Often only its arguments have changed.
void Tracer::graph_kernel_changed(void* exec, void* node, const LaunchCall& kernel) {
  change_graph(exec, [&](std::vector<GraphNode>& nodes) -> std::optional<bool> {
    const auto found = std::ranges::find(nodes, node, &GraphNode::handle);
    if (found == nodes.end()) return std::nullopt;
    LaunchCall now = found->launch;
    now.grid = kernel.grid;
    now.block = kernel.block;
    now.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    if (std::exchange(now.function, kernel.function) != kernel.function)
      now.name = driver_.name_of(kernel.function);
    const bool changed = now != found->launch;
    found->launch = now;
    return changed;
  });
}

/// XLA makes one per step: it captures library calls again.
void Tracer::graph_in_graph_changed(void* exec, void* node, void* graph) {
  change_graph(exec, [&](std::vector<GraphNode>& nodes) -> std::optional<bool> {
    std::vector<GraphNode*> inside;
    for (GraphNode& one : nodes) {
      if (one.inside == node) inside.push_back(&one);
    }
    const std::vector<GraphNode> now = driver_.nodes_of(graph);
    const auto is_like = [](const GraphNode* one, const GraphNode& other) { return one->kind == other.kind; };
    if (inside.empty() || !std::ranges::equal(inside, now, is_like)) return std::nullopt;
    bool changed = false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      changed = changed || inside[i]->launch != now[i].launch;
      inside[i]->launch = now[i].launch;
    }
    return changed;
  });
}

void Tracer::graph_node_enabled(void* exec, void* node, bool enabled) {
  change_graph(exec, [&](std::vector<GraphNode>& nodes) -> std::optional<bool> {
    const auto found = std::ranges::find(nodes, node, &GraphNode::handle);
    if (found == nodes.end()) return std::nullopt;
    return std::exchange(found->is_disabled, !enabled) == enabled;
  });
}

void Tracer::stream_created(void* context, void* stream) {
  attempt([&] { driver_.stream_created(context, stream); });
}

void Tracer::stream_destroyed(void* context, void* stream) {
  captures_.has_ended(stream);
  streams_.forget(stream);
  attempt([&] { driver_.stream_destroyed(context, stream); });
}

void Tracer::profiler_started() {
  plan_.begin();
}

void Tracer::kernel_ran(const KernelRecord& record) {
  if (abandoned_) return;
  attempt([&] { table_.add(record); });
  records_go_elsewhere_ = false;
}

void Tracer::records_lost(std::size_t count) {
  table_.lose(count);
}

// Counters

void Tracer::add_readings(std::span<const std::optional<std::uint32_t>> kernels,
                          const CounterReadings& readings) {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i]) continue;
    // Something else ran beside it.
    if (const auto blocks = readings.find(kBlocksLaunched); blocks != readings.end()) {
      TracedKernel& kernel = table_.at(*kernels[i]);
      if (blocks->second.at(i) != static_cast<double>(kernel.blocks)) {
        plan_.give_back_disturbed(kernel);
        continue;
      }
    }
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

void Tracer::poll() {
  if (is_over()) return;
  attempt([&] {
    for (const auto& context : counted_contexts()) context->counter->poll();
  });
  write();
}

void Tracer::stop_sampling() {
  gpus_.stop();
  if (!options_.samples_after) return;
  attempt([&] {
    for (const auto& context : counted_contexts()) context->counter->stop();
  });
}

void Tracer::finish(const std::function<void()>& last_records) {
  if (abandoned_ || finished_.exchange(true)) return;
  const Inside inside;
  gpus_.stop();
  attempt([&] {
    for (const auto& context : counted_contexts()) context->counter->finish(false);
  });
  attempt(last_records);
  if (!write()) write();
  attempt([&] {
    say_what_has_no_record();
    say_why_nothing_was_counted();
    const std::size_t lost = table_.lost();
    if (lost == 0) return;
    say_once(fmt::format(
        "{} launches are in no row: CUPTI lost their records, or there were more than {} distinct ones", lost,
        LaunchTable::kMostKernels));
  });
}

// Output and messages of a traced process.

/// The parent needs this besides the kernels.
void Tracer::append_process(std::string& file, bool all) {
  if (all) {
    has_records_written_.reset();
    devices_written_.clear();
    ends_written_.clear();
  }
  bool has_all_records = has_records_;
  for (const UsedGpu* const gpu : gpus_.all()) has_all_records = has_all_records && !gpu->lacks_records;
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

bool Tracer::write() {
  const std::lock_guard lock(write_mutex_);
  const auto update = [&] {
    file_.update([&](std::string& text, bool all) {
      append_process(text, all);
      table_.append_to(text, all);
    });
  };
  return attempt(update, "", "; it is tried again");
}

/// CUPTI gives a process's records to its latest client; a kernel that failed or still runs has none.
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
  if (options_.samples_after && plan_.launches() == 0) {
    say_once(
        "nothing was sampled: no window of samples of the GPU had a launch that could be told apart; "
        "--counters 1 counts a launch of each");
    return;
  }
  if (plan_.disturbed() > 0) {
    say_once(
        fmt::format("nothing was counted: beside each of {} launches that were to be, something else ran on "
                    "the GPU, or samples did not "
                    "hold it; --counters 1 counts in another way",
                    plan_.disturbed()));
    return;
  }
  say_once(
      "nothing was counted: the notes of its rows say why; where it ended in its warm-up, --after 0 counts "
      "from the second launch of each on");
}

}  // namespace occbench
