#include "trace/gpu_samplers.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <sched.h>
#include <string>
#include <utility>

#include "predict/parallel.hpp"

namespace occbench {
namespace {

constexpr int kThreadsPerWarp = 32;

}  // namespace

/// C++'s directory iterators end the program if there is no memory.
void run_where_any_thread_may() {
  cpu_set_t any;
  CPU_ZERO(&any);
  DIR* const threads = ::opendir("/proc/self/task");
  while (const dirent* const thread = threads != nullptr ? ::readdir(threads) : nullptr) {
    pid_t number = 0;
    std::from_chars(thread->d_name, thread->d_name + std::strlen(thread->d_name), number);
    cpu_set_t allowed;
    if (::sched_getaffinity(number, sizeof(allowed), &allowed) == 0) CPU_OR(&any, &any, &allowed);
  }
  if (threads != nullptr) ::closedir(threads);
  if (CPU_COUNT(&any) > 0) static_cast<void>(::sched_setaffinity(0, sizeof(any), &any));
}

GpuSamplers::GpuSamplers(std::optional<std::chrono::milliseconds> after, std::filesystem::path windows,
                         Driver& driver, LaunchTable& table, const Captures& captures, Listener listener)
    : after_(after),
      windows_(std::move(windows)),
      driver_(driver),
      table_(table),
      captures_(captures),
      listener_(std::move(listener)),
      began_ns_(driver.time_ns()) {}

GpuSamplers::~GpuSamplers() {
  stop();
  for (auto& [number, gpu] : gpus_) {
    if (gpu.thread.joinable()) gpu.thread.join();
  }
}

UsedGpu* GpuSamplers::of(int device) {
  {
    const std::lock_guard lock(gpus_mutex_);
    if (const auto known = gpus_.find(device); known != gpus_.end()) return &known->second;
  }
  const DeviceFacts facts = driver_.describe(device);
  const SmsOfGpu sms{facts.sm_count, facts.threads_per_sm / kThreadsPerWarp};
  std::unique_ptr<SampledGpu> sampled = after_ ? driver_.make_sampled_gpu(device) : nullptr;
  const std::lock_guard lock(gpus_mutex_);
  const bool is_counted_first = !after_ || after_->count() > 0;
  const auto [found, is_new] = gpus_.try_emplace(
      device, device, sms, is_counted_first ? CountersWay::counted : CountersWay::undecided);
  UsedGpu& gpu = found->second;
  if (!is_new || !after_) return &gpu;
  try {
    gpu.sampled = std::move(sampled);
    gpu.sampler = std::make_unique<Sampler>(
        *gpu.sampled, Sampler::Of{device, sms.warps_per_sm, began_ns_, windows_, listener_.says}, table_,
        captures_, [this](std::chrono::nanoseconds time) { return wait(time); });
    gpu.thread = thread_without_signals([this, &gpu] { sample(gpu); });
  } catch (...) {
    gpus_.erase(found);  // the next launch tries again
    throw;
  }
  return &gpu;
}

std::vector<UsedGpu*> GpuSamplers::all() {
  const std::lock_guard lock(gpus_mutex_);
  std::vector<UsedGpu*> gpus;
  for (auto& [number, gpu] : gpus_) gpus.push_back(&gpu);
  return gpus;
}

/// @returns false at the program's end
bool GpuSamplers::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(end_mutex_);
  return !end_changed_.wait_for(lock, time, [&] { return ends_; });
}

/// The thread of a GPU.
void GpuSamplers::sample(UsedGpu& gpu) {
  const Inside inside;
  run_where_any_thread_may();
  const auto end = [&](CountersStatus status, const char* why) {
    gpu.way = CountersWay::neither;
    try {
      listener_.ended(gpu, status, why);
    } catch (const std::exception&) {  // no memory to say so
    }
  };
  try {
    if (begin_to_sample(gpu)) {
      while (wait(gpu.sampler->sample())) {
      }
    }
  } catch (const CountersUnavailable& failure) {
    end(failure.status(), failure.what());
  } catch (const std::exception& failure) {
    end(CountersStatus::failed, failure.what());
  }
  // At the program's end the libraries that CUPTI opened after this one are gone. Their resources go with the process.
  if (gpu.is_sampled && wait(std::chrono::nanoseconds(0))) gpu.sampled->give_back();
  const std::lock_guard lock(end_mutex_);
  gpu.has_ended = true;
  end_changed_.notify_all();
}

/// After its launches have been counted for a while, pauses excluded. @returns false at the program's end
bool GpuSamplers::take_over(UsedGpu& gpu) {
  constexpr int kMostTries = 6;
  /// A launch comes with some 10 calls. Set-up has few; a program that launches rarely is cheap to count.
  constexpr std::int64_t kBusyCallsPerSecond = 300;
  /// A program with graphs has its other launches counted this long: it may end before a first window.
  constexpr std::chrono::milliseconds kBesideGraphs{500};
  const auto tick = std::min(*after_, std::chrono::milliseconds(1000));
  for (std::chrono::milliseconds busy{0}; busy < *after_ && !gpu.runs_graphs;) {
    const std::uint32_t before = table_.latest();
    std::unique_lock lock(end_mutex_);
    end_changed_.wait_for(lock, tick, [&] { return ends_ || gpu.runs_graphs; });
    if (ends_) return false;
    if (1000 * std::int64_t{table_.latest() - before} >= kBusyCallsPerSecond * tick.count()) busy += tick;
  }
  if (gpu.runs_graphs && !wait(kBesideGraphs)) return false;
  gpu.is_handed_over = true;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (listener_.release_counters(gpu)) return true;
    if (!wait(tick)) return false;
  }
  throw CountersUnavailable(CountersStatus::off, "its kernels did not end in time for samples to begin");
}

/// @returns false if launches must be counted one by one, or at the program's end
bool GpuSamplers::begin_to_sample(UsedGpu& gpu) {
  if (gpu.way == CountersWay::counted && !take_over(gpu)) return false;
  gpu.is_sampled = true;
  try {
    gpu.sampler->set_up();
  } catch (const CountersUnavailable& failure) {
    if (failure.status() == CountersStatus::denied || failure.status() == CountersStatus::busy) throw;
    gpu.sampled->give_back();
    gpu.is_sampled = false;
    gpu.is_handed_over = false;
    gpu.way = CountersWay::counted;
    listener_.reclaim_counters(gpu);
    return false;
  }
  gpu.way = CountersWay::sampled;
  listener_.begins(gpu);
  return true;
}

void GpuSamplers::stop() {
  constexpr std::chrono::seconds kLongestWindow{2};
  std::unique_lock lock(end_mutex_);
  ends_ = true;
  end_changed_.notify_all();
  end_changed_.wait_for(lock, kLongestWindow, [&] {
    const std::lock_guard gpus_lock(gpus_mutex_);
    return std::ranges::all_of(
        gpus_, [](const auto& one) { return one.second.has_ended || !one.second.thread.joinable(); });
  });
}

}  // namespace occbench
