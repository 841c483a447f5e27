#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gate/compare.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

/// Any text is either refused by name or read; samples that were read are written as text that reads as the
/// same samples, and as times of a case they can be compared.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::string rows =
      "schema,recorded_at,gpu_uuid,experiment,case,achieved_pct,achieved_elapsed_pct,time_us,time_status\n"
      "1,2026-03-01T12:00:00Z,GPU-1,waves,a,50,40,100,ok\n";
  try {
    const std::vector<Sample> samples = parse_samples(text, "fuzzed");
    std::string written = samples_header();
    for (const Sample& sample : samples) written += csv_record(sample);
    if (parse_samples(written, "written") != samples) std::abort();
    const RecordedRun run = parse_run(rows, text, "fuzzed");
    if (compare(run, run, {}).verdict() == Verdict::regression) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
