#include "files/output.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// As many as the system follows.
constexpr int kMostLinks = 40;
/// Bytes that wait for a write: a merge writes millions of lines.
constexpr std::size_t kMostWaiting = 1 << 20;

[[noreturn]] void cannot_write(const fs::path& file, std::string_view why) {
  throw InputError("cannot write {}: {}", file.string(), why);
}

[[noreturn]] void fail(const fs::path& file, int error) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot write {}", file.string()));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISLNK(mode)) return "a symbolic link";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

/// A new name in a folder is on disk only when the folder is.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) ::fsync(descriptor.number());
}

/// Of this machine's temporary files: another machine may share the folder without the locks.
std::string temporary_prefix() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format(".occbench-{}-", host.data());
}

bool is_temporary(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  const std::string_view numbers = name.substr(prefix.size());
  const std::size_t dash = numbers.find('-');
  return dash != 0 && dash != std::string_view::npos && dash + 1 < numbers.size() &&
         numbers.find_first_not_of("0123456789", dash + 1) == std::string_view::npos &&
         numbers.find_first_not_of("0123456789") == dash;
}

/// A file's lock ends with the process that writes it, however that ends.
bool lock(const Descriptor& descriptor) {
  return ::flock(descriptor.number(), LOCK_EX | LOCK_NB) == 0;
}

/// Removes what ended processes of this machine left in a folder.
void remove_left_behind(const fs::path& folder) {
  const std::string prefix = temporary_prefix();
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (!is_temporary(entry->path().filename().string(), prefix)) continue;
    const Descriptor file(::open(entry->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.is_open() && lock(file)) ::unlink(entry->path().c_str());
  }
}

/// A new file in the folder, with a name that no other process has. @returns its descriptor, or none with errno set
Descriptor open_temporary(const fs::path& folder, fs::path& name) {
  for (int number = 0;; ++number) {
    name = folder / fmt::format("{}{}-{}", temporary_prefix(), ::getpid(), number);
    Descriptor descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!descriptor.is_open() && errno == EEXIST) continue;
    if (!descriptor.is_open()) return descriptor;
    // Between the two, another process may have mistaken it for one left behind.
    const bool held_by_another = !lock(descriptor) && errno == EWOULDBLOCK;
    struct stat found {};
    if (!held_by_another && ::fstat(descriptor.number(), &found) == 0 && found.st_nlink > 0)
      return descriptor;
  }
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void make_folder_of(const std::filesystem::path& file) {
  std::error_code ignored;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ignored);
}

fs::path output_target(const fs::path& file) {
  if (!file.has_filename()) cannot_write(file, "it names no file");
  if (file == "-")
    cannot_write(file, "it is not standard output here; name a file (./- is one of this name)");
  if (file.extension() == ".gz")
    cannot_write(file, fmt::format("nothing is compressed; name {}, then gzip it",
                                   fs::path(file).replace_extension().string()));
  fs::path target = file;
  for (int links = 0; links <= kMostLinks; ++links) {
    // Links there do not lead where their text says.
    std::error_code unknown;
    if (fs::weakly_canonical(target.parent_path(), unknown).string().starts_with("/proc/"))
      cannot_write(file, "it leads to an open file of a process; name a file");
    struct stat found {};
    if (::lstat(target.c_str(), &found) != 0) {
      if (errno != ENOENT) cannot_write(file, std::strerror(errno));
      return target;
    }
    if (S_ISREG(found.st_mode)) return target;
    if (!S_ISLNK(found.st_mode)) {
      cannot_write(file, fmt::format("{} is {}; name a file",
                                     target == file ? "it" : "it leads to " + target.string() + ", which",
                                     kind_of(found.st_mode)));
    }
    std::error_code error;
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) cannot_write(file, error.message());
  }
  cannot_write(file, std::strerror(ELOOP));
}

OutputFile::OutputFile(const fs::path& file, WrittenTo written)
    : file_(file), target_(output_target(file)), written_(written) {
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  if (written_ == WrittenTo::disk) remove_left_behind(folder);
  descriptor_ = open_temporary(folder, temporary_);
  if (!descriptor_.is_open()) cannot_write(file_, std::strerror(errno));
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0)
    static_cast<void>(::fchmod(descriptor_.number(), old.st_mode & 07777));
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= kMostWaiting) flush();
}

void OutputFile::flush() {
  if (!write_all(descriptor_.number(), waiting_)) cannot_write(file_, std::strerror(errno));
  waiting_.clear();
}

void OutputFile::complete() {
  if (locked_.is_open()) return;
  flush();
  if (written_ == WrittenTo::disk && ::fsync(descriptor_.number()) != 0)
    cannot_write(file_, std::strerror(errno));
  locked_ = Descriptor(::fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0));
  if (!locked_.is_open()) cannot_write(file_, std::strerror(errno));
  // Over a network, a full disk is reported here.
  if (!descriptor_.close()) cannot_write(file_, std::strerror(errno));
}

void OutputFile::keep() {
  complete();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) cannot_write(file_, std::strerror(errno));
  const fs::path folder = temporary_.parent_path();
  temporary_.clear();
  if (written_ == WrittenTo::disk) sync_folder(folder);
}

void replace_text(const fs::path& file, std::string_view text, WrittenTo written) {
  OutputFile output(file, written);
  output.write(text);
  output.keep();
}

bool create_text(const fs::path& file, std::string_view text) {
  const Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor.is_open() && errno == EEXIST) return false;
  if (!descriptor.is_open() || !write_all(descriptor.number(), text))
    cannot_write(file, std::strerror(errno));
  return true;
}

AppendFile::AppendFile(fs::path file, WrittenTo written)
    : file_(std::move(file)),
      written_(written),
      descriptor_(::open(output_target(file_).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (!descriptor_.is_open()) cannot_write(file_, std::strerror(errno));
}

void AppendFile::append(std::string_view text) {
  struct stat before {};
  const int descriptor = descriptor_.number();
  if (::fstat(descriptor, &before) != 0) fail(file_, errno);
  if (before.st_nlink == 0) fail(file_, ENOENT);
  if (!write_all(descriptor, text)) {
    const int why = errno;
    // Best effort: if this fails too, the torn line is cut off on resume.
    [[maybe_unused]] const int cut = ::ftruncate(descriptor, before.st_size);
    fail(file_, why);
  }
  if (written_ == WrittenTo::disk && ::fsync(descriptor) != 0) fail(file_, errno);
}

void require_log(const fs::path& file) {
  struct stat found {};
  if (::lstat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
    throw InputError("{} is {}, where a log is written: rename it, or write to another file", file.string(),
                     kind_of(found.st_mode));
}

Descriptor open_log(const fs::path& file) {
  require_log(file);
  Descriptor descriptor(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!descriptor.is_open()) cannot_write(file, std::strerror(errno));
  return descriptor;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code missing;
  const fs::path folder = fs::temp_directory_path(missing);
  std::string name = (folder / "occbench-XXXXXX").string();
  const bool made = !missing && ::mkdtemp(name.data()) != nullptr;
  const std::string why = missing ? missing.message() : std::strerror(errno);
  if (!made) {
    const char* const named = std::getenv("TMPDIR");
    throw InputError("cannot make a temporary folder in {}: {}; name one in the variable TMPDIR",
                     missing ? (named == nullptr ? "/tmp" : named) : folder.string(), why);
  }
  path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace occbench
