#include "record/provenance.hpp"

#include <array>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <unistd.h>

#include <fmt/chrono.h>

#include "occupancy/input_error.hpp"

namespace occbench {

namespace {
std::string iso_text(std::time_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}
}  // namespace

std::string iso_time(std::chrono::system_clock::time_point when) {
  return iso_text(std::chrono::system_clock::to_time_t(when));
}

std::chrono::sys_seconds parse_iso_time(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  std::tm time{};
  stream >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  // get_time is lenient: only the form that iso_text writes is accepted.
  const std::time_t seconds = ::timegm(&time);
  if (stream.fail() || iso_text(seconds) != text) {
    throw InputError("'{}' is not a time; write it as 2026-03-01T12:34:56Z", text);
  }
  return std::chrono::sys_seconds{std::chrono::seconds{seconds}};
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace occbench
