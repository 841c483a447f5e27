#include "trace/context_counter.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/core.h>

namespace occbench {
namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ContextCounter::ContextCounter(std::unique_ptr<CountedContext> context, const Captures& captures,
                               Listener listener, CountingTimes times)
    : context_(std::move(context)),
      captures_(captures),
      listener_(std::move(listener)),
      times_(times),
      gate_(times.longest_hold) {}

/// Runs a step that may fail; if it does, counting ends. @returns whether it did not
template <typename Step>
bool ContextCounter::attempt(Step step) {
  try {
    step();
    return true;
  } catch (const CountersUnavailable& failure) {
    broken_ = true;
    give_up(failure.status(), failure.what());
  } catch (const std::exception& failure) {
    broken_ = true;
    give_up(CountersStatus::failed, failure.what());
  }
  return false;
}

/// As attempt(), for a step that delays the program; it spends the budget.
template <typename Step>
bool ContextCounter::charge(Step step) {
  const auto begin = CountingBudget::Clock::now();
  const bool done = attempt(step);
  budget_.spend(begin, CountingBudget::Clock::now());
  return done;
}

void ContextCounter::give_up(CountersStatus status, const std::string& why) {
  usable_ = false;
  if (!ended_.exchange(true)) listener_.ended(status, why);
}

/// Holds all other launches of the context, unless a stream captures.
LaunchGate::Closed ContextCounter::take_over(Patience patience) {
  if (captures_.any()) return {};
  LaunchGate::Closed closed = gate_.close(patience);
  return captures_.any() ? LaunchGate::Closed() : std::move(closed);
}

bool ContextCounter::idle(Patience patience) {
  bool reached = false;
  attempt([&] {
    context_->mark();
    reached = wait_for(patience, [&] { return context_->reached(); });
    if (reached) listener_.idle();
  });
  return reached;
}

void ContextCounter::set_up() {
  if (is_set_up_) return;
  context_->set_up();
  is_set_up_ = true;
  listener_.ready();
}

void ContextCounter::prepare() {
  if (prepared_.exchange(true) || !usable()) return;
  const LaunchGate::Closed closed = take_over(times_.polling);
  // Its counters may have been handed over meanwhile.
  if (closed && usable() && idle(times_.polling)) attempt([&] { set_up(); });
}

bool ContextCounter::begin(std::uint32_t kernel, const std::function<std::uint64_t()>& when_idle) {
  if (!usable() || captures_.any()) return false;
  LaunchGate::Closed closed = take_over(times_.before);
  if (!closed) {
    if (!captures_.any()) {
      give_up(CountersStatus::off, fmt::format("launches of other threads did not return within {} s",
                                               times_.before.count() / 1000));
    }
    return false;
  }
  if (!usable() || !start_range(when_idle)) return false;
  kernels_.emplace_back(kernel);
  held_ = std::move(closed);
  return true;
}

bool ContextCounter::start_range(const std::function<std::uint64_t()>& when_idle) {
  if (!idle(times_.before)) {
    give_up(CountersStatus::off,
            fmt::format("the GPU was not idle within {} s before a launch that was to be counted: a kernel "
                        "waits for a later launch or never ends, or much is queued",
                        times_.before.count() / 1000));
    return false;
  }
  if (!usable() || !attempt([&] { set_up(); })) return false;  // it may have been stopped meanwhile
  return charge([&] {
    const std::uint64_t expected_ns = when_idle();
    kernels_.reserve(kernels_.size() + 1);  // nothing fails between opening and noting a range
    if (!in_session_) context_->start();
    last_counted_ms_ = now_ms();
    in_session_ = true;
    // Ranges with the same name would become one.
    context_->push(fmt::format("{}", kernels_.size()), expected_ns);
  });
}

bool ContextCounter::end(bool launched) {
  const LaunchGate::Closed closed = std::exchange(held_, {});
  bool counted = false;
  if (!idle(times_.after)) {
    range_left_open_ = true;
    kernels_.back().reset();  // other launches run in its range
    give_up(
        CountersStatus::off,
        fmt::format("a launch that was counted had not ended after {} s: it waits for a later one, or runs "
                    "for long",
                    times_.after.count() / 1000));
  } else {
    counted = charge([&] { context_->pop(); }) && launched;
    if (!launched) kernels_.back().reset();
    last_counted_ms_ = now_ms();
    if (kernels_.size() >= context_->most_ranges()) end_session();
  }
  return counted;
}

/// While the gate is closed and nothing runs.
void ContextCounter::end_session() {
  if (broken_ || !in_session_.exchange(false)) return;
  polled_in_vain_ = 0;
  const std::vector<std::optional<std::uint32_t>> kernels = std::exchange(kernels_, {});
  charge([&] {
    if (std::exchange(range_left_open_, false)) context_->abandon();
    listener_.readings(kernels, context_->stop(kernels.size()));
  });
  countable_ = std::min(budget_.allows(CountingBudget::Clock::now()), Countable::first);
}

void ContextCounter::poll() {
  constexpr int kMostTries = 6;
  const bool given_up = polled_in_vain_ >= kMostTries;
  if (!in_session_ || given_up) countable_ = budget_.allows(CountingBudget::Clock::now());
  if (!in_session_ || given_up || broken_ || now_ms() - last_counted_ms_ < times_.session.count()) return;
  const Patience patience = times_.polling * (1 << polled_in_vain_);
  const LaunchGate::Closed closed = take_over(patience);
  if (!closed) {
    if (!captures_.any()) ++polled_in_vain_;
    return;
  }
  if (idle(patience)) {
    end_session();
  } else {
    ++polled_in_vain_;
  }
}

void ContextCounter::finish(bool gone) {
  usable_ = false;
  if (gone) gone_ = true;
  if (broken_) return;
  const LaunchGate::Closed closed = take_over(times_.end);
  if (closed && is_set_up_ && idle(times_.end)) {
    const bool has_readings = !range_left_open_ || kernels_.size() > 1;
    if (has_readings || gone) end_session();
    if (gone && !broken_) context_->tear_down();
  }
}

bool ContextCounter::release(const std::function<void()>& when_idle) {
  usable_ = false;
  const Patience patience = 4 * times_.polling;
  const LaunchGate::Closed closed = take_over(patience);
  if (!closed) return false;
  if (gone_) return true;
  const bool is_idle = idle(patience);
  if (!is_idle && !broken_) return false;
  if (is_idle) when_idle();
  if (!broken_) {
    if (is_set_up_) end_session();
    if (is_set_up_ && !broken_) context_->tear_down();
    is_set_up_ = false;
  }
  return true;
}

void ContextCounter::stop() {
  usable_ = false;
  static_cast<void>(gate_.close(times_.end));
}

void LaunchGate::enter() {
  while (true) {
    inside_.fetch_add(1);
    // This and close() are sequentially consistent: one of the two sees the other.
    if (!closed_.load()) return;
    inside_.fetch_sub(1);
    const bool opened = wait_for(longest_hold_, [&] { return !closed_.load(); });
    if (!opened) {
      inside_.fetch_add(1);
      return;
    }
  }
}

LaunchGate::Closed LaunchGate::close(Patience patience) {
  const bool was_open = wait_for(patience, [&] { return !closed_.exchange(true); });
  if (!was_open) return {};
  Closed closed(this);
  return wait_for(patience, [&] { return inside_.load() == 0; }) ? std::move(closed) : Closed();
}

void LaunchGate::wait_until_open() const {
  static_cast<void>(wait_for(longest_hold_, [&] { return !closed_.load(); }));
}

}  // namespace occbench
