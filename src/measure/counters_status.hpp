#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace occbench {

/// What became of the hardware counters of a case; the words of the column `counters_status`.
enum class CountersStatus { ok, denied, busy, unsupported, off, failed };

std::string_view to_string(CountersStatus status);

/// The hardware counters could not be read. The message has the remedy.
class CountersUnavailable : public std::runtime_error {
 public:
  CountersUnavailable(CountersStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  CountersStatus status() const {
    return status_;
  }

 private:
  CountersStatus status_;
};

}  // namespace occbench
