#include "cli/progress_pipe.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace occbench {

namespace {

/// What a pipe holds, in bytes: no more than one read takes. A page, where pages are of 64 KiB.
constexpr int kCapacity = 1 << 16;

}  // namespace

ProgressPipe::ProgressPipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  read_end_ = ends[0];
  write_end_ = ends[1];
  static_cast<void>(::fcntl(write_end_, F_SETPIPE_SZ, kCapacity));
}

ProgressPipe::~ProgressPipe() {
  ::close(read_end_);
  close_write_end();
}

void ProgressPipe::close_write_end() {
  if (write_end_ >= 0) ::close(std::exchange(write_end_, -1));
}

std::vector<std::string> ProgressPipe::lines(std::chrono::milliseconds patience) {
  pollfd waiting{.fd = read_end_, .events = POLLIN, .revents = 0};
  if (ended_ || ::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return {};
  std::array<char, kCapacity> piece{};
  const ssize_t length = ::read(read_end_, piece.data(), piece.size());
  if (length < 0 && errno == EINTR) return {};
  if (length <= 0) {
    ended_ = true;
    return {};
  }
  begun_line_.append(piece.data(), static_cast<std::size_t>(length));
  std::vector<std::string> whole;
  std::size_t end = 0;
  while ((end = begun_line_.find('\n')) != std::string::npos) {
    whole.push_back(begun_line_.substr(0, end));
    begun_line_.erase(0, end + 1);
  }
  return whole;
}

}  // namespace occbench
