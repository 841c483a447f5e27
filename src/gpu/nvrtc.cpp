#include "gpu/nvrtc.hpp"

#include <cstdint>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

// NVRTC's C interface (CUDA Toolkit documentation, NVRTC, user interface). Declared here so that the build
// does not need its header: the library is opened at run time, and a machine without it can still measure
// everything else.
using Program = struct NvrtcProgram*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kCompilation = 6;
constexpr Result kNameExpressionNotValid = 8;

/// The oldest and newest major version known to have this interface; the newest is opened first.
constexpr int kOldest = 12;
constexpr int kNewest = CUDART_VERSION / 1000;

std::string library_name(int major) {
  return fmt::format("libnvrtc.so.{}", major);
}

template <typename Signature>
Signature* function_of(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(fmt::format("NVRTC's library has no {}", name));
  return reinterpret_cast<Signature*>(found);
}

void require_success(Result result, std::string_view call) {
  if (result != kSuccess)
    throw std::runtime_error(fmt::format("{} failed: result {} of NVRTC", call, result));
}

struct DestroyProgram {
  Result (*destroy)(Program*);
  void operator()(Program program) const {
    static_cast<void>(destroy(&program));
  }
};

using OwnedProgram = std::unique_ptr<NvrtcProgram, DestroyProgram>;

/// Reads a text of a program: its size, including a final zero if it is a string, then its bytes.
std::string bytes_of(void* library, Program program, const char* size_name, const char* name) {
  std::size_t size = 0;
  require_success(function_of<Result(Program, std::size_t*)>(library, size_name)(program, &size), size_name);
  std::string bytes(size, '\0');
  if (size > 0)
    require_success(function_of<Result(Program, char*)>(library, name)(program, bytes.data()), name);
  return bytes;
}

std::pair<int, int> version_of(void* library) {
  std::pair<int, int> version;
  require_success(function_of<Result(int*, int*)>(library, "nvrtcVersion")(&version.first, &version.second),
                  "nvrtcVersion");
  return version;
}

/// lib/libnvrtc.so.13 is beside include/, in a toolkit and in its wheels; in CUDA 12 each wheel has its own
/// folder.
std::vector<fs::path> folders_beside(void* library) {
  fs::path folder = file_of(dlsym(library, "nvrtcVersion")).parent_path();
  std::error_code unknown;
  // targets/x86_64-linux/lib of a toolkit, or lib of wheels.
  for (int up = 0; up < 3 && !folder.empty(); ++up) {
    folder = folder.parent_path();
    for (const fs::path& headers : {folder / "include", folder / "cuda_runtime" / "include"}) {
      if (!fs::exists(headers / "cuda_runtime.h", unknown)) continue;
      if (fs::exists(headers / "cccl", unknown)) return {headers, headers / "cccl"};
      return {headers};
    }
  }
  return {};
}

/// NVRTC opens this library by name: it must be in the loader's path or already loaded.
void open_builtins_beside(void* library) {
  const auto [major, minor] = version_of(library);
  const fs::path file = file_of(dlsym(library, "nvrtcVersion")).parent_path() /
                        fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  // If it is missing, NVRTC reports it.
  static_cast<void>(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
}

void* open_library() {
  std::string why;
  for (int major = kNewest; major >= kOldest; --major) {
    for (const fs::path& file : cuda_library_files(library_name(major))) {
      if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        open_builtins_beside(library);
        return library;
      }
      const char* const reason = dlerror();
      if (why.empty() && reason != nullptr) why = reason;
    }
  }
  throw NoRuntimeCompiler(
      fmt::format("kernels are compiled at run time by NVRTC, whose library {} cannot be loaded ({}): it is "
                  "part of the CUDA toolkit, in the package cuda-nvrtc-{}-{}, or of the wheel "
                  "nvidia-cuda-nvrtc; name its folder in the variable OCCBENCH_CUPTI",
                  library_name(kNewest), why, kNewest, CUDART_VERSION % 1000 / 10));
}

/// Head of a kernel's file: the length of its inputs, then the inputs.
std::string head_of(const std::string& content) {
  return fmt::format("occbench kernel 2\n{}\n{}\n", content.size(), content);
}

}  // namespace

Nvrtc::Nvrtc(void* library) : library_(library), include_folders_(folders_beside(library)) {
  const std::pair<int, int> version = version_of(library);
  version_ = fmt::format("{}.{}", version.first, version.second);
  has_cache_ = version >= std::pair(12, 9);
}

const Nvrtc& Nvrtc::loaded() {
  static const Nvrtc only(open_library());
  return only;
}

Nvrtc::Output Nvrtc::compile(const std::string& text, const std::string& name,
                             std::span<const std::pair<std::string, std::string>> headers,
                             const std::string& function, std::span<const std::string> options) const {
  std::vector<const char*> header_names;
  std::vector<const char*> header_texts;
  for (const auto& [header, content] : headers) {
    header_names.push_back(header.c_str());
    header_texts.push_back(content.c_str());
  }
  Program made = nullptr;
  require_success(
      function_of<Result(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          library_, "nvrtcCreateProgram")(&made, text.c_str(), name.c_str(), static_cast<int>(headers.size()),
                                          header_texts.data(), header_names.data()),
      "nvrtcCreateProgram");
  const OwnedProgram program(made, {function_of<Result(Program*)>(library_, "nvrtcDestroyProgram")});
  require_success(function_of<Result(Program, const char*)>(library_, "nvrtcAddNameExpression")(
                      program.get(), function.c_str()),
                  "nvrtcAddNameExpression");
  std::vector<const char*> flags;
  for (const std::string& option : options) flags.push_back(option.c_str());
  // Machine code from NVRTC's cache (12.9 and later; on a machine with a driver) comes without the log of
  // --ptxas-options=-v, which has the register count.
  if (has_cache_) flags.push_back("--no-cache");
  const Result result = function_of<Result(Program, int, const char* const*)>(
      library_, "nvrtcCompileProgram")(program.get(), static_cast<int>(flags.size()), flags.data());
  Output output;
  output.log = bytes_of(library_, program.get(), "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  // The parts of the front end and of the assembler each end with one.
  std::erase(output.log, '\0');
  while (output.log.ends_with('\n')) output.log.pop_back();
  if (result == kCompilation || result == kNameExpressionNotValid) return output;
  if (result != kSuccess)
    throw InputError("NVRTC cannot compile {}: result {}\n{}", name, result, output.log);
  const char* symbol = nullptr;
  require_success(function_of<Result(Program, const char*, const char**)>(library_, "nvrtcGetLoweredName")(
                      program.get(), function.c_str(), &symbol),
                  "nvrtcGetLoweredName");
  output.symbol = symbol;
  output.cubin = bytes_of(library_, program.get(), "nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  return output;
}

fs::path KernelCache::file_of(const std::string& content) const {
  // It only names the file: the content itself is in the file and is compared.
  return folder_ / fmt::format("{:016x}.kernel", fnv_hash<std::uint64_t>(content));
}

std::optional<Nvrtc::Output> KernelCache::find(const std::string& content) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(content), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string head = head_of(content);
  if (!text.starts_with(head)) return std::nullopt;
  std::istringstream rest(text.substr(head.size()));
  std::size_t symbol = 0;
  std::size_t log = 0;
  std::size_t cubin = 0;
  if (!(rest >> symbol >> log >> cubin) || rest.get() != '\n') return std::nullopt;
  const std::string parts{std::istreambuf_iterator<char>(rest), {}};
  if (symbol > parts.size() || log > parts.size() - symbol || cubin != parts.size() - symbol - log)
    return std::nullopt;
  return Nvrtc::Output{.cubin = parts.substr(symbol + log),
                       .symbol = parts.substr(0, symbol),
                       .log = parts.substr(symbol, log)};
}

void KernelCache::keep(const std::string& content, const Nvrtc::Output& output) const {
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  try {
    replace_text(file_of(content),
                 head_of(content) +
                     fmt::format("{} {} {}\n", output.symbol.size(), output.log.size(), output.cubin.size()) +
                     output.symbol + output.log + output.cubin,
                 WrittenTo::system);
  } catch (const InputError&) {  // it is compiled again next time
  }
}

fs::path user_kernel_cache() {
  const fs::path folder = user_folder("XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "kernels";
}

}  // namespace occbench
