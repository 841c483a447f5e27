#include "cli/options.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace occbench {
namespace {

/// What a suffix multiplies by; 0 for one that is none.
std::int64_t factor_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  constexpr std::array<std::pair<char, std::int64_t>, 3> kFactors = {
      {{'k', 1 << 10}, {'m', 1 << 20}, {'g', 1 << 30}}};
  std::string lower;
  for (const char letter : suffix)
    lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  for (const auto& [letter, factor] : kFactors) {
    if (lower.front() == letter && (lower.size() == 1 || lower.substr(1) == "b" || lower.substr(1) == "ib"))
      return factor;
  }
  return lower == "b" ? 1 : 0;
}

}  // namespace

std::int64_t parse_size(std::string_view text, std::string_view what) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::int64_t factor = factor_of(text.substr(static_cast<std::size_t>(end - text.data())));
  std::int64_t bytes = 0;
  if (error != std::errc() || factor == 0 || __builtin_mul_overflow(number, factor, &bytes)) {
    throw InputError(fmt::format("{} = {} is not a size: write it in bytes, or as 12K, 1M", what, text));
  }
  return bytes;
}

CLI::Option* add_size_option(CLI::App& parser, const std::string& name, std::int64_t& bytes,
                             const std::string& meaning) {
  return parser
      .add_option_function<std::string>(
          name, [name, &bytes](const std::string& text) { bytes = parse_size(text, name); },
          meaning + ", bytes or as 12K")
      ->type_name("SIZE");
}

CLI::Option* add_repeated(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                          const std::string& meaning) {
  return parser.add_option(name, values, meaning + "; any number of times")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

CLI::Option* add_comma_list(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                            const std::string& meaning) {
  return parser.add_option_function<std::string>(
      name,
      [name, &values](const std::string& text) {
        for (std::size_t begin = 0; begin <= text.size();) {
          const std::size_t end = std::min(text.find(',', begin), text.size());
          if (end == begin)
            throw InputError(
                fmt::format("{} = '{}' has an empty item; put commas between items only", name, text));
          values.push_back(text.substr(begin, end - begin));
          begin = end + 1;
        }
      },
      meaning);
}

}  // namespace occbench
