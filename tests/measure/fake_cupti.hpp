#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <cupti_result.h>

#include "measure/cupti.hpp"

namespace occbench {

/// Stands in for CUPTI: writes the calls down, fails the one it is told to, and fills in what the test says.
struct FakeCupti {
  std::vector<std::string> calls = {};
  int failing_call = -1;
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
  std::function<void(std::string_view call, void* parameters)> fill = {};

  CuptiInterceptor interceptor() {
    return [this](std::string_view name, void* parameters) -> int {
      calls.emplace_back(name);
      if (fill) fill(name, parameters);
      return static_cast<int>(calls.size()) - 1 == failing_call ? result : CUPTI_SUCCESS;
    };
  }

  std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count(calls, name));
  }
};

/// Calls of destructors, which may fail unheard.
inline bool is_cleaning_up(std::string_view call) {
  return call.ends_with("Deinitialize") || call.ends_with("Disable");
}

}  // namespace occbench
