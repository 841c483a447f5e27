#include "cli/progress.hpp"

#include <algorithm>
#include <ostream>
#include <unistd.h>
#include <utility>

#include <fmt/ostream.h>

#include "files/output.hpp"

namespace occbench {
namespace {

/// The first line of the note of a row without times.
std::string why_not_measured(const CaseRecord& record) {
  const bool is_without =
      record.times.status == TimeStatus::failed || record.times.status == TimeStatus::skipped;
  return is_without ? record.note.substr(0, record.note.find('\n')) : "";
}

}  // namespace

Progress::Progress(std::size_t total, std::size_t name_width, Console& console)
    : table_(name_width), console_(console), terminal_(isatty(STDOUT_FILENO) != 0), total_(total) {
  fmt::print(console_.out, "{:>9} {}\n", "", table_.header());
}

void Progress::add(const CaseRecord& record) {
  clear();
  ++done_;
  fmt::print(console_.out, "{:>9} {}\n", fmt::format("{}/{}", done_, total_), table_.line(record));
  if (const std::string why = why_not_measured(record); !why.empty())
    fmt::print(console_.out, "{:>9} {}\n", "", why);
  console_.out.flush();
}

void Progress::show(const std::string& running) {
  if (!terminal_) return;
  clear();
  // The first case of a binary waits for CUDA to start: too early for an estimate.
  constexpr std::size_t kEnough = 3;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double left = done_ < kEnough ? 0
                                      : elapsed / static_cast<double>(done_) *
                                            static_cast<double>(total_ - std::min(done_, total_));
  fmt::print(console_.out, "[{}/{}] {}: {:.0f} s{}", done_, total_, running, elapsed,
             done_ < kEnough ? "" : fmt::format(", about {:.0f} s left", left));
  console_.out.flush();
  shown_ = true;
}

void Progress::clear() {
  if (!std::exchange(shown_, false)) return;
  console_.out.flush();
  // Past the stream, which lets no control character through to a terminal.
  write_all(STDOUT_FILENO, "\r\033[K");
}

}  // namespace occbench
