#include "trace/sampling.hpp"

#include <algorithm>
#include <utility>

namespace occbench {
namespace {

/// A program repeats itself once it has made so many launches since one of a new configuration. Tuners launch
/// a candidate up to ten times or so, often with a kernel that clears the cache before each. A program of one
/// kernel has nothing to choose.
constexpr std::int64_t kRepeats = 32;
constexpr std::int64_t kRepeatsOfOneKernel = 4;

/// Launches that could not be counted, such as those that the driver refused, are tried again, but not for
/// ever.
constexpr int kMoreTries = 20;

/// Configurations that are told apart. A program with more is counted in those that it began with.
constexpr std::size_t kMostConfigurations = 1 << 16;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

std::uint64_t pair(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint64_t>(a) << 32 | b;
}

}  // namespace

std::size_t Sampling::Hash::operator()(const Key& key) const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.function);
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(key.context));
  hash = mixed(hash, pair(key.grid.x, key.grid.y));
  hash = mixed(hash, pair(key.grid.z, key.block.x));
  hash = mixed(hash, pair(key.block.y, key.block.z));
  hash = mixed(hash, pair(key.cluster.x, key.dynamic_shared_bytes));
  return mixed(hash, pair(key.cluster.y, key.cluster.z));
}

Sampling::Key Sampling::key_of(const LaunchCall& call) {
  return {call.context, call.function, call.grid, call.block, call.cluster, call.dynamic_shared_bytes};
}

Look Sampling::look(const LaunchCall& call, Countable countable) {
  const bool captured = countable == Countable::none;
  const std::lock_guard lock(mutex_);
  ++launches_;
  ++since_new_;
  auto found = seen_.find(key_of(call));
  if (found == seen_.end()) {
    since_new_ = 0;
    if (seen_.size() >= kMostConfigurations) return Look::pass;
    found = seen_.try_emplace(key_of(call)).first;
  }
  Seen& seen = found->second;
  if (seen.launches == 0 || seen.name != call.name) {
    if (seen.looked_at.kernel && gone_.size() < kMostConfigurations)
      gone_.push_back(std::move(seen.looked_at));
    seen = {.name = std::string(call.name)};
    seen.wanted = !communicates(call.name) && (!rules_.wanted || rules_.wanted(call.name));
    since_new_ = 0;
  }
  ++seen.launches;
  seen.looked_at.launches += captured ? 0 : 1;
  const int most = countable == Countable::first ? std::min(rules_.counted, 1) : rules_.counted;
  const bool due = !captured && seen.wanted && seen.launches > 1 && seen.counted < most &&
                   seen.tried < rules_.counted + kMoreTries && warmed_up();
  if (!due) return !captured && !seen.looked_at.kernel ? Look::first : Look::pass;
  // Counted until somebody tells otherwise: other threads are not to count it too.
  ++seen.counted;
  ++seen.tried;
  return Look::count;
}

void Sampling::describe(const LaunchCall& call, int device, ProgramKernel kernel) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(key_of(call));
  if (found == seen_.end()) return;
  found->second.looked_at.device = device;
  found->second.looked_at.kernel = std::make_shared<const ProgramKernel>(std::move(kernel));
}

void Sampling::refused(const LaunchCall& call) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(key_of(call));
  if (found != seen_.end()) --found->second.looked_at.launches;
}

std::vector<LookedAt> Sampling::looked_at() const {
  const std::lock_guard lock(mutex_);
  std::vector<LookedAt> all = gone_;
  for (const auto& [key, seen] : seen_) all.push_back(seen.looked_at);
  std::erase_if(all, [](const LookedAt& one) { return one.kernel == nullptr || one.launches <= 0; });
  return all;
}

void Sampling::failed(const LaunchCall& call) {
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(key_of(call));
  if (found != seen_.end() && found->second.counted > 0) --found->second.counted;
}

bool Sampling::warmed_up() const {
  if (begun_.load()) return true;
  if (rules_.after) return launches_ > *rules_.after;
  return since_new_ >= (seen_.size() > 1 ? kRepeats : kRepeatsOfOneKernel);
}

std::int64_t Sampling::launches() const {
  const std::lock_guard lock(mutex_);
  return launches_;
}

std::size_t Sampling::configurations() const {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

bool communicates(std::string_view mangled_name) {
  return mangled_name.find("nccl") != std::string_view::npos ||
         mangled_name.find("nvshmem") != std::string_view::npos;
}

bool is_one_kernel(std::span<const GraphNode> nodes) {
  return std::ranges::count(nodes, GraphNode::kernel) == 1 &&
         std::ranges::count(nodes, GraphNode::other) == 0;
}

}  // namespace occbench
