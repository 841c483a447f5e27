#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "occupancy/input_error.hpp"
#include "programs/process_entries.hpp"
#include "programs/program.hpp"
#include "programs/torch_trace.hpp"
#include "record/csv.hpp"

namespace {

using namespace occbench;

std::vector<ProgramEntry> entries_of(const std::string& bytes) {
  if (bytes.starts_with(kEntriesMagic)) return merged(parse_process_entries(bytes, "fuzzed").entries);
  std::istringstream stream(bytes);
  std::vector<ProgramEntry> entries;
  for (const TorchKernel& kernel : parse_torch_trace(stream, "fuzzed").kernels)
    entries.push_back(kernel.entry);
  return entries;
}

}  // namespace

/// Any bytes are either refused, or entries of a traced process or a trace of torch.profiler. Rows made of them are
/// written as text that reads as the same rows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<CaseRecord> cases;
  try {
    cases = program_cases(entries_of({reinterpret_cast<const char*>(data), size}));
  } catch (const InputError&) {
    return 0;
  }
  std::string written = csv_header();
  for (const CaseRecord& record : cases) written += csv_record(row_of(record));
  std::string again = csv_header();
  for (const Row& row : parse_rows(written, "written")) again += csv_record(row_of(case_record(row)));
  if (written != again) {
    std::cerr << written << again;
    std::abort();
  }
  return 0;
}
