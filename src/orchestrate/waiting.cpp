#include "orchestrate/waiting.hpp"

#include <chrono>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "files/output.hpp"
#include "orchestrate/terminal.hpp"
#include "predict/parallel.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 2s;
constexpr auto kBetween = 1s;

}  // namespace

Waiting::Waiting(std::string what, std::size_t total) : what_(std::move(what)), total_(total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  thread_ = thread_without_signals([this] { tell(); });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Waiting::tell() {
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, told ? kBetween : kPatience, [this] { return over_; })) {
    const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string steps = total_ > 1 ? fmt::format(" {} of {}", done_.load(), total_) : "";
    write_all(STDERR_FILENO,
              fmt::format("\r\033[K{}{}: {:.0f} s; Ctrl-C ends it", printable(what_), steps, elapsed));
    told = true;
  }
  if (told) write_all(STDERR_FILENO, "\r\033[K");
}

}  // namespace occbench
