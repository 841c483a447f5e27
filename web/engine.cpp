// The command for a page: its subcommands that need neither a GPU nor a machine, called with the words of a command line.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "binary/device_code.hpp"
#include "cli/command.hpp"
#include "cli/gpu_option.hpp"
#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "record/kernel_name.hpp"
#include "record/provenance.hpp"

namespace occbench {
namespace {

constexpr Command kCommands[] = {
    {"calc", "theoretical occupancy", declare_calc},
    {"predict", "achieved occupancy by simulation", declare_predict},
};

/// Files that the page was given, by name.
std::map<std::string, std::string>& files() {
  static std::map<std::string, std::string> all;
  return all;
}

/// What the last command said.
std::string& answer() {
  static std::string text;
  return text;
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

// In place of src/files and src/binary, which read what a page has not.

std::int64_t max_file_bytes() {
  return kMaxFileBytes;
}

void set_max_file_bytes(std::int64_t) {}

std::string read_text(const std::filesystem::path& file) {
  const auto found = files().find(file.string());
  if (found == files().end()) throw InputError(fmt::format("{}: a page reads no such file", file.string()));
  return found->second;
}

std::string read_text(std::istream&, std::string_view source) {
  throw InputError(fmt::format("{}: a page has none", source));
}

std::string why_no_gpu() {
  return "a page sees none";
}

std::optional<GpuIdentity> gpu_here() {
  return std::nullopt;
}

std::string source_name(const std::string& symbol) {
  return symbol;
}

std::string shortened_kernel_name(std::string_view demangled) {
  return std::string(demangled);
}

std::string_view build_commit() {
  return "unknown";
}

std::vector<DeviceKernel> read_device_code(const std::filesystem::path& file, const CodeSelection&,
                                           std::ostream&) {
  throw InputError(fmt::format("{}: a page reads no machine code", file.string()));
}

}  // namespace occbench

extern "C" {

/// A file that later commands can name. @param name, text  terminated by NUL
[[clang::export_name("occbench_file")]] void occbench_file(const char* name, const char* text) {
  occbench::files()[name] = text;
}

/// Runs a command. @param words  one a line, without the program's name @returns its exit status
[[clang::export_name("occbench_run")]] int occbench_run(const char* words) {
  std::vector<std::string> lines;
  std::istringstream text(words);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<const char*> arguments;
  for (const std::string& line : lines) arguments.push_back(line.c_str());
  std::ostringstream out;
  std::ostringstream err;
  occbench::Console console{out, err};
  const auto status = occbench::run_occbench(arguments, console);
  occbench::answer() = status == occbench::ExitStatus::done ? out.str() : err.str();
  return static_cast<int>(status);
}

/// What the last command printed: its output, or its message where it ended with another status than 0. Valid until the next
/// command.
[[clang::export_name("occbench_answer")]] const char* occbench_answer() {
  return occbench::answer().c_str();
}

[[clang::export_name("occbench_allocate")]] void* occbench_allocate(std::size_t bytes) {
  return std::malloc(bytes);
}

[[clang::export_name("occbench_free")]] void occbench_free(void* memory) {
  std::free(memory);
}
}
