#include "record/kernel_filter.hpp"

#include <memory>
#include <regex.h>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

std::function<bool(std::string_view)> kernel_filter(const std::string& text) {
  if (text.empty() || text == "all") {
    return [](std::string_view) { return true; };
  }
  const bool negative = text.front() == '-';
  auto compiled = std::make_unique<regex_t>();
  const int error = ::regcomp(compiled.get(), text.c_str() + (negative ? 1 : 0), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::string why(200, '\0');
    why.resize(::regerror(error, compiled.get(), why.data(), why.size()) - 1);
    throw InputError(fmt::format("'{}' is not an extended regular expression: {}", text, why));
  }
  const std::shared_ptr<regex_t> pattern(compiled.release(), [](regex_t* each) {
    ::regfree(each);
    delete each;
  });
  return [=](std::string_view name) {
    const std::string looked_at(name.substr(0, kMostOfName));
    return (::regexec(pattern.get(), looked_at.c_str(), 0, nullptr, 0) == 0) != negative;
  };
}

}  // namespace occbench
