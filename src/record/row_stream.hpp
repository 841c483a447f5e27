#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/input.hpp"

namespace occbench {

/// Converts records of schema 2, and the first ones of schema 3, to this schema. docs/notes/rows-schema-3.md lists
/// what becomes of each column.
class FromSchema2 {
 public:
  /// @param names  the columns of a file; those of another schema need no conversion, see needed()
  explicit FromSchema2(std::vector<std::string> names);

  /// Whether the file has a column that schema 3 lacks, and none that replaces it.
  bool needed() const {
    return needed_;
  }
  const std::vector<std::string>& old_names() const {
    return old_names_;
  }
  /// The columns of this schema, and after them those of the file that neither schema has.
  const std::vector<std::string>& names() const {
    return names_;
  }
  /// The cells of those columns, with the number of this schema.
  /// @param cells  as many as the file has names @throws InputError if a cell that is added to another is not a
  /// number
  std::vector<std::string> cells(const std::vector<std::string>& cells) const;

 private:
  std::vector<std::string> old_names_;
  std::vector<std::string> names_;
  bool needed_ = false;
  bool is_of_schema_2_ = false;
};

/// A row has about 1,500 bytes.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;

/// Reads a CSV file of rows or samples record by record, so that a file of any size needs memory for one record of at
/// most kMaxRecordBytes. Rows of schema 2 are converted.
class RowStream {
 public:
  /// Reads the names of the columns. @throws InputError if the file cannot be read or has no whole first line
  explicit RowStream(const std::filesystem::path& file);

  const std::string& source() const {
    return source_;
  }
  /// The first line, without its end.
  const std::string& header() const {
    return header_;
  }
  const std::vector<std::string>& names() const {
    return conversion_->names();
  }

  /// Index of a column in a record. @throws InputError if the file has none of that name
  std::size_t column(std::string_view name) const;

  /// Goes to the next record. A last line without its end is left out: its writer died, see torn().
  /// @throws InputError with file and line if the file cannot be read, a record is longer than kMaxRecordBytes or its
  /// number of cells is not that of the names
  /// @returns false after the last one
  bool next();

  /// The record, without its line end.
  const std::string& record() const {
    return record_;
  }
  /// The line that it starts on, from 1.
  std::size_t line() const {
    return line_;
  }
  const std::vector<std::string>& cells() const {
    return cells_;
  }

  /// Whether the file ends inside a line.
  bool torn() const {
    return torn_;
  }

 private:
  bool read_record();
  bool read_line(std::string& line);

  std::string source_;
  InputBuffer file_;
  std::string header_;
  std::optional<FromSchema2> conversion_;
  std::string record_;
  std::vector<std::string> cells_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  bool torn_ = false;
};

}  // namespace occbench
