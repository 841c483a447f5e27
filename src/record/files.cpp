#include "record/files.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <zlib.h>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const char* what, const fs::path& file, int error) {
  throw InputError(fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(error)));
}

[[noreturn]] void fail(const char* what, const fs::path& file, int error) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", what, file.string()));
}

/// The lock is held: fine if by this process or by the one that started it.
void require_kinship(const fs::path& lock, const fs::path& file) {
  pid_t holder = 0;
  std::ifstream(lock) >> holder;
  if (holder == ::getpid() || holder == ::getppid()) return;
  throw InputError(
      fmt::format("{} is being written by another run (process {}): wait for it to end, or write to "
                  "another file",
                  file.string(), holder));
}

/// A new name in a folder is on disk only when the folder is.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
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

std::string read_text(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) refuse("read", file, EISDIR);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse("read", file, errno);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) refuse("read", file, EIO);
  return text;
}

std::string read_gzip_text(const fs::path& file) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(::gzopen(file.c_str(), "rbe"), ::gzclose_r);
  if (!stream) refuse("read", file, errno);
  std::string text;
  std::array<char, 65536> piece{};
  int read = 0;
  while ((read = ::gzread(stream.get(), piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(read));
  // A file that ends too early is an error of the stream, not of the last read.
  int error = Z_OK;
  const char* why = ::gzerror(stream.get(), &error);
  if (error == Z_ERRNO) refuse("read", file, errno);
  if (error != Z_OK) throw InputError(fmt::format("cannot read {}: {}", file.string(), why));
  return text;
}

void replace_text(const fs::path& file, std::string_view text) {
  std::error_code error;
  const bool exists = fs::exists(file, error);
  // A device such as /dev/null must not be renamed away.
  if (exists && !fs::is_regular_file(file, error)) {
    throw InputError(fmt::format("cannot write {}: it exists and is not a file", file.string()));
  }
  const fs::path target = exists ? fs::canonical(file) : fs::absolute(file);
  std::string temporary = target.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) refuse("write", file, errno);
  struct stat old {};
  const mode_t umask_now = ::umask(0);
  ::umask(umask_now);
  const mode_t mode = exists && ::stat(target.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666 & ~umask_now;
  const bool written =
      write_all(descriptor, text) && ::fchmod(descriptor, mode) == 0 && ::fsync(descriptor) == 0;
  const bool renamed = written && ::rename(temporary.c_str(), target.c_str()) == 0;
  const int why = errno;
  ::close(descriptor);
  if (!renamed) {
    ::unlink(temporary.c_str());
    refuse("write", file, why);
  }
  sync_folder(target.parent_path());
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "occbench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a temporary folder");
  }
  path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

FileLock::FileLock(const fs::path& file) : path_(file.string() + ".lock") {
  while (!take(file)) {
  }
}

/// @returns false if what was locked is no longer the file of that name: its holder removed it meanwhile
bool FileLock::take(const fs::path& file) {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return true;  // whoever writes the file will say why it cannot
  const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const bool held_elsewhere = !taken && errno == EWOULDBLOCK;
  if (!taken) {
    ::close(descriptor);
    if (held_elsewhere) require_kinship(path_, file);
    return true;
  }
  struct stat locked {
  }, named{};
  const bool current = ::fstat(descriptor, &locked) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                       locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  if (!current) {
    ::close(descriptor);
    return false;
  }
  descriptor_ = descriptor;
  if (::ftruncate(descriptor, 0) != 0 || !write_all(descriptor, fmt::format("{}\n", ::getpid()))) {
    ::unlink(path_.c_str());  // a lock that names nobody would keep out the processes that this one starts
    ::close(std::exchange(descriptor_, -1));
  }
  return true;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

AppendFile::AppendFile(fs::path file)
    : file_(std::move(file)), descriptor_(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (descriptor_ < 0) refuse("write", file_, errno);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void AppendFile::append(std::string_view text) {
  struct stat before {};
  if (::fstat(descriptor_, &before) != 0) fail("write", file_, errno);
  if (before.st_nlink == 0) fail("write", file_, ENOENT);
  if (!write_all(descriptor_, text)) {
    const int why = errno;
    // Best effort: if this fails too, the torn line is cut off on resume.
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, before.st_size);
    fail("write", file_, why);
  }
  if (::fsync(descriptor_) != 0) fail("write", file_, errno);
}

}  // namespace occbench
