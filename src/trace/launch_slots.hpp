#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace occbench {

/// What a launch was, for the record that comes of it, and for samples.
enum class LaunchKind : std::uint8_t {
  none,        ///< not known, or refused
  plain,       ///< of a kernel
  recorded,    ///< of a kernel, and its record has come
  counted,     ///< of a kernel, and counted
  unrecorded,  ///< counted while CUPTI kept no records
  done,  ///< counted, and its record has come: others of its call are of what CUPTI launches to read counters
  graph,      ///< of a graph
  memory,     ///< a fill or a copy of the device's memory
  uncertain,  ///< made while a stream captured: it may not run
};

struct NotedLaunch {
  LaunchKind kind = LaunchKind::none;
  std::uint32_t number = 0;  ///< of the kernel or the graph
};

/// Where and when the call was made.
struct LaunchMark {
  std::uint16_t stream = 0;     ///< equal for calls of one stream
  std::uint64_t called_ns = 0;  ///< on CUPTI's clock, 48 bits; 0 = not known
};

/// The latest launches of a process by CUPTI's correlation numbers, which it gives to calls in order. Lock-free; any thread.
/// A launch is forgotten after kLaunches further calls, which takes seconds: its record comes in a fraction of one.
class LaunchSlots {
 public:
  static constexpr std::size_t kLaunches = 1 << 18;
  static constexpr std::uint32_t kMostNumbers = 1 << 24;  ///< of kernels or graphs

  void note(std::uint32_t correlation, NotedLaunch launch) {
    slot(correlation).launch = std::uint64_t{correlation} << 32 | std::uint64_t{launch.number} << 8 |
                               static_cast<std::uint64_t>(launch.kind);
  }
  NotedLaunch find(std::uint32_t correlation) const {
    const std::uint64_t value = slot(correlation).launch;
    if (value >> 32 != correlation) return {};
    return {static_cast<LaunchKind>(value & 0xFF),
            static_cast<std::uint32_t>(value >> 8) & (kMostNumbers - 1)};
  }

  /// Of a launch that is noted.
  /// @param is_wanted whether samples of it are
  void mark(std::uint32_t correlation, LaunchMark mark, bool is_wanted) {
    slot(correlation).mark.store(mark.called_ns << 16 | mark.stream, std::memory_order_relaxed);
    latest_.store(correlation, std::memory_order_relaxed);
    if (is_wanted) latest_wanted_.store(correlation, std::memory_order_relaxed);
  }
  LaunchMark mark_of(std::uint32_t correlation) const {
    const std::uint64_t value = slot(correlation).mark.load(std::memory_order_relaxed);
    return {static_cast<std::uint16_t>(value), value >> 16};
  }
  /// The correlation of the latest launch, or of one beside it where several threads launch.
  std::uint32_t latest() const {
    return latest_.load(std::memory_order_relaxed);
  }
  std::uint32_t latest_wanted() const {
    return latest_wanted_.load(std::memory_order_relaxed);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> launch{0};
    std::atomic<std::uint64_t> mark{0};
  };
  Slot& slot(std::uint32_t correlation) const {
    return (*slots_)[correlation % kLaunches];
  }

  std::atomic<std::uint32_t> latest_{0};
  std::atomic<std::uint32_t> latest_wanted_{0};
  std::unique_ptr<std::array<Slot, kLaunches>> slots_ = std::make_unique<std::array<Slot, kLaunches>>();
};

}  // namespace occbench
