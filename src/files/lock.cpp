#include "files/lock.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

[[noreturn]] void refuse(const fs::path& lock, std::string_view what) {
  throw InputError("{} is {}, where a run keeps its lock: rename it, or write to another file", lock.string(),
                   what);
}

/// The process that an open lock names, 0 for an empty one. @throws InputError if the file is not a lock
pid_t holder_of(int descriptor, const fs::path& lock) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) refuse(lock, "no regular file");
  std::string text(32, '\0');
  const ssize_t read = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read)));
  if (text.empty()) return 0;
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits > 10 || text.substr(digits) != "\n") refuse(lock, "a file of another kind");
  return static_cast<pid_t>(std::stoll(text));
}

/// Advice for the ranks of a job, if this is one of several.
std::string remedy_of_ranks(fs::path file) {
  // The nearest launcher first: mpirun in a job of Slurm leaves the job's variables as they are.
  constexpr const char* kRanks[][2] = {{"RANK", "WORLD_SIZE"},
                                       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, ranks] : kRanks) {
    const std::string all = environment_variable(ranks);
    if (environment_variable(rank).empty() || all.empty() || all == "1") continue;
    file.replace_extension(fmt::format(".${}{}", rank, file.extension().string()));
    return fmt::format(
        "; this may be one of {} ranks: each needs a file of its own, sh -c 'occbench ... --out {} ...', "
        "then "
        "occbench merge",
        all, file.string());
  }
  return "";
}

}  // namespace

FileLock::FileLock(const fs::path& file) : path_(file.string() + ".lock") {
  static_cast<void>(output_target(file));
  for (int tries = 0; !take(file, tries); ++tries) ::usleep(1000);
}

/// @returns false if the locked file no longer has that name, because its holder removed it, or if its holder has yet to name itself
bool FileLock::take(const fs::path& file, int tries) {
  constexpr int kMostTries = 200;
  // Through a link, the process's number would overwrite somebody's file.
  Descriptor opened(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!opened.is_open() && errno == ELOOP) refuse(path_, "a symbolic link");
  if (!opened.is_open() && errno == EISDIR) refuse(path_, "a folder");
  if (!opened.is_open()) return true;  // writing the file will say why it cannot
  const bool is_held = ::flock(opened.number(), LOCK_EX | LOCK_NB) != 0;
  const bool held_elsewhere = is_held && errno == EWOULDBLOCK;
  const pid_t holder = holder_of(opened.number(), path_);
  if (is_held) {
    if (held_elsewhere && holder == 0 && tries < kMostTries) return false;
    // Fine if held by this process or by the one that started it.
    if (held_elsewhere && holder != ::getpid() && holder != ::getppid()) {
      throw InputError("{} is being written by another run{}: wait for it to end, or write to another file{}",
                       file.string(), holder == 0 ? "" : fmt::format(" (process {})", holder),
                       remedy_of_ranks(file));
    }
    return true;
  }
  struct stat locked {
  }, named{};
  const bool current = ::fstat(opened.number(), &locked) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                       locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  if (!current) return false;
  if (::ftruncate(opened.number(), 0) == 0 && write_all(opened.number(), fmt::format("{}\n", ::getpid()))) {
    descriptor_ = std::move(opened);
  } else {
    ::unlink(path_.c_str());  // a lock that names nobody would keep out the processes that this one starts
  }
  return true;
}

FileLock::~FileLock() {
  if (descriptor_.is_open()) ::unlink(path_.c_str());
}

}  // namespace occbench
