#include "gpu/runtime_kernel.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include "gpu/error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// NVRTC has no host headers. These are enough for plain kernels; the types are those of the toolkit's
/// <cuda/std/cstdint>.
const std::vector<std::pair<std::string, std::string>> kHeaders = {
    {"cstdint",
     "#pragma once\n"
     "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;\n"
     "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n"
     "typedef unsigned long long uint64_t; typedef int64_t intptr_t; typedef uint64_t uintptr_t;\n"
     "namespace std {\n"
     "using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;\n"
     "using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;\n"
     "}\n"},
    {"cstddef",
     "#pragma once\nnamespace std { using size_t = decltype(sizeof 0); using ptrdiff_t = long; }\n"},
    {"stdint.h", "#include <cstdint>\n"},
    {"stddef.h", "#include <cstddef>\n"}};

std::optional<std::string> text_of(const fs::path& file) {
  std::error_code unreadable;
  if (!fs::is_regular_file(file, unreadable)) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

/// Appends the text of every file that a text includes, recursively, because they are inputs of the kernel.
/// The toolkit's version stands for its headers.
void add_included(const std::string& text, const std::vector<fs::path>& folders, std::set<fs::path>& seen,
                  std::string& content) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#' || line.find("include", hash) == std::string::npos)
      continue;
    const std::size_t open = line.find_first_of("\"<", hash);
    const std::size_t close = open == std::string::npos ? open : line.find_first_of("\">", open + 1);
    if (close == std::string::npos) continue;
    const std::string name = line.substr(open + 1, close - open - 1);
    for (const fs::path& folder : folders) {
      const fs::path file = (folder / name).lexically_normal();
      const auto included = text_of(file);
      if (!included) continue;
      if (!seen.insert(file).second) break;
      content += fmt::format("\n// {}\n{}", file.string(), *included);
      std::vector<fs::path> beside = {file.parent_path()};
      beside.insert(beside.end(), folders.begin(), folders.end());
      add_included(*included, beside, seen, content);
      break;
    }
  }
}

std::vector<std::string> flags_of(const KernelSource& source, const KernelBuild& build) {
  std::vector<std::string> flags = {fmt::format("--gpu-architecture=sm_{}{}", build.compute_capability.major,
                                                build.compute_capability.minor),
                                    fmt::format("--std={}", source.standard), "--ptxas-options=-v",
                                    "--generate-line-info", "--device-as-default-execution-space"};
  if (build.register_cap) flags.push_back(fmt::format("--maxrregcount={}", *build.register_cap));
  for (const std::string& define : build.defines) flags.push_back("--define-macro=" + define);
  for (const fs::path& folder : source.include_folders) flags.push_back("--include-path=" + folder.string());
  return flags;
}

/// All inputs that decide the compiler's output.
std::string content_of(const KernelSource& source, const KernelBuild& build, const Nvrtc& compiler) {
  std::string content = fmt::format("NVRTC {}\nfunction {}\n", compiler.version(), build.function);
  for (const std::string& flag : flags_of(source, build)) content += flag + "\n";
  content += fmt::format("// {}\n{}", source.name, source.text);
  for (const auto& [name, text] : source.headers) content += fmt::format("\n// {}\n{}", name, text);
  return content + (source.included ? *source.included : included_by(source));
}

/// A hint on host code, which NVRTC does not compile, or on a macro with the name of a template parameter;
/// else empty.
std::string hint_on(const std::string& log, const KernelSource& source, const KernelBuild& build) {
  for (const char* complaint : {"open source file", "device-side kernel launch",
                                "explicitly marked as a __host__", "requires --extended-lambda"}) {
    if (log.find(complaint) != std::string::npos)
      return "\nNVRTC compiles device code alone: put code and headers of the host between #ifndef "
             "__CUDACC_RTC__ and #endif, name folders of your own headers by --include; it has no "
             "--extended-lambda";
  }
  for (const std::string& define : build.defines) {
    const std::string name = define.substr(0, define.find('='));
    for (std::size_t at = source.text.find("template"); at != std::string::npos;
         at = source.text.find("template", at + 1)) {
      const std::size_t close = source.text.find('>', at);
      const std::string_view parameters = std::string_view(source.text).substr(at, close - at);
      if (parameters.ends_with(" " + name) || parameters.find(" " + name + ",") != std::string_view::npos)
        return fmt::format("\n--define {0} replaces the template parameter {0} too: choose another name",
                           name);
    }
  }
  return "";
}

/// The first line with an error.
std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    for (const char* error : {"error:", "ptxas error", "ptxas fatal"}) {
      if (line.find(error) != std::string::npos) return line;
    }
  }
  return "the compiler gives no reason";
}

Nvrtc::Output compiled(const KernelSource& source, const KernelBuild& build, const Nvrtc& compiler) {
  std::vector<std::pair<std::string, std::string>> headers;
  std::ranges::copy_if(kHeaders, std::back_inserter(headers), [&](const auto& header) {
    return std::ranges::none_of(source.include_folders, [&](const fs::path& folder) {
      return fs::exists(folder / header.first);  // the user's own
    });
  });
  headers.insert(headers.end(), source.headers.begin(), source.headers.end());
  std::vector<std::string> flags = flags_of(source, build);
  for (const fs::path& folder : compiler.include_folders())
    flags.push_back("--include-path=" + folder.string());
  Nvrtc::Output output = compiler.compile(source.text, source.name, headers, build.function, flags);
  // Instructions that only GPUs of this compute capability have (wgmma, setmaxnreg, tcgen05) need its
  // specific target.
  if (output.cubin.empty() && build.compute_capability.major >= 9 &&
      output.log.find("not supported on .target") != std::string::npos) {
    flags.front() += "a";
    Nvrtc::Output specific = compiler.compile(source.text, source.name, headers, build.function, flags);
    if (!specific.cubin.empty()) output = std::move(specific);
  }
  // NVRTC compiles the kernel's name after the source.
  if (output.cubin.empty() && output.log.starts_with("__nv_name_map"))
    throw DoesNotCompile(fmt::format(
        "{} has no kernel {}; one of a template is named with its arguments, 'product<32>', and one "
        "of a namespace with that:\n{}",
        source.name, build.function, output.log));
  if (output.cubin.empty())
    throw DoesNotCompile(fmt::format("{} does not compile for {}: {}\n{}{}", source.name, build.function,
                                     first_error(output.log), output.log,
                                     hint_on(output.log, source, build)));
  return output;
}

/// The first number between two texts.
std::optional<std::int64_t> number_in(std::string_view log, std::string_view before, std::string_view after) {
  for (std::size_t at = log.find(before); at != std::string_view::npos; at = log.find(before, at + 1)) {
    const std::string_view rest = log.substr(at + before.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc() && rest.substr(static_cast<std::size_t>(end - rest.data())).starts_with(after))
      return number;
  }
  return std::nullopt;
}

/// "sm_90a" of "Compiling entry function 'f' for 'sm_90a'".
std::string architecture_in(std::string_view report) {
  constexpr std::string_view kFor = "' for '";
  const std::size_t begin = std::min(report.find(kFor), report.size() - kFor.size()) + kFor.size();
  return std::string(report.substr(begin, report.find('\'', begin) - begin));
}

/// The assembler's lines on one function.
std::string report_on(const std::string& log, const std::string& symbol) {
  const std::size_t begin = log.find(fmt::format("Compiling entry function '{}'", symbol));
  if (begin == std::string::npos)
    throw DoesNotCompile(fmt::format(
        "the assembler's log has no registers of {}, so its theory is not known:\n{}", symbol, log));
  return log.substr(begin, log.find("Compiling entry function", begin + 1) - begin);
}

std::string note_on(const std::string& log, int given, const std::optional<int>& cap) {
  if (!cap) return {};
  const auto raised = number_in(log, " to lower bound of ", "");
  if (given > std::max<std::int64_t>(*cap, raised.value_or(0)))
    return fmt::format(
        "the cap of {} registers was not kept: __launch_bounds__ or __maxnreg__ of the source overrides it",
        *cap);
  return raised ? fmt::format("the assembler raised the cap of {} registers to {}", *cap, *raised) : "";
}

void require_loaded(CUresult result, std::string_view call) {
  if (result != CUDA_SUCCESS)
    throw GpuUnavailable(fmt::format("the driver does not load the compiled kernel: {} gives CUresult {}",
                                     call, static_cast<int>(result)));
}

}  // namespace

RuntimeKernel::RuntimeKernel(Nvrtc::Output output, const KernelBuild& build)
    : cubin_(std::move(output.cubin)), symbol_(std::move(output.symbol)) {
  const std::string report = report_on(output.log, symbol_);
  compiled_.code_architecture = architecture_in(report);
  compiled_.usage.registers_per_thread =
      static_cast<int>(number_in(report, "Used ", " registers").value_or(0));
  compiled_.usage.barriers = static_cast<int>(number_in(report, "used ", " barriers").value_or(0));
  compiled_.usage.static_shared_bytes = number_in(report, " ", " bytes smem").value_or(0);
  const std::int64_t frame = number_in(report, " ", " bytes stack frame").value_or(0);
  compiled_.usage.local_bytes_per_thread = number_in(report, " ", " bytes cumulative stack").value_or(frame);
  compiled_.spill_bytes = number_in(report, " ", " bytes spill stores").value_or(0) +
                          number_in(report, " ", " bytes spill loads").value_or(0);
  note_ = note_on(output.log, compiled_.usage.registers_per_thread, build.register_cap);
}

const void* RuntimeKernel::function() {
  if (function_ != nullptr) return function_;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  // The driver API loads machine code; the runtime then accepts the kernel (cudaFuncGetAttributes treats a
  // function that it does not know as a cudaKernel_t).
  require_loaded(driver_function<decltype(cuLibraryLoadData)>("cuLibraryLoadData")(
                     &library, cubin_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cuLibraryLoadData");
  // Stays loaded until the process ends: a later case may use it again.
  require_loaded(
      driver_function<decltype(cuLibraryGetKernel)>("cuLibraryGetKernel")(&kernel, library, symbol_.c_str()),
      "cuLibraryGetKernel");
  return function_ = kernel;
}

std::string included_by(const KernelSource& source) {
  std::string included;
  std::set<fs::path> seen;
  add_included(source.text, source.include_folders, seen, included);
  return fmt::format("\n// included: {} bytes, {:x}", included.size(), fnv_hash<std::uint64_t>(included));
}

std::shared_ptr<RuntimeKernel> compile_kernel(const KernelSource& source, const KernelBuild& build,
                                              const KernelCache& cache) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<RuntimeKernel>> compiled_before;
  const Nvrtc& compiler = Nvrtc::loaded();
  const std::string content = content_of(source, build, compiler);
  {
    const std::lock_guard lock(mutex);
    const auto found = compiled_before.find(content);
    if (found != compiled_before.end()) return found->second;
  }
  std::optional<Nvrtc::Output> output = cache.find(content);
  const bool is_new = !output;
  if (is_new) output = compiled(source, build, compiler);
  const auto kernel = std::make_shared<RuntimeKernel>(*output, build);
  if (is_new) cache.keep(content, *output);
  const std::lock_guard lock(mutex);
  return compiled_before.try_emplace(content, kernel).first->second;
}

}  // namespace occbench
