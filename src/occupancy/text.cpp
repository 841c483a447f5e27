#include "occupancy/text.hpp"

#include <fmt/core.h>

namespace occbench {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += std::string_view("<({").find(text[i]) != std::string_view::npos ? 1 : 0;
    depth -= std::string_view(">)}").find(text[i]) != std::string_view::npos ? 1 : 0;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view ending) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : ending);
}

std::string shortened(const std::string& name, std::size_t width, std::size_t head) {
  if (name.size() <= width) return name;
  return fmt::format("{}…{}", name.substr(0, head), name.substr(name.size() - (width - head - 1)));
}

}  // namespace occbench
