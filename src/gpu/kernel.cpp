#include "gpu/kernel.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "gpu/error.hpp"

namespace occbench {

const Variant& Kernel::find(std::string_view variant) const {
  const auto found = std::ranges::find(variants, variant, &Variant::name);
  if (found == variants.end())
    throw std::out_of_range(fmt::format("kernel {} has no variant {}", name, variant));
  return *found;
}

namespace {

/// Also empty if the driver compiled the code: its spills are not known at build time.
std::optional<std::int64_t> spill_bytes(const Variant& variant, std::string_view code_architecture) {
  if (variant.assembled.empty()) return std::nullopt;
  const char* name = nullptr;
  check(cudaFuncGetName(&name, variant.function), "cudaFuncGetName");
  const auto found = std::ranges::find_if(variant.assembled, [&](const Assembled& line) {
    return line.function == name && line.architecture == code_architecture;
  });
  if (found == variant.assembled.end()) return std::nullopt;
  return found->spill_bytes;
}

}  // namespace

Compiled inspect(const Variant& variant) {
  if (variant.compiled) return *variant.compiled;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, variant.function), "cudaFuncGetAttributes");
  Compiled compiled;
  compiled.usage.registers_per_thread = attributes.numRegs;
  compiled.usage.static_shared_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes);
  compiled.usage.local_bytes_per_thread = static_cast<std::int64_t>(attributes.localSizeBytes);
  compiled.code_architecture =
      attributes.ptxVersion == attributes.binaryVersion
          ? fmt::format("sm_{}", attributes.binaryVersion)
          : fmt::format("sm_{} from compute_{}", attributes.binaryVersion, attributes.ptxVersion);
  compiled.spill_bytes = spill_bytes(variant, compiled.code_architecture);
  return compiled;
}

}  // namespace occbench
