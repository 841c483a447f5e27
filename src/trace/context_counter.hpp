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

/// Ranges per session of CUPTI's range profiler. A session takes 6 ms to start and 8 to end; with 32 ranges 5 and 7 ms. With 128 ranges it
/// takes a quarter of a second to start (H100, CUDA 13.0).
inline constexpr std::size_t kRangesOfSession = 64;

/// A context whose launches are counted, each in its own range; a session has one or many ranges. Call mark() and reached() at any time,
/// the others only while the context is idle: they wait for it. Any thread may call, one at a time. Everything throws CountersUnavailable.
class CountedContext {
 public:
  virtual ~CountedContext() = default;

  /// Acquires the counters, so that start() is quick; takes some 400 ms.
  virtual void set_up() = 0;
  /// Releases them, or leaves them to the GPU's next sampler. Never throws.
  virtual void tear_down() noexcept = 0;
  virtual std::size_t most_ranges() const {
    return kRangesOfSession;
  }

  /// mark() notes the work queued in the context; reached() says whether it is done.
  virtual void mark() = 0;
  virtual bool reached() = 0;

  virtual void start() = 0;
  /// @param expected_ns the launch's duration by records of similar ones; 0 = not known
  virtual void push(const std::string& range, std::uint64_t expected_ns) = 0;
  virtual void pop() = 0;
  /// Instead of pop(), if the range is not to be read.
  virtual void abandon() = 0;
  /// Ends a session. @returns the readings of its ranges, in their order
  virtual CounterReadings stop(std::size_t ranges) = 0;
};

/// Limits counting to a fiftieth of a context's time since its first counted launch. First readings of kernels and configurations may
/// exceed that until counting has taken half a second: some 100 readings (H200). Thread-safe.
class CountingBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShare = 50;
  static constexpr std::chrono::milliseconds kOfFirst{500};

  /// Counting delayed the program from `begin` to `end`.
  void spend(Clock::time_point begin, Clock::time_point end) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = begin;
    spent_ += end - begin;
  }

  /// Only first readings before anything was spent.
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

/// Polls `done` until it is true or the patience ends: without sleeping for 50 us, then with sleeps that grow with the wait to at most 1
/// ms. @returns whether it was true
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

/// Lets any number of a context's launches through, or holds them while one is counted: another thread's concurrent kernel would be counted
/// with it. No wait is endless.
class LaunchGate {
 public:
  /// @param longest_hold after this time a held launch goes through
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

  /// Holds new launches once no other thread does, and waits for those inside to leave. @returns empty, and holds none, if either takes
  /// longer than the patience
  [[nodiscard]] Closed close(Patience patience);

  /// Waits while it is closed, at most for the longest hold.
  void wait_until_open() const;

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
  Patience longest_hold_;
};

/// How long a program may be delayed. A running kernel may wait for a later launch, or never end. If the GPU is not idle in time, nothing
/// more is counted in its context.
struct CountingTimes {
  Patience before{5000};        ///< for earlier launches, before one is counted
  Patience after{2000};         ///< for that launch itself
  Patience longest_hold{9000};  ///< of another thread's launch: more than both
  Patience session{500};        ///< a session is ended and read after this time without counting
  Patience polling{50};         ///< for the GPU to be idle then; twice as long with each try
  Patience end{1000};           ///< at the end of a context or the process
};

/// Counts launches of one context without changing what the program does. It waits with a deadline, never while a stream captures. It holds
/// other threads' launches while it counts one.
class ContextCounter {
 public:
  struct Listener {
    /// Readings of a session, and the kernel of each range; none if no launch ran alone in it.
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

  /// Which launches may be counted. Decided between sessions, so that such launches are counted together.
  Countable countable() const {
    return countable_.load(std::memory_order_relaxed);
  }

  /// For launches that are not counted.
  LaunchGate& gate() {
    return gate_;
  }

  /// Before a context's first launch: acquires the counters if nothing runs, which saves the time later.
  void prepare();

  /// Before a launch to be counted. @returns whether it will be: then end() must follow the launch, on any thread
  /// @param kernel    its number, for the listener
  /// @param when_idle called once nothing runs, before the launch's range begins. It returns the launch's duration by records of similar
  /// ones, in ns; 0 = not known
  bool begin(std::uint32_t kernel, const std::function<std::uint64_t()>& when_idle);
  /// @param launched whether the driver accepted it. @returns whether it was counted
  bool end(bool launched);

  /// Call it regularly: it ends a session in which nothing was counted for a while, and decides whether the next may count repeats.
  void poll();

  /// Reads counted launches and ends counting. @param gone the context is about to be destroyed
  void finish(bool gone);

  /// As finish(), while the program goes on: the counters go to another user. Launches are held a fraction of a second, so that kernels
  /// end. @returns false if they have not ended; it can be tried again, and nothing is counted meanwhile
  /// @param when_idle called while nothing runs, before counters are read
  bool release(const std::function<void()>& when_idle);
  /// Ends counting. Waits at most 2 s until CUPTI is not inside a counted launch.
  void stop();
  /// The counters have no other user after all.
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
  std::atomic<bool> broken_{false};  ///< CUPTI failed and is not used again
  std::atomic<bool> gone_{false};    ///< the context is, or is about to be
  std::atomic<bool> prepared_{false};
  std::atomic<Countable> countable_{Countable::first};
  std::atomic<int> polled_in_vain_{0};  ///< since a session ended
  CountingBudget budget_;
  // All below is used only while the gate is closed.
  bool is_set_up_ = false;
  bool range_left_open_ = false;
  LaunchGate::Closed held_;                            ///< while a launch is counted
  std::vector<std::optional<std::uint32_t>> kernels_;  ///< of the session's ranges
};

}  // namespace occbench
