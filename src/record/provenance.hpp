#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace occbench {

/// "2026-03-01T12:34:56Z": UTC, ISO 8601, whole seconds.
std::string iso_time(std::chrono::system_clock::time_point when);

/// Reads what iso_time writes. @throws InputError if the text has another form.
std::chrono::sys_seconds parse_iso_time(std::string_view text);

/// The machine's host name; empty if it has none.
std::string host_name();

/// The commit that this program was built from: 12 hexadecimal digits, with `-dirty` if tracked files differed from
/// it. The CMake variable OCCBENCH_COMMIT replaces it if set. `unknown` if the source is neither a git checkout nor
/// made by `git archive`.
std::string_view build_commit();

}  // namespace occbench
