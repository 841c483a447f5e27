#include "record/provenance.hpp"

#include <array>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <unistd.h>

#include <fmt/chrono.h>

#include "build_commit.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {

std::string iso_time(std::chrono::system_clock::time_point when) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(when)));
}

std::chrono::system_clock::time_point parse_iso_time(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  std::tm time{};
  stream >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  const auto when = std::chrono::system_clock::from_time_t(::timegm(&time));
  // get_time is lenient: only what would be written so is a time.
  if (stream.fail() || iso_time(when) != text) {
    throw InputError(fmt::format("'{}' is not a time; write it as 2026-03-01T12:34:56Z", text));
  }
  return when;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string_view build_commit() {
  return kBuildCommit;
}

}  // namespace occbench
