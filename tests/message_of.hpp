#pragma once

#include <string>

#include "occupancy/input_error.hpp"

namespace occbench {

/// Of the InputError that `action` throws; "nothing was thrown" if there is none.
std::string message_of(auto&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace occbench
