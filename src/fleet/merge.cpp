#include "fleet/merge.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/ranges.h>

#include "files/input.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "fleet/fleet_rows.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/row_stream.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

constexpr std::size_t kFewNames = 3;
constexpr std::size_t kFewConflicts = 10;

/// Positions of the columns that a merge reads.
struct KeyColumns {
  explicit KeyColumns(const RowStream& stream)
      : schema(stream.column("schema")),
        experiment(stream.column("experiment")),
        case_name(stream.column("case")),
        uuid(stream.column("gpu_uuid")),
        host(stream.column("host")),
        time_status(stream.column("time_status")),
        all(mapped(stream.names(), find_column)) {}

  std::size_t schema, experiment, case_name, uuid, host, time_status;
  std::vector<const Column*> all;
};

/// A 64-bit hash of a text. Among ten million texts two agree with a probability of 3 in a million.
std::uint64_t hash_of(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

/// The first row of a case.
struct FirstRow {
  std::uint64_t content = 0;  ///< its hash
  std::size_t file = 0;       ///< a place in the list of files
  std::size_t line = 0;
};

/// The first place of a case.
struct FirstCase {
  std::string name;  ///< experiment/case
  std::size_t file = 0;
};

struct GpuTally {
  std::string host;
  std::size_t cases = 0;
};

/// Whether `file` begins with all of `other`.
bool begins_with(const fs::path& file, const fs::path& other) {
  std::ifstream whole(file, std::ios::binary);
  std::ifstream part(other, std::ios::binary);
  using Letters = std::istreambuf_iterator<char>;
  return std::mismatch(Letters(part), Letters(), Letters(whole), Letters()).first == Letters();
}

class Merge {
 public:
  Merge(const fs::path& out, const std::function<bool()>& stopped) : rows_(out), stopped_(stopped) {}

  void add(const fs::path& file) {
    RowStream stream(file);
    sources_.push_back(stream.source());
    const KeyColumns columns(stream);
    require_same_columns(stream);
    while (next(stream)) add_row(stream, columns);
    if (stream.torn()) merged_.torn.push_back(stream.source());
  }

  Merged finish(std::span<const fs::path> files, const fs::path& out) {
    merged_.gpus = gpus_.size();
    merged_.cases = cases_.size();
    merged_.simulated = kind_.simulated();
    if (merged_.rows == 0) {
      throw InputError("{}: there is no row below the names of the columns",
                       fmt::join(mapped(files, [](const fs::path& file) { return file.string(); }), ", "));
    }
    for (const auto& [gpu, tally] : gpus_) {
      if (tally.cases < cases_.size()) merged_.gaps.push_back(gap_of(gpu, tally));
    }
    std::ranges::copy_if(files, std::back_inserter(merged_.without_samples),
                         [](const fs::path& file) { return samples_beside(file).empty(); });
    const bool have_samples = merged_.without_samples.empty();
    if (merged_.without_samples.size() == files.size()) merged_.without_samples.clear();
    for (const auto& [key, first] : cases_) {
      const auto [found, is_new] = file_of_name_.try_emplace(first.name, first.file);
      case_in_two_files_ = case_in_two_files_ || (!is_new && found->second != first.file);
    }
    merged_.samples = have_samples && !case_in_two_files_;
    merged_.lacks_samples = have_samples && case_in_two_files_;
    for (const fs::path& older : samples_forms(out)) static_cast<void>(is_file_beside(older, "samples"));
    std::optional<OutputFile> samples;
    if (merged_.samples) merge_samples(files, samples.emplace(samples_path(out)));
    rows_.complete();
    if (fs::exists(out) && loses_rows(out)) merged_.kept_rows = linked_aside(out);
    // Samples are never beside rows that are not theirs.
    for (const fs::path& older : samples_forms(out)) {
      if (fs::is_regular_file(older)) merged_.kept_samples.push_back({older, renamed_aside(older)});
    }
    try {
      rows_.keep();
    } catch (...) {
      std::error_code ignored;
      for (const auto& [file, kept_as] : merged_.kept_samples) fs::rename(kept_as, file, ignored);
      if (!merged_.kept_rows.empty()) fs::remove(merged_.kept_rows, ignored);
      throw;
    }
    if (samples) samples->keep();
    std::erase_if(merged_.kept_samples, [&](const SetAside& older) {
      return merged_.samples && begins_with(samples_path(out), older.kept_as) && fs::remove(older.kept_as);
    });
    return std::move(merged_);
  }

 private:
  bool next(RowStream& stream) const {
    if (stopped_()) throw Interrupted();
    return stream.next();
  }

  void require_same_columns(const RowStream& stream) {
    if (header_.empty()) {
      header_ = stream.header();
      rows_.write(header_ + "\n");
      return;
    }
    if (stream.header() == header_) return;
    const std::vector<std::string> expected = csv_cells(header_, sources_.front(), 1);
    const auto [mine, theirs] = std::ranges::mismatch(stream.names(), expected);
    throw InputError(
        "{} and {} have different columns (the first difference: '{}' and '{}'): merge files of one occbench "
        "and the same --metrics",
        sources_.front(), stream.source(), theirs == expected.end() ? "no column" : *theirs,
        mine == stream.names().end() ? "no column" : *mine);
  }

  void require_same_schema(const RowStream& stream, const std::string& schema) {
    if (schema_.empty()) schema_ = schema;
    if (schema == schema_) return;
    throw InputError(
        "{}, line {}: schema {} where {} begins with schema {}: rows of different schemas are not merged",
        stream.source(), stream.line(), schema.empty() ? "is empty" : schema, sources_.front(), schema_);
  }

  /// Whether a file has anything that is not in the merged rows.
  bool loses_rows(const fs::path& file) const {
    if (fs::file_size(file) == 0) return false;
    try {
      RowStream stream(file);
      const KeyColumns columns(stream);
      while (stream.next()) {
        const std::uint64_t content = hash_of(stream.record());
        const auto first =
            first_rows_.find(key_of(gpu_of(stream.cells(), columns), case_of(stream, columns)));
        if (first == first_rows_.end() ||
            (first->second.content != content && !other_contents_.contains(content)))
          return true;
      }
      return false;
    } catch (const InputError&) {
      return true;  // it is not a file of rows
    }
  }

  static const std::string& gpu_of(const std::vector<std::string>& cells, const KeyColumns& columns) {
    return cells[cells[columns.uuid].empty() ? columns.host : columns.uuid];
  }
  static std::string name_of(const std::vector<std::string>& cells, const KeyColumns& columns) {
    return cells[columns.experiment] + "/" + cells[columns.case_name];
  }
  /// A kernel's short name may be another kernel's in another file.
  static std::string case_of(const RowStream& stream, const KeyColumns& columns) {
    const bool is_of_program = stream.cells()[columns.experiment] == kTraceExperiment;
    return is_of_program ? exact_name(row_of(stream, columns.all)) : name_of(stream.cells(), columns);
  }
  static std::uint64_t key_of(const std::string& gpu, const std::string& of) {
    return hash_of(gpu + "\n" + of);
  }

  void add_row(const RowStream& stream, const KeyColumns& columns) {
    const std::vector<std::string> cells = stream.cells();
    require_same_schema(stream, cells[columns.schema]);
    kind_.add(cells[columns.time_status], stream.source());
    const std::string name = name_of(cells, columns);
    const std::string of = case_of(stream, columns);
    const std::string& gpu = gpu_of(cells, columns);
    const std::uint64_t content = hash_of(stream.record());
    const std::size_t file = sources_.size() - 1;
    const auto [first, is_new] =
        first_rows_.try_emplace(key_of(gpu, of), FirstRow{content, file, stream.line()});
    if (first->second.content != content && other_contents_.insert(content).second) {
      add_conflict(stream, first->second, gpu + ", " + name);
    } else if (!is_new) {
      ++merged_.duplicates;
      return;
    }
    rows_.write(stream.record() + "\n");
    ++merged_.rows;
    GpuTally& tally = gpus_.try_emplace(gpu, GpuTally{cells[columns.host]}).first->second;
    if (is_new) ++tally.cases;
    if (cases_.try_emplace(of, FirstCase{name, file}).first->second.file != file) case_in_two_files_ = true;
  }

  void add_conflict(const RowStream& stream, const FirstRow& first, const std::string& of) {
    ++merged_.conflicts;
    if (merged_.conflict_places.size() >= kFewConflicts) return;
    merged_.conflict_places.push_back(fmt::format("{}, line {}, and {}, line {}: {}", sources_[first.file],
                                                  first.line, stream.source(), stream.line(), of));
  }

  Gap gap_of(const std::string& gpu, const GpuTally& tally) const {
    Gap gap{gpu, tally.host, cases_.size() - tally.cases, {}};
    for (const auto& [of, first] : cases_) {
      if (gap.first.size() == kFewNames) break;
      if (!first_rows_.contains(key_of(gpu, of))) gap.first.push_back(first.name);
    }
    return gap;
  }

  /// Samples name no GPU, so they can share a file only if no case is in two.
  void merge_samples(std::span<const fs::path> files, OutputFile& merged) {
    merged.write(samples_header());
    for (std::size_t file = 0; file < files.size(); ++file) {
      RowStream samples(samples_beside(files[file]));
      const std::size_t experiment = samples.column("experiment");
      const std::size_t name = samples.column("case");
      while (next(samples)) {
        const std::vector<std::string> cells = samples.cells();
        const auto found = file_of_name_.find(cells[experiment] + "/" + cells[name]);
        if (found != file_of_name_.end() && found->second == file) merged.write(samples.record() + "\n");
      }
      if (samples.torn()) merged_.torn.push_back(samples.source());
    }
    merged.complete();
  }

  OutputFile rows_;
  const std::function<bool()>& stopped_;
  std::string header_;
  std::string schema_;
  std::vector<std::string> sources_;
  std::unordered_map<std::uint64_t, FirstRow> first_rows_;  ///< by GPU and case
  std::unordered_set<std::uint64_t> other_contents_;        ///< of rows that differ from the first
  std::map<std::string, GpuTally> gpus_;
  std::map<std::string, FirstCase> cases_;  ///< by case_of()
  std::unordered_map<std::string_view, std::size_t> file_of_name_;
  bool case_in_two_files_ = false;
  SimulatedOrMeasured kind_;
  Merged merged_;
};

}  // namespace

Merged merge_files(std::span<const fs::path> files, const fs::path& out,
                   const std::function<bool()>& stopped) try {
  require_not_input(out, files);
  static_cast<void>(output_target(samples_path(out)));  // before the rows are written
  const FileLock lock(out);
  Merge merge(out, stopped);
  for (const fs::path& file : files) merge.add(file);
  return merge.finish(files, out);
} catch (const Interrupted&) {
  Merged merged;
  merged.stopped = true;
  return merged;
}

}  // namespace occbench
