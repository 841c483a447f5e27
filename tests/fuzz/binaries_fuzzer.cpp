#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "binary/cuobjdump.hpp"
#include "binary/device_code.hpp"
#include "occupancy/input_error.hpp"

/// Any bytes are either refused or a cubin, and are lines of cuobjdump's listings.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [symbol, kernel] : parse_cubin(text, "fuzzed").kernels) {
      if (kernel.barriers < 0 || kernel.max_block_threads < 0 || kernel.required_block_threads < 0)
        std::abort();
    }
  } catch (const InputError&) {
  }
  ResourceListing resources;
  CodeListing code;
  try {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      resources.read(text.substr(at, end - at));
      code.read(text.substr(at, end - at));
      at = end + 1;
    }
  } catch (const InputError&) {
  }
  return 0;
}
