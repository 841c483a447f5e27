#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// Makes records of this schema of those of a file of schema 2. docs/notes/rows-schema-3.md lists what becomes of
/// each column.
class FromSchema2 {
 public:
  /// @param names  the columns of a file; those of another schema need no conversion, see needed()
  explicit FromSchema2(std::vector<std::string> names);

  /// Whether the file has a column that schema 3 lacks, and none that it has added.
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
  /// @param cells  as many as the file has names @throws InputError for a number that is none in a cell that is added to
  /// another
  std::vector<std::string> cells(const std::vector<std::string>& cells) const;

 private:
  std::vector<std::string> old_names_;
  std::vector<std::string> names_;
  bool needed_ = false;
};

}  // namespace occbench
