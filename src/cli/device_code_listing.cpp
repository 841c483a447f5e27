#include "cli/device_code_listing.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace occbench {
namespace {

/// The number after `key`, as in "REG:32 STACK:0"; empty if the line lacks the key.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtoll(std::string(line.substr(at + key.size())).c_str(), nullptr, 10);
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

void ResourceListing::read(std::string_view line) {
  constexpr std::string_view kFunction = " Function ";
  if (line.starts_with("Resource usage")) {
    cubins_.emplace_back();
  } else if (line.starts_with(kFunction) && line.ends_with(':')) {
    function_ = line.substr(kFunction.size(), line.size() - kFunction.size() - 1);
  } else if (const auto registers = number_after(line, "REG:"); registers && !cubins_.empty()) {
    // Only kernels have a bank of constants for their parameters.
    if (line.find("CONSTANT[0]") == std::string_view::npos) return;
    DeviceKernel& kernel = cubins_.back().emplace_back();
    kernel.symbol = function_;
    kernel.usage.registers_per_thread = static_cast<int>(*registers);
    kernel.stack_bytes = number_after(line, "STACK:").value_or(0);
    kernel.usage.local_bytes_per_thread = kernel.stack_bytes + number_after(line, "LOCAL:").value_or(0);
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
