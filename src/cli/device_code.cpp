#include "cli/device_code.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <deque>
#include <istream>
#include <memory>
#include <optional>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLinkedReserve = 1024;

/// The number after `key`, as in "REG:32 STACK:0"; empty if the line lacks the key.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtoll(std::string(line.substr(at + key.size())).c_str(), nullptr, 10);
}

/// "0x100 0x1 0x1": the product.
std::int64_t product_of(std::string_view values) {
  std::istringstream words{std::string(values)};
  words >> std::hex;
  std::int64_t product = 1;
  for (std::int64_t value = 0; words >> value;) product *= value;
  return product;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? ""
                                         : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
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

class Reader {
 public:
  void read(std::string_view line) {
    if (read_heading(line)) return;
    if (function_ != nullptr && in_code_) {
      count(operation_of(line));
    } else if (!section_.empty()) {
      read_attribute(line);
    } else if (const auto registers = number_after(line, "REG:"); registers && function_ != nullptr) {
      read_resources(line, *registers);
    }
  }

  std::vector<DeviceKernel> take() {
    finish_cubin();
    return std::move(kernels_);
  }

 private:
  struct Function {
    DeviceKernel kernel;
    bool is_kernel = false;
  };

  bool read_heading(std::string_view line) {
    if (line.find("ELF: type=") != std::string_view::npos ||
        line.find("elf: type=") != std::string_view::npos) {
      finish_cubin();
      const std::int64_t number = number_after(line, "sm=").value_or(0);
      capability_ = {static_cast<int>(number / 10), static_cast<int>(number % 10)};
      linked_ = line.find("type=ET_REL") == std::string_view::npos &&
                line.find("type=1,") == std::string_view::npos;
    } else if (line.starts_with(".nv.info.")) {
      section_ = line.substr(std::string_view(".nv.info.").size());
    } else if (line.starts_with('.') || line.starts_with("Resource usage")) {
      section_.clear();
    } else if (line.starts_with(" Function ") && line.ends_with(':')) {
      function_ = &function(line.substr(10, line.size() - 11));
      in_code_ = false;
    } else if (line.starts_with("\t\tFunction : ")) {
      function_ = &function(line.substr(13));
      in_code_ = true;
    } else {
      return false;
    }
    return true;
  }

  void read_attribute(std::string_view line) {
    line = trimmed(line);
    if (line.starts_with("Attribute:")) attribute_ = trimmed(line.substr(10));
    if (!line.starts_with("Value:")) return;
    const std::string_view value = line.substr(6);
    if (attribute_ == "EIATTR_NUM_BARRIERS") {
      function(section_).kernel.usage.barriers = static_cast<int>(product_of(value));
    }
    if (attribute_ == "EIATTR_MAX_THREADS") function(section_).kernel.max_block_threads = product_of(value);
  }

  void read_resources(std::string_view line, std::int64_t registers) {
    DeviceKernel& kernel = function_->kernel;
    // Only kernels have a bank of constants for their parameters.
    function_->is_kernel = line.find("CONSTANT[0]") != std::string_view::npos;
    kernel.usage.registers_per_thread = static_cast<int>(registers);
    kernel.stack_bytes = number_after(line, "STACK:").value_or(0);
    kernel.usage.local_bytes_per_thread = kernel.stack_bytes + number_after(line, "LOCAL:").value_or(0);
    kernel.usage.static_shared_bytes = number_after(line, "SHARED:").value_or(0);
    if (linked_ && capability_.major >= 9 && kernel.usage.static_shared_bytes >= kLinkedReserve) {
      kernel.usage.static_shared_bytes -= kLinkedReserve;
    }
  }

  void count(std::string_view operation) {
    const std::string_view name = operation.substr(0, operation.find('.'));
    if (name == "LDL") ++function_->kernel.local_loads;
    if (name == "STL") ++function_->kernel.local_stores;
  }

  Function& function(std::string_view symbol) {
    const auto [place, is_new] = by_symbol_.try_emplace(std::string(symbol), nullptr);
    if (is_new) {
      place->second = &functions_.emplace_back();
      DeviceKernel& kernel = place->second->kernel;
      kernel.symbol = symbol;
      kernel.compute_capability = capability_;
      kernel.architecture = fmt::format("sm_{}{}", capability_.major, capability_.minor);
    }
    return *place->second;
  }

  void finish_cubin() {
    for (const Function& of : functions_) {
      if (of.is_kernel) kernels_.push_back(of.kernel);
    }
    functions_.clear();
    by_symbol_.clear();
    function_ = nullptr;
    section_.clear();
  }

  std::vector<DeviceKernel> kernels_;
  std::deque<Function> functions_;  ///< of the cubin that is being read
  std::unordered_map<std::string, Function*> by_symbol_;
  Function* function_ = nullptr;  ///< the one that is being read, in resources or code
  bool in_code_ = false;
  std::string section_;  ///< the function whose .nv.info is being read
  std::string attribute_;
  ComputeCapability capability_;
  bool linked_ = true;
};

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
      "cuda-cuobjdump-*, cuda-nvdisasm-*)");
}

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

/// Feeds `reader` what cuobjdump prints; its complaint, empty if it had none.
std::string run_cuobjdump(const fs::path& file, Reader& reader) {
  const std::string command =
      fmt::format("{} -res-usage -elf -sass {} 2>&1", quoted_for_shell(find_cuobjdump()),
                  quoted_for_shell(fs::absolute(file)));
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::system_error(errno, std::generic_category(), "popen");
  std::string complaint;
  char* buffer = nullptr;
  std::size_t capacity = 0;
  for (ssize_t length = 0; (length = getline(&buffer, &capacity, output)) > 0;) {
    std::string_view line(buffer, static_cast<std::size_t>(length));
    if (line.ends_with('\n')) line.remove_suffix(1);
    // "cuobjdump fatal   : Invalid fatbin header in 'FILE'"
    if (line.starts_with("cuobjdump ")) complaint = line.substr(std::min(line.size(), line.find(": ") + 2));
    reader.read(line);
  }
  std::free(buffer);
  const int status = pclose(output);
  return status == 0 || !complaint.empty()
             ? complaint
             : fmt::format("cuobjdump ended with status {}", WEXITSTATUS(status));
}

}  // namespace

std::string source_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return symbol;
  // Instances of templates are spelled with their return type.
  const std::string_view text = name.get();
  return std::string(text.starts_with("void ") ? text.substr(5) : text);
}

std::vector<DeviceKernel> parse_device_code(std::istream& cuobjdump_output) {
  Reader reader;
  for (std::string line; std::getline(cuobjdump_output, line);) reader.read(line);
  return reader.take();
}

std::vector<DeviceKernel> read_device_code(const fs::path& file) {
  if (!fs::is_regular_file(file) || access(file.c_str(), R_OK) != 0) {
    throw InputError(fmt::format("{} is no file that can be read", file.string()));
  }
  Reader reader;
  const std::string complaint = run_cuobjdump(file, reader);
  if (!complaint.empty()) throw InputError(fmt::format("{}: {}", file.string(), complaint));
  std::vector<DeviceKernel> kernels = reader.take();
  if (kernels.empty()) {
    throw InputError(fmt::format(
        "{} has no kernels in machine code; PTX, which the driver compiles, does not say what they will "
        "use: build for an architecture, as with nvcc -arch=sm_90",
        file.string()));
  }
  return kernels;
}

}  // namespace occbench
