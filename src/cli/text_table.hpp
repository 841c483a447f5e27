#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// A symbol so many times.
std::string repeated(std::string_view symbol, int count);

/// "75", "41.67"
std::string number_text(double value);

/// "75 %", "41.67 %"
std::string percent_text(double value);

}  // namespace occbench
