#include <filesystem>
#include <memory>
#include <ostream>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/text.hpp"
#include "record/csv.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

/// Lines about GPUs that lack cases; nobody reads more.
constexpr std::size_t kMostGaps = 20;

struct MergeOptions {
  std::vector<std::filesystem::path> files;
  std::string output;
};

void print_complaints(const Merged& merged, std::ostream& err) {
  for (const std::string& file : merged.torn)
    fmt::print(err,
               "{}: the last line has no end and is left out; occbench run --resume measures a row again\n",
               file);
  for (const std::string& place : merged.conflict_places)
    fmt::print(err, "conflict: {}: two rows of the same GPU and case differ; both are kept\n", place);
  if (merged.conflicts > merged.conflict_places.size())
    fmt::print(err, "... and {} more conflicts\n", merged.conflicts - merged.conflict_places.size());
  for (std::size_t i = 0; i < merged.gaps.size() && i < kMostGaps; ++i) {
    const Gap& gap = merged.gaps[i];
    fmt::print(err, "gap: {}{} lacks {} of {} cases: {}{}\n", gap.gpu,
               gap.host.empty() ? "" : fmt::format(" ({})", gap.host), gap.missing, merged.cases,
               fmt::join(gap.first, ", "), gap.missing > gap.first.size() ? ", ..." : "");
  }
  if (merged.gaps.size() > kMostGaps)
    fmt::print(err, "... and {} more GPUs\n", merged.gaps.size() - kMostGaps);
}

}  // namespace

Merged merge_and_tell(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                      Console& console, const std::function<bool()>& stopped) {
  Merged merged = merge_files(files, out, stopped);
  if (merged.stopped) {
    fmt::print(console.err, "interrupted; nothing is written\n");
    return merged;
  }
  if (merged.simulated) fmt::print(console.out, "{}\n", kSimulatedLine);
  print_complaints(merged, console.err);
  const auto rows = static_cast<long long>(merged.rows);
  fmt::print(console.out, "{}: {} of {} and {} from {}; left out {}\n", out.string(), counted(rows, "row"),
             counted(static_cast<long long>(merged.gpus), "GPU"),
             counted(static_cast<long long>(merged.cases), "case"),
             counted(static_cast<long long>(files.size()), "file"),
             counted(static_cast<long long>(merged.duplicates), "duplicate"));
  if (!merged.kept_rows.empty())
    fmt::print(console.err, "{} was there already, with rows that the new file lacks, and is kept as {}\n",
               out.string(), merged.kept_rows.string());
  if (merged.lacks_samples)
    fmt::print(console.err,
               "no samples are written: names of cases are in several files, and samples say no more\n");
  if (!merged.without_samples.empty())
    fmt::print(console.err, "no samples are written: {} has none beside it{}\n",
               merged.without_samples.front().string(),
               merged.without_samples.size() > 1
                   ? fmt::format(", nor have {} more files", merged.without_samples.size() - 1)
                   : "");
  for (const auto& [file, kept_as] : merged.kept_samples)
    fmt::print(console.err, "{} was there already, of other rows, and is kept as {}\n", file.string(),
               kept_as.string());
  if (merged.samples) fmt::print(console.out, "samples: {}\n", samples_path(out).string());
  return merged;
}

Action declare_merge(CLI::App& parser) {
  const auto options = std::make_shared<MergeOptions>();
  add_value(parser, "files", "FILE.csv", options->files,
            "files of rows of one schema and the same columns; equal rows are written once")
      ->required();
  add_value(parser, "-o,--output,--out", "ALL.csv", options->output,
            "the file that has all rows; it is written whole or not at all")
      ->required();
  return [options](Console& console) {
    const StopOnSignals stop;
    const Merged merged = merge_and_tell(options->files, options->output, console, stop_asked);
    return merged.whole() ? ExitStatus::done : ExitStatus::no_verdict;
  };
}

}  // namespace occbench
