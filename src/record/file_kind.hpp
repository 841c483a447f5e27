#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// What a file is that a user took for a file of rows, and which command reads it: "it has the readings
/// behind rows (samples); name the file of rows, run.csv". Empty for a file of rows, and for what is not
/// known.
/// @param source where the text comes from, for messages that name a file beside it
std::string what_else_it_is(std::string_view text, std::string_view source);

/// @throws InputError with `source` and what_else_it_is, where that is known
void refuse_other_files(std::string_view text, std::string_view source);

}  // namespace occbench
