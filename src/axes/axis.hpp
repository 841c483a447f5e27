#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// The kind of an axis's values.
enum class AxisKind {
  integer,    ///< whole numbers from 0 on
  bytes,      ///< likewise
  real,       ///< decimal numbers from 0 on
  registers,  ///< whole numbers; `=` in front of them asks for exactly so many, not for a cap
  shape,      ///< whole numbers from 1 on, or 16x16 and 8x8x4
  text,       ///< words
};

/// One thing that a sweep of a kernel can vary.
struct SweepAxis {
  std::string name;  ///< as on the command line without its dashes: "block-size"
  AxisKind kind;
  std::string meaning;  ///< for the help text, with its unit
  std::string values;   ///< without the user's word, in the grammar of expand_values(); empty: left out
};

/// "block-size" as parameters of a row name it: "block_size".
std::string parameter_name(std::string_view axis_name);

/// The values that a text stands for, in order.
///
///   64,128        these
///   64:1024:64    from 64 to 1024 in steps of 64
///   64:1024:x2    from 64 to 1024, each twice the one before
///   48K           with K, M and G for 1024, 1024 x 1024, ...; also in ranges
///   =31,33        of registers: exactly so many; the values keep the sign
///   16x16,8x8x4   of shapes; 4Kx4K as well
///
/// Words are separated by commas alone, so that they may have colons; a comma in brackets is part of
/// a word. A value with {...} stays as it is until Point::resolve().
/// @throws InputError naming the axis, the part that cannot be read and what is wrong with it
std::vector<std::string> expand_values(const SweepAxis& axis, std::string_view text);

}  // namespace occbench
