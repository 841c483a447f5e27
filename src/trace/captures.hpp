#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace occbench {

/// The streams of a process that capture, and those about to. While one does, nothing may wait for the GPU:
/// CUDA ends a capture with an error if any thread synchronizes a context. Thread-safe.
class Captures {
 public:
  bool any() const {
    return count_.load() > 0;
  }

  void begins() {
    ++count_;
  }
  /// Whether a launch into it is certainly captured. A stream that joined a capture by an event is not known.
  bool is_capturing(void* stream) {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    return capturing_.contains(key(stream));
  }
  /// A launch was made while a stream captured, and may have been captured or not.
  void doubt() {
    ++doubted_;
  }
  /// Such launches so far.
  std::uint64_t doubted() const {
    return doubted_.load();
  }
  /// @param capturing whether the stream captures now
  void has_begun(void* stream, bool capturing) {
    const std::lock_guard lock(mutex_);
    if (!capturing || !capturing_.insert(key(stream)).second) --count_;
  }
  /// For any stream, captured or not; it may have been destroyed.
  void has_ended(void* stream) {
    const std::lock_guard lock(mutex_);
    if (capturing_.erase(key(stream)) > 0) --count_;
  }

 private:
  using Key = std::pair<void*, std::thread::id>;

  /// Each thread has its own default stream, with the same handle.
  static Key key(void* stream) {
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    return {stream, handle <= 2 ? std::this_thread::get_id() : std::thread::id()};
  }

  std::atomic<int> count_{0};
  std::atomic<std::uint64_t> doubted_{0};
  std::mutex mutex_;
  std::set<Key> capturing_;
};

}  // namespace occbench
