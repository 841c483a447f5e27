#include "binary/cuobjdump.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/child_process.hpp"

namespace occbench {
namespace {

/// A program on PATH or in the places where a CUDA toolkit lies.
fs::path find_cuobjdump() {
  std::vector<fs::path> folders;
  std::istringstream path(environment_variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* toolkit = std::getenv(variable)) folders.push_back(fs::path(toolkit) / "bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  // build/cuda of scripts/run: this program is build/PRESET/bin/occbench.
  folders.push_back(here / "../../cuda/bin");
  // NVIDIA's Python packages: this program is occbench/bin/occbench of the wheel.
  folders.push_back(here / "../../nvidia/cu13/bin");
  for (const fs::path& folder : folders) {
    const fs::path program = folder / "cuobjdump";
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  throw InputError(
      "cuobjdump was not found on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin, /usr/local/cuda/bin or "
      "{}: --from needs it and nvdisasm. Beside the wheel `pip install nvidia-cuda-cuobjdump "
      "nvidia-cuda-nvdisasm` installs both, beside a build of the source scripts/kernels does; they are also "
      "in the CUDA toolkit (packages cuda-cuobjdump-*, cuda-nvdisasm-*)",
      (here / "../../cuda/bin").lexically_normal().string());
}

/// The number after `key`, as in "REG:32 STACK:0"; empty if the line lacks it, as "STACK:UNKNOWN" does.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return read_number<std::int64_t>(line.substr(0, line.find(' ')));
}

/// The operation of a line of SASS, "STL.64" of "/*0120*/  @P0 STL.64 [R1+0x1a0], R16 ;"; empty in other
/// lines.
std::string_view operation_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*")) return "";
  line = trimmed(line.substr(std::min(line.size(), line.find("*/") + 2)));
  if (line.starts_with('@')) line = trimmed(line.substr(std::min(line.size(), line.find(' '))));
  return line.substr(0, line.find_first_of(" ;"));
}

/// Bytes that a load or store moves per thread: 4, or what a part of its name says ("LDL.LU.64", "STL.U8").
std::int64_t width_of(std::string_view operation) {
  for (const auto& [part, bytes] : {std::pair<std::string_view, int>{".128", 16},
                                    {".64", 8},
                                    {".U16", 2},
                                    {".S16", 2},
                                    {".U8", 1},
                                    {".S8", 1}}) {
    if (operation.find(part) != std::string_view::npos) return bytes;
  }
  return 4;
}

}  // namespace

Cuobjdump::Cuobjdump() : program_(find_cuobjdump()) {}

void Cuobjdump::run(const std::vector<std::string>& options, const fs::path& file, const Line& line,
                    const fs::path& folder) const {
  const std::string complaint = complaint_of(options, file, line, folder);
  if (!complaint.empty()) throw InputError("{}: {}", file.string(), complaint);
}

std::string Cuobjdump::complaint_of(const std::vector<std::string>& options, const fs::path& file,
                                    const Line& line, const fs::path& folder) const {
  ProgramStart start{.program = program_, .arguments = options, .folder = folder};
  start.arguments.push_back(fs::absolute(file).string());
  std::string complaint;
  const Ending ending = run_and_read(start, [&](std::string_view text) {
    // "cuobjdump fatal   : Invalid fatbin header in 'FILE'", "/usr/bin/nvdisasm: error while loading ..."
    const std::string_view program = text.substr(0, text.find_first_of(" :"));
    if (!program.ends_with("cuobjdump") && !program.ends_with("nvdisasm")) {
      line(text);
    } else if (complaint.empty()) {
      complaint = text.substr(std::min(text.size(), text.find(": ") + 2));
    }
  });
  if (ending == Ending{}) return "";
  // "Could not find executable file 'nvdisasm'; ..."
  if (complaint.find("find executable file 'nvdisasm'") != std::string::npos)
    return "cuobjdump finds no nvdisasm; it comes with the CUDA toolkit (package cuda-nvdisasm-*), and "
           "`pip install nvidia-cuda-nvdisasm` has it too";
  if (complaint.empty()) complaint = fmt::format("cuobjdump ended with {}", to_string(ending));
  return with_lack_of_space(complaint);
}

std::string with_lack_of_space(const std::string& complaint) {
  constexpr std::uintmax_t kTooLittle = 1 << 20;
  std::error_code unknown;
  const fs::path folder = fs::temp_directory_path(unknown);
  // Unknown space counts as enough.
  if (unknown || fs::space(folder, unknown).available >= kTooLittle) return complaint;
  return fmt::format("no space left in {}, where cuobjdump writes: set TMPDIR to another folder ({})",
                     folder.string(), complaint);
}

void ResourceListing::read(std::string_view line) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kFunction = " Function ";
  if (line.starts_with(kArchitecture)) {
    architecture_ = line.substr(kArchitecture.size());
  } else if (line.starts_with("Fatbin nvvm code")) {
    is_lto_ = true;
  } else if (line.starts_with("Resource usage")) {
    cubins_.emplace_back();
  } else if (line.starts_with(kFunction) && line.ends_with(':')) {
    function_ = line.substr(kFunction.size(), line.size() - kFunction.size() - 1);
  } else if (const auto registers = number_after(line, "REG:"); registers && !cubins_.empty()) {
    // Only kernels have a bank of constants for their parameters.
    if (line.find("CONSTANT[0]") == std::string_view::npos) return;
    DeviceKernel& kernel = cubins_.back().emplace_back();
    kernel.symbol = function_;
    kernel.architecture = architecture_;
    kernel.usage.registers_per_thread = static_cast<int>(*registers);
    kernel.stack_bytes = number_after(line, "STACK:");
    if (kernel.stack_bytes)
      kernel.usage.local_bytes_per_thread = *kernel.stack_bytes + number_after(line, "LOCAL:").value_or(0);
    kernel.usage.static_shared_bytes = number_after(line, "SHARED:").value_or(0);
  }
}

void CodeListing::read(std::string_view line) {
  constexpr std::string_view kFunction = "\t\tFunction : ";
  if (line.starts_with(kFunction)) {
    function_ = &functions_[std::string(line.substr(kFunction.size()))];
    return;
  }
  if (function_ == nullptr) return;
  const std::string_view operation = operation_of(line);
  const std::string_view name = operation.substr(0, operation.find('.'));
  if (name != "LDL" && name != "STL") return;
  ++(name == "LDL" ? function_->loads : function_->stores);
  function_->bytes += width_of(operation);
}

}  // namespace occbench
