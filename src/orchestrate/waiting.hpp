#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace occbench {

/// While it lives, a line on standard error shows what takes so long, and for how long: on a terminal, after two
/// seconds. The line disappears with it.
class Waiting {
 public:
  /// @param what   "predicting"
  /// @param total  number of steps; 0 or 1 if they are not shown
  explicit Waiting(std::string what, std::size_t total = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// One more step is done. Any thread may call it.
  void step() {
    ++done_;
  }

 private:
  void tell();

  std::string what_;
  std::size_t total_;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  ///< none if there is no terminal
};

}  // namespace occbench
