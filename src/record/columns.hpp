#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "record/row.hpp"

namespace occbench {

/// Version of columns.inc, raised when a column changes its name or meaning, or goes away.
inline constexpr std::int64_t kSchema = 3;

/// The occbench that reads rows of another schema, for a message: "occbench up to commit 2128df7 reads it".
/// @param schema  not kSchema; empty if a file does not say
std::string reader_of_schema(Integer schema);

/// How the gate treats a column.
enum class GateRule {
  none,              ///< not compared
  key,               ///< rows are matched by it
  machine,           ///< must be equal for anything to be compared
  exact,             ///< known before the launch: any difference is a regression
  lower_is_better,   ///< known before the launch: more is a regression, less a note
  higher_is_better,  ///< known before the launch: less is a regression, more a note
  consequence,       ///< known before the launch, follows from such columns: as severe as they are
  measured,          ///< compared within a tolerance
  time,              ///< compared by a test over the samples
  status,            ///< says whether the row can be compared at all
};

/// "none", "key", ...
std::string_view to_string(GateRule rule);

/// Whether a column of this rule is known before the launch.
constexpr bool is_exact(GateRule rule) {
  return rule == GateRule::exact || rule == GateRule::lower_is_better || rule == GateRule::higher_is_better ||
         rule == GateRule::consequence;
}

/// Which cases read the counter of a column.
enum class CounterRead {
  always,      ///< all cases, and the counted launches of programs
  every_case,  ///< all cases, not programs: this counter unit makes a session slower. They fit one pass with
               ///< those above
  full_suite,  ///< cases of the full suite, together with those above; they take more passes
};

/// "always", "every_case" or "full_suite".
std::string_view to_string(CounterRead read);

/// Numbers from `low` to `high`, both included.
struct Range {
  std::int64_t low;
  std::int64_t high;
};

/// The hardware counter that fills a column, or a key of one.
struct ColumnCounter {
  std::string_view metric;  ///< or several with + between, which are added
  double scale;             ///< column = scale x counter
  CounterRead read;
  Real CounterValues::*value;
};

struct Column {
  std::string_view name;  ///< as in the CSV's first line
  std::string_view unit;
  GateRule gate;
  Range range;  ///< of a number
  std::optional<ColumnCounter> counter;
  std::string_view meaning;
  std::variant<Text Row::*, Integer Row::*, Real Row::*> where;
};

/// All columns in the order of the CSV.
std::span<const Column> columns();

enum class UnitKind {
  pipe,          ///< of an SM
  memory_of_sm,  ///< L1 and shared memory
  memory,        ///< shared by all SMs
};

/// A GPU unit with a key in the column unit_use.
struct Unit {
  std::string_view key;  ///< "tensor"
  UnitKind kind;
  std::string_view name;  ///< "tensor_use_pct", as a counter and as evidence
  ColumnCounter counter;
};

/// All units, in the order of the column.
std::span<const Unit> units();

/// Possible values of a unit's use, percent.
Range use_range();

/// A counter of a column or a unit.
struct NamedCounter {
  std::string_view name;
  std::string_view unit;
  ColumnCounter counter;
};

/// All counters that fill a column or a key of one.
std::span<const NamedCounter> named_counters();

/// "text", "integer" or "real".
std::string_view type_name(const Column& column);

/// nullptr if there is no such column.
const Column* find_column(std::string_view name);

/// A real as in the CSV: with up to four decimals.
std::string real_text(double value);

/// A row's value as a number; empty for text or if there is none.
Real number_of(const Row& row, const Column& column);

/// A row's value as in the CSV: integers in full, reals as real_text, empty if not measured.
std::string cell_text(const Row& row, const Column& column);

/// Sets a row's value from a CSV cell. @throws InputError if the cell is not what the column holds, or out of
/// its range.
void set_cell(Row& row, const Column& column, std::string_view text);

/// @throws InputError naming column, value and range for a number that is out of its column's range.
void require_in_range(const Column& column, double value);

/// The same for the row's value if it is a number.
void require_in_range(const Row& row, const Column& column);

/// Every column with name, type, unit, gate rule, hardware counter and meaning.
/// @param format  table (for a terminal), markdown (as in results/README.md), csv, or json (what the Python parts read)
std::string column_list(std::string_view format);

/// Whether a launch never waits for anything outside its SM: its declared work is clock polls, issue slots or a pipe,
/// and it spills nothing. False if the case does not say. @param work  as in that column
bool is_bound_by_sm(std::string_view work, bool spills);

/// Whether a case declares that its warps wait for atomic operations in L2. @param expected_cause  as in that column
bool expects_atomics(std::string_view expected_cause);

}  // namespace occbench
