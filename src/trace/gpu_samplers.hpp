#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trace/driver.hpp"
#include "trace/sampler.hpp"

namespace occbench {

/// How the launches on a GPU get their counters.
enum class CountersWay {
  undecided,  ///< not yet known whether the GPU can be sampled
  sampled,
  counted,
  neither,
};

/// A GPU that the program uses.
struct UsedGpu {
  UsedGpu(int number_, const SmsOfGpu& sms_, CountersWay way_) : number(number_), sms(sms_), way(way_) {}
  const int number;
  const SmsOfGpu sms;
  std::atomic<CountersWay> way;
  std::atomic<bool> runs_graphs{false};    ///< of several kernels
  std::atomic<bool> lacks_records{false};  ///< for some launches: CUPTI's were off
  std::atomic<bool> is_handed_over{
      false};  ///< to the thread that samples, or about to be: no launch is counted
  std::unique_ptr<SampledGpu> sampled;
  std::unique_ptr<Sampler> sampler;
  std::thread thread;
  bool is_sampled = false;  ///< by the thread; only it reads and writes this
  bool has_ended = false;   ///< the thread

  bool is_without_records() const {
    return way == CountersWay::sampled || way == CountersWay::undecided;
  }
};

/// The GPUs of a program, each with its own thread if they are sampled. Thread-safe.
class GpuSamplers {
 public:
  struct Listener {
    /// Releases the counters used to count a GPU's launches, and ends the records of the counted contexts. @returns whether that worked;
    /// if not, it is tried again
    std::function<bool(const UsedGpu&)> release_counters;
    std::function<void(const UsedGpu&)> reclaim_counters;  ///< the GPU cannot be sampled
    std::function<void(const UsedGpu&)> begins;            ///< a GPU is sampled from now on
    std::function<void(const UsedGpu&, CountersStatus, const std::string& why)> ended;  ///< for good
    std::function<void(const std::string& line)> says;                                  ///< to the user
  };

  /// @param after   launches are counted one by one for this time; empty = always
  /// @param windows as in Sampler::Of
  GpuSamplers(std::optional<std::chrono::milliseconds> after, std::filesystem::path windows, Driver& driver,
              LaunchTable& table, const Captures& captures, Listener listener);
  ~GpuSamplers();

  UsedGpu* of(int device);
  std::vector<UsedGpu*> all();
  /// Time of a call made now, on the samples' clock since construction; 0 if nothing is sampled now.
  std::uint64_t time_of_call(const UsedGpu& gpu) const {
    return gpu.sampler && gpu.sampler->wants_times() ? driver_.time_ns() - began_ns_ : 0;
  }
  /// A graph's kernels cannot be counted one by one: the GPU is sampled soon.
  void launches_a_graph(UsedGpu& gpu) {
    if (!after_ || gpu.runs_graphs.exchange(true)) return;
    const std::lock_guard lock(end_mutex_);
    end_changed_.notify_all();
  }
  /// Waits for an open window, and no longer.
  void stop();

 private:
  bool wait(std::chrono::nanoseconds time);
  void sample(UsedGpu& gpu);
  bool begin_to_sample(UsedGpu& gpu);
  bool take_over(UsedGpu& gpu);

  const std::optional<std::chrono::milliseconds> after_;
  const std::filesystem::path windows_;
  Driver& driver_;
  LaunchTable& table_;
  const Captures& captures_;
  const Listener listener_;
  const std::uint64_t began_ns_;  ///< on the samples' clock
  std::mutex gpus_mutex_;
  std::map<int, UsedGpu> gpus_;
  std::mutex end_mutex_;
  std::condition_variable end_changed_;
  bool ends_ = false;
};

/// Lets the calling thread run on every processor that any thread of the process may use. A launching thread can be bound to one processor
/// (OMP_PROC_BIND), and a thread that it starts inherits that.
void run_where_any_thread_may();

/// Set during the library's own calls: CUPTI reports their kernels too, which are not the program's.
inline thread_local bool is_inside = false;

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

}  // namespace occbench
