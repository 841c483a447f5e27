#pragma once

#include <stdexcept>
#include <string>

#include "occupancy/statuses.hpp"

namespace occbench {

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
