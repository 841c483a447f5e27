#pragma once

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace occbench {

/// Calls `of` with each number from 0 to `count` - 1, on all processors, in no order. An exception of a call
/// ends the loop and is rethrown after the calls that have begun.
template <typename Function>
void for_each_parallel(std::size_t count, const Function& of) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) of(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  const std::size_t threads = std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
  std::vector<std::future<void>> others;  // the destructor waits for each
  for (std::size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, take));
  take();
  for (std::future<void>& other : others) other.get();
}

/// A thread that blocks all signals, so that other threads get them. @throws std::exception if it cannot
/// start
template <typename Function>
std::thread thread_without_signals(Function run) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto restore = [&] { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  try {
    std::thread thread(std::move(run));
    restore();
    return thread;
  } catch (...) {
    restore();
    throw;
  }
}

}  // namespace occbench
