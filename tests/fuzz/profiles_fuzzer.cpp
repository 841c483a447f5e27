#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "occupancy/input_error.hpp"
#include "predict/device_profile.hpp"

/// Any text is either refused or a profile; one that was read is written as text that reads as the same profile.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  try {
    const DeviceProfile profile = parse_profile({reinterpret_cast<const char*>(data), size}, "fuzzed");
    if (parse_profile(to_string(profile), "written") != profile) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
