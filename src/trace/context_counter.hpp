#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/counters_status.hpp"
#include "trace/captures.hpp"
#include "trace/counted_context.hpp"
#include "trace/counting_budget.hpp"
#include "trace/launch_gate.hpp"

namespace occbench {

/// How long a program may be held up. A kernel may run that waits for a launch that comes later, or never
/// ends: where the GPU is not idle in time, nothing more is counted in its context.
struct CountingTimes {
  Patience before{5000};        ///< for what was launched before a launch that is to be counted
  Patience after{2000};         ///< for that launch itself
  Patience longest_hold{9000};  ///< of another thread's launch: more than both
  Patience session{500};        ///< a session with nothing counted for so long is ended and read
  Patience tending{50};         ///< for the GPU to be idle then; twice as long with each try
  Patience end{1000};           ///< at the end of a context or the process
};

/// Counts launches of one context without changing what the program does: waits with a deadline, never while
/// a stream captures, and holds other threads' launches for as long as it counts one.
class ContextCounter {
 public:
  struct Listener {
    /// Readings of a session, and the kernel of each of its places; none where no launch of one ran alone.
    std::function<void(std::span<const std::optional<std::uint32_t>>, const CounterReadings&)> readings;
    /// Counting has ended for good in this context.
    std::function<void(CountersStatus, const std::string&)> ended;
  };

  ContextCounter(std::unique_ptr<CountedContext> context, const Captures& captures, Listener listener,
                 CountingTimes times = {});

  /// False once nothing more is counted here.
  bool usable() const {
    return usable_.load(std::memory_order_relaxed);
  }

  /// Whether time may be spent on launches of which others like them were counted already. It is decided
  /// between sessions, so that such launches are counted together.
  bool may_repeat() const {
    return may_repeat_.load(std::memory_order_relaxed);
  }

  /// Around a launch that is not counted.
  void enter() {
    gate_.enter();
  }
  void leave() {
    gate_.leave();
  }

  /// Before the first launch of a context: takes the counters if nothing runs, so that it costs no time
  /// later.
  void prepare();

  /// Before a launch that is to be counted. @returns whether it will be: then end() must follow it, on whatever thread
  /// @param kernel    its number, for the listener
  /// @param when_idle called once nothing runs, before the range of the launch begins
  bool begin(std::uint32_t kernel, const std::function<void()>& when_idle);
  /// @param launched whether the driver took it. @returns whether it was counted
  bool end(bool launched);

  /// To be called now and then: ends a session in which nothing has been counted for a while, and says whether
  /// the next one may repeat.
  void tend();

  /// Reads what was counted and counts nothing more. @param gone the context is about to be destroyed
  void finish(bool gone);

  void wait_until_open() const {
    gate_.wait_until_open();
  }

 private:
  LaunchGate::Closed take_over(Patience patience);
  bool idle(Patience patience);
  void set_up();
  bool start_range(const std::function<void()>& when_idle);
  void end_session();
  void give_up(CountersStatus status, const std::string& why);
  template <typename Step>
  bool attempt(Step step);
  template <typename Step>
  bool charge(Step step);

  const std::unique_ptr<CountedContext> context_;
  const Captures& captures_;
  const Listener listener_;
  const CountingTimes times_;
  LaunchGate gate_;
  std::atomic<bool> usable_{true};
  std::atomic<bool> ended_{false};  ///< and the listener knows
  std::atomic<std::int64_t> last_counted_ms_{0};
  std::atomic<bool> in_session_{false};
  std::atomic<bool> broken_{false};  ///< CUPTI failed: it is left alone
  std::atomic<bool> prepared_{false};
  std::atomic<bool> may_repeat_{false};
  std::atomic<int> tended_in_vain_{0};  ///< since a session ended
  CountingBudget budget_;
  // All below only while the gate is closed.
  bool is_set_up_ = false;
  bool range_left_open_ = false;
  LaunchGate::Closed held_;                            ///< while a launch is counted
  std::vector<std::optional<std::uint32_t>> kernels_;  ///< of the session's ranges
};

}  // namespace occbench
