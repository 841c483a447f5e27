#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

/// Any text is either refused by name or read, compared and written in every format; rows that were read are
/// written as text that reads as the same rows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
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

    const Comparison comparison = compare(run, run, {});
    for (int format = 0; format <= static_cast<int>(GateFormat::bencher); ++format) {
      write_comparison(comparison, static_cast<GateFormat>(format));
    }
    if (comparison.verdict() == Verdict::regression) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
