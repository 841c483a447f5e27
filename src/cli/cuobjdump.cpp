#include "cli/cuobjdump.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// A program on PATH or in the places where a CUDA toolkit lies.
fs::path find_cuobjdump() {
  std::vector<fs::path> folders;
  std::istringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* toolkit = std::getenv(variable)) folders.push_back(fs::path(toolkit) / "bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  // build/cuda of scripts/run; this program is build/PRESET/bin/occbench.
  folders.push_back(fs::read_symlink("/proc/self/exe").parent_path() / "../../cuda/bin");
  for (const fs::path& folder : folders) {
    const fs::path program = folder / "cuobjdump";
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  throw InputError(
      "cuobjdump was not found on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin, /usr/local/cuda/bin or "
      "build/cuda/bin: --from needs it and nvdisasm; both come with the CUDA toolkit (packages "
      "cuda-cuobjdump-*, cuda-nvdisasm-*), and scripts/kernels fetches them into build/cuda/bin");
}

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

/// Reads lines of any length.
class Lines {
 public:
  explicit Lines(FILE* stream) : stream_(stream) {}
  ~Lines() {
    std::free(buffer_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  bool next(std::string_view& line) {
    const ssize_t length = getline(&buffer_, &capacity_, stream_);
    if (length <= 0) return false;
    line = std::string_view(buffer_, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.remove_suffix(1);
    return true;
  }

 private:
  FILE* stream_;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace

Cuobjdump::Cuobjdump() : program_(find_cuobjdump()) {}

void Cuobjdump::run(const std::vector<std::string>& options, const fs::path& file, const Line& line,
                    const fs::path& folder) const {
  std::string command = fmt::format("cd {} && {}", quoted_for_shell(folder), quoted_for_shell(program_));
  for (const std::string& option : options) command += " " + quoted_for_shell(option);
  command += fmt::format(" {} 2>&1", quoted_for_shell(fs::absolute(file)));
  const auto close = [](FILE* stream) { pclose(stream); };
  std::unique_ptr<FILE, decltype(close)> output(popen(command.c_str(), "r"), close);
  if (output == nullptr) throw std::system_error(errno, std::generic_category(), "popen");
  std::string complaint;
  Lines lines(output.get());
  for (std::string_view text; lines.next(text);) {
    // "cuobjdump fatal   : Invalid fatbin header in 'FILE'"
    if (text.starts_with("cuobjdump ")) {
      complaint = text.substr(std::min(text.size(), text.find(": ") + 2));
    } else {
      line(text);
    }
  }
  const int status = pclose(output.release());
  if (status == 0) return;
  if (complaint.empty()) complaint = fmt::format("cuobjdump ended with status {}", WEXITSTATUS(status));
  throw InputError(fmt::format("{}: {}", file.string(), complaint));
}

}  // namespace occbench
