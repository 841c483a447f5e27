#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "record/row.hpp"

namespace occbench {

/// The row that belongs to what Google Benchmark reports under a name (`repetitions` timing loops of it
/// count), nullptr if the name is not one of ours. May be asked several times for one name.
using FindRow = std::function<const Row*(std::string_view name, std::size_t repetitions)>;

/// Passes everything on to another of Google Benchmark's reporters, with our numbers as user counters. Since
/// a case is reported when its timing is over and before the next one begins, this is where the rest of the
/// case's work is done.
class RowReporter final : public benchmark::BenchmarkReporter {
 public:
  /// @param inner does the printing; must outlive this
  /// @param columns names of the numbers to show; those that a row lacks are left out
  RowReporter(benchmark::BenchmarkReporter& inner, FindRow find_row, std::vector<std::string_view> columns)
      : inner_(inner), find_row_(std::move(find_row)), columns_(std::move(columns)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  benchmark::BenchmarkReporter& inner_;
  FindRow find_row_;
  std::vector<std::string_view> columns_;
};

}  // namespace occbench
