#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace occbench {

/// What a launch was, for the record that comes of it.
enum class LaunchKind : std::uint8_t {
  none,        ///< not known
  plain,       ///< of a kernel
  counted,     ///< of a kernel, and counted
  unrecorded,  ///< counted while CUPTI kept no records
  done,        ///< counted, and its record has come: others of its call are of what CUPTI launches to read counters
};

struct NotedLaunch {
  LaunchKind kind = LaunchKind::none;
  std::uint32_t kernel = 0;
};

/// The latest launches of a process by CUPTI's correlation numbers, which it gives to calls in order. Lock-free; any thread.
/// A launch is forgotten after kLaunches further calls, which takes seconds: its record comes in a fraction of one.
class LaunchSlots {
 public:
  static constexpr std::size_t kLaunches = 1 << 18;
  static constexpr std::uint32_t kMostKernels = 1 << 24;

  void note(std::uint32_t correlation, NotedLaunch launch) {
    slot(correlation) = std::uint64_t{correlation} << 32 | std::uint64_t{launch.kernel} << 8 |
                        static_cast<std::uint64_t>(launch.kind);
  }
  NotedLaunch find(std::uint32_t correlation) const {
    const std::uint64_t value = slot(correlation);
    if (value >> 32 != correlation) return {};
    return {static_cast<LaunchKind>(value & 0xFF), static_cast<std::uint32_t>(value >> 8) & (kMostKernels - 1)};
  }

 private:
  std::atomic<std::uint64_t>& slot(std::uint32_t correlation) const {
    return (*slots_)[correlation % kLaunches];
  }

  std::unique_ptr<std::array<std::atomic<std::uint64_t>, kLaunches>> slots_ =
      std::make_unique<std::array<std::atomic<std::uint64_t>, kLaunches>>();
};

}  // namespace occbench
