#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gate/tolerances.hpp"
#include "occupancy/input_error.hpp"

/// Any text is either refused by name or read; what was read is written as text that reads as the same
/// tolerances.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  try {
    const std::string written =
        parse_tolerances({reinterpret_cast<const char*>(data), size}, "fuzzed").to_json();
    if (parse_tolerances(written, "written").to_json() != written) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
