#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "trace/attribution.hpp"
#include "trace/driver.hpp"

namespace occbench {

/// Numbers that launches of one stream have in common, as LoggedLaunch has them. Lock-free; any thread.
class StreamNumbers {
 public:
  explicit StreamNumbers(Driver& driver) : driver_(driver) {}

  /// @param may_ask whether the driver can be asked about a stream that is new; if not, it is taken as non-blocking
  std::uint16_t of(const LaunchCall& call, bool may_ask) {
    const auto handle = reinterpret_cast<std::uintptr_t>(call.stream);
    if (call.may_overlap) return kOverlaps;
    if (handle <= 1) return LoggedLaunch::kLegacyStream;
    // Each thread has a default stream of its own by the same handle.
    if (handle == 2) return hash(handle ^ std::hash<std::thread::id>()(std::this_thread::get_id()));
    const bool blocks = is_blocking(call.stream, handle, may_ask);
    return static_cast<std::uint16_t>(hash(handle) | (blocks ? 0 : LoggedLaunch::kNonBlocking));
  }
  /// Another may have its handle from now on.
  void forget(void* stream) {
    slot(reinterpret_cast<std::uintptr_t>(stream)) = 0;
  }

 private:
  /// Of launches that may begin before those before them in their stream have ended.
  static constexpr std::uint16_t kOverlaps = LoggedLaunch::kNonBlocking | 0x4000;
  static constexpr std::uint64_t kBlocking = 1;  ///< handles are multiples of 8

  static std::uint16_t hash(std::uint64_t handle) {
    return static_cast<std::uint16_t>((handle * 0x9E3779B97F4A7C15u) >> 50 | 1);
  }
  std::atomic<std::uint64_t>& slot(std::uint64_t handle) {
    return slots_[(handle * 0x9E3779B97F4A7C15u) >> 54];
  }
  bool is_blocking(void* stream, std::uint64_t handle, bool may_ask) {
    std::atomic<std::uint64_t>& known = slot(handle);
    const std::uint64_t value = known;
    if ((value & ~kBlocking) == handle) return (value & kBlocking) != 0;
    if (!may_ask) return false;
    const bool blocks = driver_.is_blocking(stream);
    known = handle | (blocks ? kBlocking : 0);
    return blocks;
  }

  Driver& driver_;
  std::array<std::atomic<std::uint64_t>, 1024> slots_{};
};

}  // namespace occbench
