#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/row.hpp"

namespace occbench {

/// A CSV file as text cells: RFC 4180, UTF-8, first line = names.
struct CsvTable {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines;  ///< for each row, the line of the file that it starts on, from 1
};

/// @throws InputError with `source`, line and column where the text is not such a file.
CsvTable parse_csv(std::string_view text, std::string_view source);

/// One record with its line end, quoted where RFC 4180 needs it.
std::string csv_record(std::span<const std::string> cells);

/// The first line of a file of rows; `extra` = names of the columns beyond the table.
std::string csv_header(std::span<const std::string> extra = {});
std::string csv_record(const Row& row);

/// Reads rows by column name; unknown columns become `extra`. @throws InputError naming file, line and
/// column.
std::vector<Row> read_rows(const std::filesystem::path& file);
std::vector<Row> parse_rows(std::string_view text, std::string_view source);

/// `FILE.samples.csv` for `FILE.csv`.
std::filesystem::path samples_path(const std::filesystem::path& rows_file);
std::vector<Sample> read_samples(const std::filesystem::path& samples_file);

/// A file of rows and its samples that grow by one case at a time and are whole after every one of them: the
/// samples are appended first, then the row in a single write, and both are on disk (fsync) when `append`
/// returns.
class RunFile {
 public:
  enum class Mode {
    create,  ///< a new run; a file that exists already is replaced
    resume,  ///< keep what is there: a torn last line and samples without a row are cut off
  };

  /// @throws InputError if the file cannot be written, or on resume is not a file of this schema and these
  /// columns.
  RunFile(std::filesystem::path rows_file, Mode mode, std::vector<std::string> extra = {});
  ~RunFile();
  RunFile(RunFile&&) noexcept;
  RunFile& operator=(RunFile&&) noexcept;

  /// Rows that were there on resume.
  const std::vector<Row>& finished() const;

  /// @throws std::system_error if the disk is full or the file went away.
  void append(const Row& row, std::span<const Sample> samples);

 private:
  int rows_descriptor_ = -1;
  int samples_descriptor_ = -1;
  std::vector<Row> finished_;
  std::vector<std::string> extra_;
};

}  // namespace occbench
