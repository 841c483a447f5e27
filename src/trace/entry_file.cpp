#include "trace/entry_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "entries/entries.hpp"
#include "entries/process_files.hpp"

namespace occbench {
namespace {

/// How much longer than its content a file may become by appending.
constexpr std::size_t kMostAppended = 4;

/// @throws std::system_error that names `of`
void write_to(const std::filesystem::path& file, int flags, std::string_view text,
              const std::filesystem::path& of) {
  const int descriptor = ::open(file.c_str(), flags | O_WRONLY | O_CLOEXEC, 0644);
  const bool written = descriptor >= 0 && write_whole(descriptor, text);
  const int why = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written)
    throw std::system_error(why, std::generic_category(), fmt::format("cannot write {}", of.string()));
}

}  // namespace

void EntryFile::update(const std::function<void(std::string& text, bool all)>& entries) {
  const bool anew = !is_whole_ || appended_ > longest_;
  std::string text;
  entries(text, anew);
  if (text.empty()) return;
  is_whole_ = false;
  if (anew) {
    replace(text);
  } else {
    append(text);
  }
  is_whole_ = true;
}

void EntryFile::append(const std::string& text) {
  write_to(file_, O_APPEND, text, file_);
  appended_ += text.size();
}

void EntryFile::replace(const std::string& text) {
  const std::filesystem::path beside = unfinished(file_);
  try {
    write_to(beside, O_CREAT | O_TRUNC, std::string(kEntriesMagic) + text, file_);
    std::filesystem::rename(beside, file_);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  appended_ = 0;
  longest_ = std::max(longest_, kMostAppended * text.size());
}

}  // namespace occbench
