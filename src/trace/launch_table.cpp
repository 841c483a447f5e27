#include "trace/launch_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace occbench {
namespace {

/// Compares what a launch's call and record share.
bool is_launched_as(const TracedKernel& kernel, const KernelFacts& facts) {
  return kernel.facts.grid == facts.grid && kernel.facts.block == facts.block &&
         kernel.facts.dynamic_shared_bytes == facts.dynamic_shared_bytes;
}

/// Of one repeatedly launched graph, in a log: more than run in a window.
constexpr std::size_t kMostKernelsOfGraph = 10'000;

/// Most launches that wait for the record with their kernel. It comes within a second.
constexpr std::size_t kMostNamed = 1 << 18;

/// While records_mutex_ is held.
void add_place(TracedKernel& kernel, PlaceKind kind, std::int64_t number) {
  std::set<std::int64_t>& numbers = kernel.places[static_cast<std::size_t>(kind)];
  if (numbers.size() < kMostPlaces) kernel.places_changed |= numbers.insert(number).second;
}

/// Names have some hundred characters, which take time to read. If the address is the same as before, only the begin is compared. Another
/// module there, with the same handle and a kernel whose name begins alike, is mistaken for it.
bool has_name(TracedKernel& kernel, const char* name) {
  constexpr std::size_t kBegin = 64;
  if (kernel.told_name.load(std::memory_order_relaxed) == name)
    return std::strncmp(kernel.name.data(), name, kBegin) == 0;
  if (kernel.name != name) return false;
  kernel.told_name.store(name, std::memory_order_relaxed);
  return true;
}

}  // namespace

/// A handle is reused for another kernel after its module is unloaded.
TracedKernel* LaunchTable::find(const LaunchCall& call) const {
  const LaunchKey& key = call;
  std::atomic<TracedKernel*>& recent = recent_[Hash()(key) % recent_.size()];
  if (TracedKernel* const kernel = recent;
      kernel != nullptr && kernel->key == key && has_name(*kernel, call.name))
    return kernel;
  const std::shared_lock lock(mutex_);
  const auto found = by_call_.find(key);
  if (found == by_call_.end() || !has_name(*found->second, call.name)) return nullptr;
  return recent = found->second;
}

TracedKernel* LaunchTable::add(const LaunchCall& call, KernelFacts facts, Uncounted uncounted) {
  facts.grid = call.grid;
  facts.block = call.block;
  facts.dynamic_shared_bytes = call.dynamic_shared_bytes;
  facts.region = call.region;
  if (call.cluster != EntryExtent{1, 1, 1}) facts.cluster = call.cluster;
  const std::unique_lock lock(mutex_);
  const LaunchKey& key = call;
  const auto found = by_call_.find(key);
  if (found != by_call_.end() && found->second->name == call.name) return found->second;
  if (found != by_call_.end()) by_call_.erase(found);
  TracedKernel* const made = make(call.name, facts, key);
  if (made == nullptr) return nullptr;
  made->uncounted = uncounted;
  by_call_.emplace(key, made);
  return made;
}

/// While mutex_ is held.
TracedKernel* LaunchTable::make(std::string_view name, KernelFacts facts, const LaunchKey& key) {
  if (kernels_.size() >= kMostKernels) return nullptr;
  facts.name = name_number(name);
  devices_.insert(static_cast<int>(facts.device));
  return &kernels_.emplace_back(static_cast<std::uint32_t>(kernels_.size()), names_[facts.name], facts, key);
}

std::uint32_t LaunchTable::name_number(std::string_view name) {
  const auto found = name_numbers_.find(name);
  if (found != name_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  name_numbers_.emplace(names_.emplace_back(name), number);
  return number;
}

std::uint32_t LaunchTable::region_number(const std::string& region) {
  {
    const std::shared_lock lock(mutex_);
    const auto found = name_numbers_.find(region);
    if (found != name_numbers_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  return name_number(region);
}

void LaunchTable::add_region(TracedKernel& kernel, const std::string& region) {
  const std::uint32_t number = region_number(region);
  const std::lock_guard lock(regions_mutex_);
  regions_of_launches_.emplace(&kernel, number);
}

void LaunchTable::name_region(std::uint32_t correlation, const std::string& region) {
  const std::uint32_t number = region_number(region);
  const std::lock_guard lock(regions_mutex_);
  if (regions_.size() >= kMostNamed) regions_.clear();
  regions_[correlation] = number;
}

TracedKernel& LaunchTable::at(std::uint32_t number) {
  const std::shared_lock lock(mutex_);
  return kernels_[number];
}

TracedGraph* LaunchTable::add_graph(std::vector<TracedKernel*> kernels, std::vector<Begins> begins) {
  const std::unique_lock lock(mutex_);
  TracedGraph& made =
      graphs_.emplace_back(static_cast<std::uint32_t>(graphs_.size()), std::move(kernels), std::move(begins));
  const auto known = graphs_by_kernels_.find(&made);
  const bool is_known = known != graphs_by_kernels_.end();
  const std::size_t more = made.kernels.size() + 1;
  if (is_known || nodes_ + more > kMostNodes) {
    graphs_.pop_back();
    return is_known ? *known : nullptr;
  }
  nodes_ += more;
  graphs_by_kernels_.insert(&made);
  return &made;
}

TracedGraph& LaunchTable::graph_at(std::uint32_t number) {
  const std::shared_lock lock(mutex_);
  return graphs_[number];
}

void LaunchTable::context_is_gone(const void* context) {
  const std::unique_lock lock(mutex_);
  std::erase_if(by_call_, [&](const auto& one) { return one.first.context == context; });
  for (auto& kernel : recent_) kernel = nullptr;
}

/// A kernel known only by its facts: launched by a graph of unknown kernels, or any kernel if CUPTI does not report launches.
TracedKernel* LaunchTable::kernel_of_facts(std::string_view name, KernelFacts facts) {
  const std::unique_lock lock(mutex_);
  facts.name = name_number(name);
  if (const auto found = by_facts_.find(facts); found != by_facts_.end()) return found->second;
  TracedKernel* const kernel = make(name, facts, {});
  if (kernel != nullptr) by_facts_.emplace(facts, kernel);
  return kernel;
}

/// The launch's kernel, or the matching one of its graph. A record may say more registers than the driver, at least 32 for a kernel with an
/// assertion (H100, driver 580.159.04). The driver's facts are used: they are the same in each run. A launch with another carveout is
/// another kernel here. While records_mutex_ is held.
TracedKernel* LaunchTable::recorded_kernel(const KernelRecord& record, NotedLaunch launch) {
  KernelFacts facts = record.facts;
  if (const auto named = regions_.find(record.correlation); by_region_ && named != regions_.end())
    facts.region = named->second + 1;
  TracedKernel* kernel = nullptr;
  if (launch.kind == LaunchKind::graph || launch.kind == LaunchKind::captured_graph) {
    for (TracedKernel* const one : graph_at(launch.number).kernels) {
      if (one != nullptr && is_launched_as(*one, facts) && one->name == record.name) kernel = one;
    }
  } else if (launch.kind != LaunchKind::none && launch.kind != LaunchKind::memory) {
    kernel = &at(launch.number);
  }
  if (kernel == nullptr || !is_launched_as(*kernel, facts)) return kernel_of_facts(record.name, facts);
  const bool is_first = !std::exchange(kernel->has_record, true);
  // 0 registers mean that the driver said nothing.
  const bool is_known = kernel->facts.registers_per_thread > 0;
  if (is_known && facts.carveout_pct == kernel->facts.carveout_pct) return kernel;
  KernelFacts asked = is_known ? kernel->facts : facts;
  asked.name = kernel->facts.name;
  asked.carveout_pct = facts.carveout_pct;
  if (!is_first) return kernel_of_facts(kernel->name, asked);
  kernel->facts = asked;
  kernel->facts_written = false;
  return kernel;
}

void LaunchTable::add_unrecorded(TracedKernel& kernel, std::uint32_t correlation) {
  if (LaunchSlots::find(correlation).kind == LaunchKind::done) return;  // its record came nevertheless
  note(correlation, {LaunchKind::unrecorded, kernel.number});
  const std::lock_guard lock(records_mutex_);
  ++kernel.totals.unrecorded;
}

void LaunchTable::was_idle(std::uint32_t context, std::uint64_t ns) {
  const std::lock_guard lock(records_mutex_);
  idle_ns_[context].push_back(ns);
}

/// If records end while counters are set up, a kernel that ended earlier seems to run until then: 74 to 244 ms for a graph's kernels of 15
/// us (H100, CUDA 13.0). While records_mutex_ is held.
bool LaunchTable::is_possible(const KernelRecord& record) const {
  constexpr std::uint64_t kClocksApart =
      1'000'000;  // more than the clocks of records and of was_idle() differ, ns
  const auto of_context = idle_ns_.find(record.context);
  if (of_context == idle_ns_.end()) return true;
  const auto idle = std::ranges::upper_bound(of_context->second, record.start_ns);
  return idle == of_context->second.end() || record.end_ns < *idle + kClocksApart;
}

void LaunchTable::add(const KernelRecord& record) {
  const NotedLaunch launch = LaunchSlots::find(record.correlation);
  const bool counted = launch.kind == LaunchKind::counted || launch.kind == LaunchKind::unrecorded;
  if (launch.kind == LaunchKind::done || (counted && at(launch.number).name != record.name)) return;
  if (counted) note(record.correlation, {LaunchKind::done, launch.number});
  if (launch.kind == LaunchKind::plain || launch.kind == LaunchKind::captured)
    note(record.correlation, {LaunchKind::recorded, launch.number});
  const std::lock_guard lock(records_mutex_);
  TracedKernel* const kernel = recorded_kernel(record, launch);
  if (kernel == nullptr) {
    ++lost_;
    return;
  }
  // An unexpected record: the launch is not a second one.
  if (launch.kind == LaunchKind::unrecorded) --kernel->totals.unrecorded;
  LaunchTotals& totals = kernel->totals;
  const std::uint64_t ns = record.end_ns - record.start_ns;
  // A launch that was not reported was not held while the context was idle.
  const bool has_time = launch.kind == LaunchKind::none || is_possible(record);
  ++(has_time ? totals.recorded : totals.unrecorded);
  totals.of_graphs += record.of_graph ? 1 : 0;
  if (has_time) totals.total_ns += ns;
  if (has_time && !counted) {
    ++totals.timed;
    kernel->times_changed |= kernel->times.add(static_cast<double>(ns));
  }
  add_place(*kernel, PlaceKind::context, record.context);
  add_place(*kernel, PlaceKind::stream, record.stream);
  if (record.graph_node != 0)
    add_place(*kernel, PlaceKind::graph_node, static_cast<std::int64_t>(record.graph_node));
  if (const auto region = region_of(record)) add_place(*kernel, PlaceKind::region, *region);
}

/// Set by name_region() for its launch. Graph launches have a record per kernel.
std::optional<std::uint32_t> LaunchTable::region_of(const KernelRecord& record) {
  const std::lock_guard lock(regions_mutex_);
  const auto named = regions_.find(record.correlation);
  if (named == regions_.end()) return {};
  const std::uint32_t region = named->second;
  if (!record.of_graph) regions_.erase(named);
  return region;
}

void LaunchTable::lose(std::size_t records) {
  const std::lock_guard lock(records_mutex_);
  lost_ += records;
}

std::uint64_t LaunchTable::longest_ns(const TracedKernel& kernel) const {
  const std::lock_guard lock(records_mutex_);
  const std::vector<double>& times = kernel.times.kept();
  return times.empty() ? 0 : static_cast<std::uint64_t>(*std::ranges::max_element(times));
}

void LaunchTable::add_reading(std::uint32_t kernel, std::vector<double> values) {
  TracedKernel& counted = at(kernel);
  const std::lock_guard lock(records_mutex_);
  counted.readings.push_back(std::move(values));
  has_readings_ = true;
}

std::vector<LoggedLaunch> LaunchTable::log(std::uint32_t first, std::uint32_t last, int device) {
  struct Noted {
    NotedLaunch launch;
    LaunchMark mark;
    bool is_left_out = false;
  };
  std::vector<Noted> all;
  for (std::uint32_t correlation = first; correlation != last + 1; ++correlation) {
    const NotedLaunch launch = LaunchSlots::find(correlation);
    if (launch.kind != LaunchKind::none && !is_captured(correlation))
      all.push_back({launch, mark_of(correlation)});
  }
  std::vector<LoggedLaunch> launches;
  const std::shared_lock lock(mutex_);
  std::size_t kernels_after = 0;  // of the same graph
  for (std::size_t i = all.size(); i-- > 0;) {
    const NotedLaunch& launch = all[i].launch;
    const bool is_again = i + 1 < all.size() && launch.kind == LaunchKind::graph &&
                          all[i + 1].launch.kind == LaunchKind::graph &&
                          all[i + 1].launch.number == launch.number;
    if (!is_again) kernels_after = 0;
    if (launch.kind != LaunchKind::graph) continue;
    all[i].is_left_out = kernels_after > kMostKernelsOfGraph;
    kernels_after += graphs_[launch.number].kernels.size();
  }
  for (const auto& [launch, mark, is_left_out] : all) {
    const auto add_launch = [&, at = mark](const TracedKernel* kernel, Begins begins = Begins::after_end) {
      if (at.stream == LoggedLaunch::kBeside) begins = Begins::beside;
      if ((at.stream & LoggedLaunch::kEarly) != 0) begins = std::max(begins, Begins::early);
      const std::uint32_t stream = at.stream & ~LoggedLaunch::kEarly;
      if (kernel == nullptr) {
        launches.push_back({LoggedLaunch::kMemory, 0, stream, at.called_ns, begins});
      } else if (kernel->device == device) {
        launches.push_back({kernel->number, kernel->blocks, stream, at.called_ns, begins});
      }
    };
    if (is_left_out) continue;
    if (launch.kind == LaunchKind::memory) {
      if (static_cast<int>(launch.number) == device) add_launch(nullptr);
    } else if (launch.kind != LaunchKind::graph) {
      add_launch(&kernels_[launch.number]);
    } else {
      const TracedGraph& graph = graphs_[launch.number];
      for (std::size_t i = 0; i < graph.kernels.size(); ++i)
        add_launch(graph.kernels[i], i < graph.begins.size() ? graph.begins[i] : Begins::after_end);
    }
  }
  return launches;
}

std::size_t LaunchTable::add_sampled(std::span<const SampledLaunch> launches, int warps_per_sm) {
  std::size_t wanted = 0;
  for (const SampledLaunch& launch : launches) {
    TracedKernel& kernel = at(launch.kernel);
    if (kernel.uncounted == Uncounted::left_out) continue;
    ++wanted;
    const std::lock_guard lock(records_mutex_);
    kernel.sampled += launch;
    kernel.sampled_times.add(launch.active_ns);
    has_readings_ = true;
    kernel.sampled_pcts.add(100 * launch.warp_cycles / (warps_per_sm * launch.active_cycles));
  }
  return wanted;
}

std::int64_t LaunchTable::sampled_launches(std::uint32_t kernel) {
  TracedKernel& sampled = at(kernel);
  const std::lock_guard lock(records_mutex_);
  return sampled.sampled.launches;
}

/// A graph launch is one launch of each of its kernels.
void LaunchTable::count_launches_of_graphs() {
  const std::shared_lock lock(mutex_);
  for (TracedGraph& graph : graphs_) {
    const std::int64_t more = graph.launched - graph.launched_counted;
    if (more == 0) continue;
    graph.launched_counted += more;
    for (TracedKernel* const kernel : graph.kernels) {
      if (kernel == nullptr) continue;
      kernel->launched += more;
      kernel->launched_by_graphs += more;
    }
  }
}

void LaunchTable::add_regions_of_launches() {
  std::set<std::pair<TracedKernel*, std::uint32_t>> launched;
  {
    const std::lock_guard lock(regions_mutex_);
    launched.swap(regions_of_launches_);
  }
  const std::lock_guard lock(records_mutex_);
  for (const auto& [kernel, region] : launched) add_place(*kernel, PlaceKind::region, region);
}

void LaunchTable::append_to(std::string& file, bool all) {
  count_launches_of_graphs();
  add_regions_of_launches();
  // Kernels before names: a kernel added in between is written next time.
  const std::vector<TracedKernel*> known = kernels();
  {
    const std::shared_lock lock(mutex_);
    if (all) names_written_ = 0;
    for (; names_written_ < names_.size(); ++names_written_)
      append_text(file, EntryKind::name, static_cast<std::uint32_t>(names_written_), names_[names_written_]);
  }
  for (TracedKernel* const kernel : known) {
    const std::lock_guard lock(records_mutex_);
    append_kernel(file, *kernel, all);
  }
}

/// While records_mutex_ is held.
void LaunchTable::append_kernel(std::string& file, TracedKernel& kernel, bool all) {
  LaunchTotals totals = kernel.totals;
  totals.launched = kernel.launched;
  totals.launched_by_graphs = kernel.launched_by_graphs;
  if (kernel.readings.empty()) totals.uncounted = kernel.uncounted;
  if (totals.launched + totals.recorded + totals.unrecorded == 0 && kernel.readings.empty()) return;
  if (all || !kernel.facts_written) append_facts(file, EntryKind::kernel, kernel.number, kernel.facts);
  kernel.facts_written = true;
  if (all || totals != kernel.totals_written) append_facts(file, EntryKind::totals, kernel.number, totals);
  kernel.totals_written = totals;
  const auto append_floats = [&](EntryKind kind, const std::vector<double>& values) {
    const std::vector<float> floats(values.begin(), values.end());
    append_entry(file, kind, kernel.number, 0, std::as_bytes(std::span(floats)));
  };
  if (all || std::exchange(kernel.times_changed, false)) append_floats(EntryKind::times, kernel.times.kept());
  if (kernel.sampled.launches > 0 && (all || kernel.sampled.launches != kernel.sampled_written)) {
    append_facts(file, EntryKind::sampled, kernel.number, kernel.sampled);
    append_floats(EntryKind::sampled_pcts, kernel.sampled_pcts.kept());
    append_floats(EntryKind::sampled_times, kernel.sampled_times.kept());
    kernel.sampled_written = kernel.sampled.launches;
  }
  if (all || std::exchange(kernel.places_changed, false)) {
    for (std::uint32_t kind = 0; kind < kernel.places.size(); ++kind) {
      const std::vector<std::int64_t> numbers(kernel.places[kind].begin(), kernel.places[kind].end());
      append_entry(file, EntryKind::places, kernel.number, kind, std::as_bytes(std::span(numbers)));
    }
  }
  if (all) kernel.readings_written = 0;
  for (; kernel.readings_written < kernel.readings.size(); ++kernel.readings_written) {
    append_entry(file, EntryKind::reading, kernel.number, 0,
                 std::as_bytes(std::span(kernel.readings[kernel.readings_written])));
  }
}

std::vector<TracedKernel*> LaunchTable::kernels() const {
  const std::shared_lock lock(mutex_);
  std::vector<TracedKernel*> all;
  all.reserve(kernels_.size());
  for (TracedKernel& kernel : kernels_) all.push_back(&kernel);
  return all;
}

std::size_t LaunchTable::size() const {
  const std::shared_lock lock(mutex_);
  return kernels_.size();
}

std::set<int> LaunchTable::devices() const {
  const std::shared_lock lock(mutex_);
  return devices_;
}

std::size_t LaunchTable::lost() const {
  const std::lock_guard lock(records_mutex_);
  return lost_;
}

MissingRecords LaunchTable::missing_records() const {
  MissingRecords missing;
  for (const TracedKernel* const kernel : kernels()) {
    const std::lock_guard lock(records_mutex_);
    const std::int64_t meant = kernel->launched;
    const std::int64_t placed = kernel->totals.recorded + kernel->totals.unrecorded;
    missing.of += meant;
    missing.launches += std::max<std::int64_t>(meant - placed, 0);
    missing.kernels += meant > 0 && placed == 0 ? 1 : 0;
  }
  return missing;
}

}  // namespace occbench
