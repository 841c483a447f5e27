#include "entries/entry_paths.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fmt/core.h>

#include "entries/entries.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

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
  const auto is_number = [](std::string_view digits) { return read_number(digits, 0).has_value(); };
  const std::size_t dash = text.find('-', 1);
  return is_number(text.substr(0, dash)) && (dash == text.npos || is_number(text.substr(dash + 1)));
}

/// Others may have files with such names, which are not ours to read or remove.
bool has_entries(const fs::path& file) {
  if (fs::is_directory(file) || !is_file_beside(file, "the entries of a traced process")) return false;
  std::string first(kEntriesMagic.size(), ' ');
  std::ifstream(file, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
  return first == kEntriesMagic;
}

}  // namespace

fs::path make_entry_file(const fs::path& out, int process) {
  for (int program = 1; program <= kMostPrograms; ++program) {
    const std::string which = program == 1 ? "" : fmt::format("-{}", program);
    const fs::path file =
        out.parent_path() / fmt::format("{}{}{}{}", stem_of(out), process, which, kExtension);
    if (create_text(file, kEntriesMagic)) return file;
  }
  throw InputError("process {} has {} files beside {}", process, kMostPrograms, out.string());
}

std::vector<fs::path> entry_files(const fs::path& out) {
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

void remove_entry_files(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files) {
    fs::remove(file, ignored);
  }
}

}  // namespace occbench
