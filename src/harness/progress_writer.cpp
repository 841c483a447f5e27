#include "harness/progress_writer.hpp"

#include <csignal>
#include <fcntl.h>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/files.hpp"

namespace occbench {

ProgressWriter::ProgressWriter(std::optional<int> descriptor) : descriptor_(descriptor) {
  if (!descriptor_) return;
  // Programs that this one starts would keep the pipe open.
  if (::fcntl(*descriptor_, F_SETFD, FD_CLOEXEC) != 0)
    throw InputError(fmt::format("--occ_progress_fd={}: no such file descriptor is open", *descriptor_));
  // A reader that went away must not end the measurement.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
}

void ProgressWriter::tell(const CaseProgress& progress) {
  if (descriptor_ && !write_all(*descriptor_, progress_line(progress))) descriptor_.reset();
}

}  // namespace occbench
