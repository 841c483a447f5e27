#pragma once

#include <algorithm>
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
#include <thread>
#include <utility>
#include <vector>

#include "measure/cupti.hpp"
#include "measure/range_profiler.hpp"
#include "trace/captures.hpp"
#include "trace/counting_plan.hpp"

namespace occbench {

/// Ranges of a session of CUPTI's range profiler, which takes 6 ms to start one and 8 to end it, 5 and 7 with 32 ranges, but a quarter of
/// a second to start one of 128 (H100, CUDA 13.0).
inline constexpr std::size_t kRangesOfSession = 64;

/// A context whose launches are counted, one at a time in a range of its own, one or many in a session. All but
/// reached() may be called only while nothing runs in the context, for they wait until it has ended. Any
/// thread may call, one at a time. Everything throws CountersUnavailable.
class CountedContext {
 public:
  virtual ~CountedContext() = default;

  /// Takes the counters and makes them ready, so that start() is quick; some 400 ms.
  virtual void set_up() = 0;
  /// Gives them back, or leaves them to whoever samples the GPU next. Never throws.
  virtual void tear_down() noexcept = 0;
  virtual std::size_t most_ranges() const {
    return kRangesOfSession;
  }

  /// Notes what the context has to do by now, and says later whether that is done.
  virtual void mark() = 0;
  virtual bool reached() = 0;

  virtual void start() = 0;
  /// @param expected_ns how long the launch takes by records of others like it; 0 = not known
  virtual void push(const std::string& range, std::uint64_t expected_ns) = 0;
  virtual void pop() = 0;
  /// In place of pop(), where the range is not to be read.
  virtual void abandon() = 0;
  /// Ends a session. @returns the readings of its ranges, in their order
  virtual CounterReadings stop(std::size_t ranges) = 0;
};

/// How much of the time of a context counting may take: a fiftieth, from the first launch that was counted on. First readings of kernels and
/// configurations may take half a second before that: some 100 readings (H200). Thread-safe.
class CountingBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShare = 50;
  static constexpr std::chrono::milliseconds kOfFirst{500};

  /// Counting held the program from `begin` to `end`.
  void spend(Clock::time_point begin, Clock::time_point end) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = begin;
    spent_ += end - begin;
  }

  /// First readings alone before anything was spent.
  Countable allows(Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    if (first_ && now - *first_ >= kShare * spent_) return Countable::any;
    return spent_ < kOfFirst ? Countable::first : Countable::beyond_budget;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Clock::time_point> first_;
  Clock::duration spent_{};
};

using Patience = std::chrono::milliseconds;

/// Asks `done` until it says yes or the patience is at its end: without a break for 50 us, then in breaks
/// that grow with the wait to at most a millisecond. @returns whether it said yes
template <typename Done>
bool wait_for(Patience patience, Done done) {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited >= patience) return false;
    if (waited > 50us) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 8, 1ms));
  }
  return true;
}

/// Lets the launches of a context through, any number at once, or holds them while one of them is counted: a
/// kernel of another thread beside it would be counted with it. Nothing waits for ever.
class LaunchGate {
 public:
  /// @param longest_hold a launch that was held for so long goes through
  explicit LaunchGate(Patience longest_hold) : longest_hold_(longest_hold) {}

  /// Around a launch that is not counted.
  void enter();
  void leave() {
    inside_.fetch_sub(1);
  }

  struct Opener {
    void operator()(LaunchGate* gate) const {
      gate->closed_.store(false);
    }
  };
  /// The gate is closed as long as this lives, unless it is empty.
  using Closed = std::unique_ptr<LaunchGate, Opener>;

  /// Holds launches that come and waits for those that are inside to leave, when no other thread holds
  /// launches any more. @returns empty, and holds none, if that was not so in time
  [[nodiscard]] Closed close(Patience patience);

  /// Waits while it is closed, at most for the longest hold.
  void wait_until_open() const;

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
  Patience longest_hold_;
};

/// How long a program may be held up. A kernel may run that waits for a launch that comes later, or never
/// ends: where the GPU is not idle in time, nothing more is counted in its context.
struct CountingTimes {
  Patience before{5000};        ///< for what was launched before a launch that is to be counted
  Patience after{2000};         ///< for that launch itself
  Patience longest_hold{9000};  ///< of another thread's launch: more than both
  Patience session{500};        ///< a session with nothing counted for so long is ended and read
  Patience polling{50};         ///< for the GPU to be idle then; twice as long with each try
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
    /// Nothing of the context runs.
    std::function<void()> idle = [] {};
    /// The counters have been taken.
    std::function<void()> ready = [] {};
  };

  ContextCounter(std::unique_ptr<CountedContext> context, const Captures& captures, Listener listener,
                 CountingTimes times = {});

  /// False once nothing more is counted here.
  bool usable() const {
    return usable_.load(std::memory_order_relaxed);
  }

  /// Which launches time may be spent on. It is decided between sessions, so that such launches are counted together.
  Countable countable() const {
    return countable_.load(std::memory_order_relaxed);
  }

  /// For launches that are not counted.
  LaunchGate& gate() {
    return gate_;
  }

  /// Before the first launch of a context: takes the counters if nothing runs, so that it costs no time
  /// later.
  void prepare();

  /// Before a launch that is to be counted. @returns whether it will be: then end() must follow it, on whatever thread
  /// @param kernel    its number, for the listener
  /// @param when_idle called once nothing runs, before the range of the launch begins. @returns how long the launch takes by records of
  /// others like it, in ns; 0 = not known
  bool begin(std::uint32_t kernel, const std::function<std::uint64_t()>& when_idle);
  /// @param launched whether the driver took it. @returns whether it was counted
  bool end(bool launched);

  /// To be called now and then: ends a session in which nothing has been counted for a while, and says whether
  /// the next one may repeat.
  void poll();

  /// Reads what was counted and counts nothing more. @param gone the context is about to be destroyed
  void finish(bool gone);

  /// As finish(), while the program goes on: somebody else gets the counters. @returns false where what runs has not ended, for which
  /// launches are held a fraction of a second; it can be tried again, and nothing is counted meanwhile
  /// @param when_idle called while nothing runs, before what was counted is read
  bool release(const std::function<void()>& when_idle);
  /// Nothing more is counted, nor is CUPTI inside a launch that is counted once this returns, or a second later.
  void stop();
  /// Nobody else wants them after all.
  void resume() {
    usable_ = !ended_;
  }

 private:
  LaunchGate::Closed take_over(Patience patience);
  bool idle(Patience patience);
  void set_up();
  bool start_range(const std::function<std::uint64_t()>& when_idle);
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
  std::atomic<bool> gone_{false};    ///< the context is, or about to be
  std::atomic<bool> prepared_{false};
  std::atomic<Countable> countable_{Countable::first};
  std::atomic<int> polled_in_vain_{0};  ///< since a session ended
  CountingBudget budget_;
  // All below only while the gate is closed.
  bool is_set_up_ = false;
  bool range_left_open_ = false;
  LaunchGate::Closed held_;                            ///< while a launch is counted
  std::vector<std::optional<std::uint32_t>> kernels_;  ///< of the session's ranges
};

}  // namespace occbench
