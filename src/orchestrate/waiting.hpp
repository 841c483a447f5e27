#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace occbench {

/// While it lives, a line on standard error tells what takes so long and for how long: on a terminal, from two seconds
/// on. The line goes with it.
class Waiting {
 public:
  /// @param what   "predicting"
  /// @param total  steps that there are; 0 or 1 where they are not told
  explicit Waiting(std::string what, std::size_t total = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// One more step is done. Any thread may say so.
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
  std::thread thread_;  ///< none where there is no terminal
};

}  // namespace occbench
