#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/columns.hpp"
#include "record/row.hpp"
#include "record/row_stream.hpp"
#include "record/simulated.hpp"

namespace occbench {

/// A number that a row does not have.
inline constexpr double kNoReading = std::numeric_limits<double>::quiet_NaN();

/// The record at which the stream is. @param columns  of the stream; nullptr: not a column of recorded rows
/// @throws InputError naming file and line for a cell that is not of its column
Row row_of(const RowStream& stream, std::span<const Column* const> columns);

/// The bound of a case's time, as far as its row tells.
enum class BoundBy : unsigned char { sm, memory, l2, other };

/// A case of the suite, the same on all GPUs.
struct FleetCase {
  std::string name;  ///< experiment/case
  BoundBy bound = BoundBy::other;
  bool on_all_sms = false;          ///< the grid has a block for each SM
  Real useful{};                    ///< throughput times time, of the first row that has both
  double memory_peak = kNoReading;  ///< bytes a microsecond, if useful work is bytes
};

/// A row's data of a GPU in a case. NaN if it has none.
struct CaseReading {
  bool present = false;
  bool failed = false;  ///< time_status failed, or check wrong
  bool counters_missing = false;
  std::int32_t other_processes = 0;
  std::uint32_t throttle_reasons = 0;  ///< a bit for each of FleetRows::reasons
  double time_us = kNoReading;
  double sm_clock_mhz = kNoReading;  ///< the measured one
  double cycles_max = kNoReading;
  double cycles_min = kNoReading;
  double achieved_elapsed_pct = kNoReading;
};

/// A GPU in one run: several runs of a GPU are several of these.
struct MeasuredGpu {
  std::string uuid;  ///< or host if rows have none
  std::string run;   ///< file that its rows came from
  std::string model, compute_capability, host, commit, driver, gpu_settings;
  std::string sm_count, memory_bus_bits, memory_clock_mhz{};
  std::string recorded_at{};            ///< of its last row
  std::vector<CaseReading> readings{};  ///< by the number of the case; shorter if it lacks the last ones

  /// An absent reading if there is none.
  const CaseReading& reading(std::size_t number) const;
};

/// Rows by GPU, with only the data that comparing GPUs needs: some 80 bytes a row.
class FleetRows {
 public:
  /// Adds the rows of a file. Equal rows count once. A last line without its end is left out and remembered.
  /// @throws InputError if it is not a file of rows, a number is malformed, a GPU has two rows of a case, or some
  /// rows are simulated and others measured
  void add(const std::filesystem::path& file);

  std::vector<MeasuredGpu> gpus;
  std::vector<FleetCase> cases;
  std::vector<std::string> reasons;  ///< throttle reasons that rows name
  std::vector<std::string> torn;     ///< files whose last line has no end
  std::vector<std::string> without_rows;
  SimulatedOrMeasured kind;

 private:
  std::uint32_t reason_bits(std::string_view text);

  std::map<std::string, std::size_t> case_numbers_;
};

/// Marks as memory-bound the cases that move bytes at nearly the peak rate of device memory. Call once all files are
/// added.
void find_memory_bound(FleetRows& rows);

}  // namespace occbench
