#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace {

using namespace occbench;

/// Ends the rows that others are compared with, where the input has two files.
constexpr std::string_view kBetween = "====\n";

/// What fuzzed rows are compared with if the input has one file.
const RecordedRun& usual_baseline() {
  static const RecordedRun kRun = parse_run(
      "schema,recorded_at,gpu,gpu_uuid,experiment,case,registers_per_thread,theoretical_pct,predicted_pct,"
      "achieved_pct,achieved_spread_points,achieved_elapsed_pct,achieved_source,time_us,time_status,check\n"
      "1,2026-03-01T12:00:00Z,G,GPU-1,waves,one,31,100,99,98,0.1,97,counter,404,ok,ok\n"
      "1,2026-03-01T12:00:00Z,G,GPU-1,waves,two,31,100,99,98,0.1,97,counter,404,skipped,ok\n",
      "", "baseline");
  return kRun;
}

void write_in_every_format(const Comparison& comparison) {
  for (const auto& [name, format] : kGateFormats) format.text(comparison);
}

}  // namespace

/// Any text is either refused by name or read, compared with itself and with other rows, and written in every
/// format; rows that were read are written as text that reads as the same rows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::optional<RecordedRun> given;
    if (const std::size_t end = text.find(kBetween); end != text.npos) {
      given = parse_run(text.substr(0, end), "", "baseline");
      text.remove_prefix(end + kBetween.size());
    }
    const RecordedRun& baseline = given ? *given : usual_baseline();
    const RecordedRun run = parse_run(text, "", "fuzzed");
    std::vector<Row> rows;
    for (const RecordedCase& recorded : run.cases) rows.push_back(recorded.row);
    std::vector<std::string> extra;
    if (!rows.empty()) {
      for (const auto& [name, value] : rows.front().extra) extra.push_back(name);
    }
    std::string written = csv_header(extra);
    for (const Row& row : rows) written += csv_record(row);
    std::string again = csv_header(extra);
    for (const Row& row : parse_rows(written, "written")) again += csv_record(row);
    if (written != again) std::abort();

    if (compare(run, run, {}).verdict() == Verdict::regression) std::abort();
    compare(run, baseline, {});
    write_in_every_format(compare(baseline, run, {}));
  } catch (const InputError&) {
  }
  return 0;
}
