#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "occupancy/input_error.hpp"
#include "simulate/work.hpp"

namespace {

using namespace occbench;

void read_work(std::string_view text) {
  try {
    const Work work = parse_work(work_in_cycles(text, 1980.0));
    if (parse_work(to_string(work)) != work) std::abort();
    for (const std::int64_t unit : {0, 1, 999}) {
      const std::int64_t cycles = work.cycles_of(unit, 1000);
      if (cycles < 1 || static_cast<double>(cycles) > kMaxUnitCycles) std::abort();
    }
  } catch (const InputError&) {
  }
}

void read_durations(std::string_view text, bool per_warp) {
  try {
    const Durations durations = parse_durations(text, "fuzzed", per_warp);
    if (durations.cycles.empty()) std::abort();
    for (const std::int64_t cycles : durations.cycles)
      if (cycles < 1 || static_cast<double>(cycles) > kMaxUnitCycles) std::abort();
  } catch (const InputError&) {
  }
}

}  // namespace

/// Any text is either refused or work, and either refused or durations, none of which is out of its range.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_work(text);
  read_durations(text, true);
  read_durations(text, false);
  return 0;
}
