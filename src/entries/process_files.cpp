#include "entries/process_files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include "entries/entries.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Programs that one process runs, one after another, by exec.
constexpr int kMostPrograms = 1000;
constexpr std::string_view kExtension = ".entries";

/// "run." of run.csv.
std::string stem_of(const fs::path& out) {
  fs::path name = out.filename();
  if (name.extension() == ".csv") name.replace_extension();
  return name.string() + ".";
}

/// "41", or "41-2": a process, and which of its programs.
bool is_process(std::string_view text) {
  const auto is_number = [](std::string_view digits) {
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() && number >= 0;
  };
  const std::size_t dash = text.find('-', 1);
  return is_number(text.substr(0, dash)) && (dash == text.npos || is_number(text.substr(dash + 1)));
}

/// Others may have files of such names, which are not ours to read or remove.
bool has_entries(const fs::path& file) {
  std::string first(kEntriesMagic.size(), ' ');
  std::ifstream(file, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
  return first == kEntriesMagic;
}

}  // namespace

bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

fs::path make_process_file(const fs::path& out, int process) {
  for (int program = 1; program <= kMostPrograms; ++program) {
    const std::string which = program == 1 ? "" : fmt::format("-{}", program);
    const fs::path file =
        out.parent_path() / fmt::format("{}{}{}{}", stem_of(out), process, which, kExtension);
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == EEXIST) continue;
    const bool written = descriptor >= 0 && write_whole(descriptor, kEntriesMagic);
    const int why = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (!written)
      throw std::system_error(why, std::generic_category(), fmt::format("cannot write {}", file.string()));
    return file;
  }
  throw std::system_error(
      EEXIST, std::generic_category(),
      fmt::format("process {} has {} files beside {}", process, kMostPrograms, out.string()));
}

std::vector<fs::path> process_files(const fs::path& out) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  const std::string stem = stem_of(out);
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem) || !name.ends_with(kExtension) ||
        name.size() <= stem.size() + kExtension.size())
      continue;
    const auto process =
        std::string_view(name).substr(stem.size(), name.size() - stem.size() - kExtension.size());
    if (is_process(process) && has_entries(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

fs::path unfinished(const fs::path& process_file) {
  return process_file.string() + ".new";
}

}  // namespace occbench
