#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/lock.hpp"
#include "files/output.hpp"
#include "record/row.hpp"

namespace occbench {

/// Text files of Windows begin with it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// A CSV file as text cells: RFC 4180, UTF-8, first line = names.
struct CsvTable {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines;  ///< for each row, the line of the file that it starts on, from 1
  std::size_t whole_bytes = 0;     ///< length of the text up to the last line end that ends a row
};

/// Meaning of a last line without a line end.
enum class LastLine {
  complete,  ///< a row like others: files that people and other programs wrote
  torn,      ///< a row that was being written when the writer died: left out
};

/// Lines end in LF or CR LF; a byte order mark and blank lines are skipped.
/// @throws InputError with `source`, line and column if the text is not such a file, a name occurs twice or a row has
/// more or fewer cells than there are names; with `source` if it is UTF-16.
CsvTable parse_csv(std::string_view text, std::string_view source, LastLine last_line = LastLine::complete);

/// The cells of one record without its line end. @param line  line of the file on which the record starts
/// @throws InputError with `source`, line and column if the text is not one record
std::vector<std::string> csv_cells(std::string_view record, std::string_view source, std::size_t line);

/// One record with its line end (LF), quoted where RFC 4180 needs it.
std::string csv_record(std::span<const std::string> cells);

/// The first line of a file of rows; `extra` = names of the columns beyond the table.
std::string csv_header(std::span<const std::string> extra = {});
std::string csv_record(const Row& row);
std::string samples_header();
std::string csv_record(const Sample& sample);

/// Reads rows by column name; unknown columns become `extra`. A last line without its end is left out, because a run
/// was stopped while writing it. @throws InputError naming file, line and column, also if the file has no case names.
/// @param torn  set to whether there was such a line
std::vector<Row> read_rows(const std::filesystem::path& file, bool* torn = nullptr);
std::vector<Row> parse_rows(std::string_view text, std::string_view source);
/// The first half: the cells of a text that is a file of rows and nothing else. Rows of schema 2 are converted.
CsvTable parse_row_table(std::string_view text, std::string_view source);
std::vector<Row> rows_of(const CsvTable& table, std::string_view source);

/// `FILE.samples.csv` for `FILE.csv`.
std::filesystem::path samples_path(const std::filesystem::path& rows_file);
/// Possible names of samples beside a file of rows: as written, and compressed by gzip.
std::vector<std::filesystem::path> samples_forms(const std::filesystem::path& rows_file);
/// The first of them that exists. Empty if none does.
std::filesystem::path samples_beside(const std::filesystem::path& rows_file);
/// @throws InputError if `output`, or samples beside it, would replace an input file or its samples
void require_not_input(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs);
std::vector<Sample> read_samples(const std::filesystem::path& samples_file);
std::vector<Sample> parse_samples(std::string_view text, std::string_view source);

/// A renamed file.
struct SetAside {
  std::filesystem::path file;
  std::filesystem::path kept_as;
};

/// Renames a file of rows that a new run would replace, and its samples in either form, to
/// `FILE.csv.20261123T113502Z`: the time of their last change. Searches of run folders skip this extension. A link
/// stays. Files with nothing below a header are left.
/// @throws InputError if one cannot be renamed
std::vector<SetAside> set_aside(const std::filesystem::path& rows_file);
/// Renames one file likewise. @returns its new name @throws InputError if it cannot be renamed
std::filesystem::path renamed_aside(const std::filesystem::path& file);
/// Gives a file that is about to be replaced a second name, under which it stays. @throws InputError if it cannot
/// have one
std::filesystem::path linked_aside(const std::filesystem::path& file);

/// A file of rows and its samples that grow by one case at a time and are complete after each. The samples are
/// appended first, then the row in a single write. Both are on disk (fsync) when `append` returns. Meanwhile only
/// this process and those that it starts can open the file (FileLock).
class RunFile {
 public:
  enum class Mode {
    create,  ///< a new run; a file that exists already is replaced
    resume,  ///< keep existing rows: a torn last line and samples without a row are cut off
  };

  /// @throws InputError if the file cannot be written, another process is writing it, or on resume it is not a file
  /// of this schema and these columns.
  RunFile(const std::filesystem::path& rows_file, Mode mode, std::vector<std::string> extra = {});

  /// Checks that the rows found on resume and those to come, with the provenance and experiment of `next`, can be in
  /// one file. @throws InputError if a row is of another GPU, or one of the experiment is of another commit
  void require_same_origin(const Row& next) const;

  /// Rows found on resume.
  const std::vector<Row>& finished() const {
    return finished_;
  }

  /// `row.extra` may have any of the names given as `extra`, in any order; those it lacks stay empty.
  /// @throws std::invalid_argument for another name, std::system_error if the disk is full or the file went
  /// away.
  void append(const Row& row, std::span<const Sample> samples) {
    append_all({&row, 1}, samples);
  }
  /// The same for several cases: all of them or, if the disk fills up, some.
  void append_all(std::span<const Row> rows, std::span<const Sample> samples);

 private:
  std::filesystem::path file_;
  FileLock lock_;
  std::vector<std::string> extra_;
  std::vector<Row> finished_;
  AppendFile rows_;
  AppendFile samples_;
};

/// Whether the first line of a text names all of these columns.
bool has_names(std::string_view text, const std::vector<std::string_view>& names);

/// Describes a file that a user took for a file of rows, and says what to do: for traces, samples and files that are
/// not a table. Else empty.
std::string what_else_it_is(std::string_view text);

/// @throws InputError with `source` and what_else_it_is, if that is known
void refuse_other_files(std::string_view text, std::string_view source);

}  // namespace occbench
