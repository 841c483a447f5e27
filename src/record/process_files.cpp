#include "record/process_files.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Programs that one process runs, one after another, by exec.
constexpr int kMostPrograms = 1000;

/// "FILE." of FILE.csv.
std::string stem_of(const fs::path& out) {
  fs::path name = out.filename();
  if (name.extension() == ".csv") name.replace_extension();
  return name.string() + ".";
}

/// Whether the text is a process's number, or one with the number of its program.
bool is_process(std::string_view text) {
  const std::string_view number = text.substr(0, text.find('-'));
  const std::string_view program = number.size() == text.size() ? "1" : text.substr(number.size() + 1);
  const auto is_digit = [](char character) {
    return std::isdigit(static_cast<unsigned char>(character)) != 0;
  };
  return !number.empty() && !program.empty() && std::ranges::all_of(number, is_digit) &&
         std::ranges::all_of(program, is_digit);
}

/// Others may have files of such names, which are not ours to read or remove.
bool has_process_columns(const fs::path& file) {
  const std::string header = csv_header(process_columns());
  std::string first(header.size(), '\0');
  std::ifstream(file, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
  return first == header;
}

}  // namespace

fs::path make_process_file(const fs::path& out, int process) {
  for (int program = 1; program <= kMostPrograms; ++program) {
    const std::string which = program == 1 ? "" : fmt::format("-{}", program);
    const fs::path file = out.parent_path() / fmt::format("{}{}{}.csv", stem_of(out), process, which);
    if (create_text(file, csv_header(process_columns()))) return file;
  }
  throw InputError(fmt::format("process {} has {} files beside {}", process, kMostPrograms, out.string()));
}

std::vector<fs::path> process_files(const fs::path& out) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  const std::string stem = stem_of(out);
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem) || !name.ends_with(".csv") || name.size() < stem.size() + 5) continue;
    if (is_process(std::string_view(name).substr(stem.size(), name.size() - stem.size() - 4)) &&
        has_process_columns(entry.path())) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

void write_process_file(const fs::path& file, std::span<const ProgramEntry> entries) {
  const std::vector<CaseRecord> cases = process_cases(entries);
  std::string text = csv_header(process_columns());
  std::string samples = samples_header();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += csv_record(row_of(cases[i]));
    for (const Sample& sample : program_samples(cases[i], entries[i].seen)) samples += csv_record(sample);
  }
  // To wait for the disk would take longer than all else that the library does in a program.
  replace_text(samples_path(file), samples, WrittenTo::system);
  replace_text(file, text, WrittenTo::system);
}

std::vector<ProgramEntry> read_process_file(const fs::path& file) {
  const std::vector<Row> rows = read_rows(file);
  const fs::path samples = samples_path(file);
  return program_entries(rows, fs::exists(samples) ? read_samples(samples) : std::vector<Sample>());
}

}  // namespace occbench
