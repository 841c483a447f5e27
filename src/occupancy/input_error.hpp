#pragma once

#include <stdexcept>
#include <string>

namespace occbench {

/// A user gave something that cannot be used: a flag, a file, a number out of range. The message names the
/// value, the limit it broke and the remedy. Programs end with status 64 (`EX_USAGE`) on it.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace occbench
