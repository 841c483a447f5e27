#include "gpu/argument.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

struct TypeName {
  std::string_view name;
  ElementType type;
};

constexpr TypeName kTypeNames[] = {{"float", ElementType::float32},
                                   {"double", ElementType::float64},
                                   {"int", ElementType::int32},
                                   {"unsigned", ElementType::uint32},
                                   {"char", ElementType::int8},
                                   {"unsigned char", ElementType::uint8},
                                   {"short", ElementType::int16},
                                   {"unsigned short", ElementType::uint16},
                                   {"long long", ElementType::int64},
                                   {"unsigned long long", ElementType::uint64},
                                   {"int32_t", ElementType::int32},
                                   {"uint32_t", ElementType::uint32},
                                   {"unsigned int", ElementType::uint32},
                                   {"long", ElementType::int64},
                                   {"unsigned long", ElementType::uint64},
                                   {"size_t", ElementType::uint64},
                                   {"int8_t", ElementType::int8},
                                   {"uint8_t", ElementType::uint8},
                                   {"int16_t", ElementType::int16},
                                   {"uint16_t", ElementType::uint16},
                                   {"int64_t", ElementType::int64},
                                   {"uint64_t", ElementType::uint64},
                                   {"signed char", ElementType::int8},
                                   {"bool", ElementType::uint8}};

/// No GPU has more memory.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw InputError("--arg {}: {}; an argument is float[1<<24], float[1024]=zeros, int[64]=iota or int=5",
                   text, why);
}

ElementType required_type(std::string_view name, std::string_view text) {
  if (const auto type = type_of(name)) return *type;
  refuse(text,
         fmt::format("'{}' is none of float, double, char, short, int, long long and the unsigned ones (a "
                     "buffer of other elements is one of their parts: float[4*1024] for float4[1024])",
                     trimmed(name)));
}

std::optional<double> decimal(std::string_view text) {
  return read_number<double>(trimmed(text));
}

std::int64_t whole(std::string_view part, std::string_view text) {
  part = trimmed(part);
  const std::int64_t factor = part.empty() ? 0 : size_factor(part.back());
  if (factor > 0) part.remove_suffix(1);
  const auto value = read_number<std::int64_t>(part, 0, kMostBytes / std::max<std::int64_t>(1, factor));
  if (!value) refuse(text, fmt::format("'{}' is no number of elements", part));
  return *value * std::max<std::int64_t>(1, factor);
}

/// "1<<24", "512*512", "48K"
std::int64_t count_of(std::string_view expression, std::string_view text) {
  if (const std::size_t at = expression.find("<<"); at != std::string_view::npos) {
    const std::int64_t places = whole(expression.substr(at + 2), text);
    const std::int64_t base = whole(expression.substr(0, at), text);
    if (places > 47 || base > (kMostBytes >> places)) refuse(text, "no GPU has so much memory");
    return base << places;
  }
  std::int64_t product = 1;
  for (const std::string_view each : split(expression, '*')) {
    const std::int64_t factor = whole(each, text);
    if (factor > 0 && product > kMostBytes / factor) refuse(text, "no GPU has so much memory");
    product *= factor;
  }
  return product;
}

Argument of_file(Argument argument, std::string file, std::string_view text) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) refuse(text, fmt::format("{} cannot be read: {}", file, error.message()));
  const std::size_t wanted = static_cast<std::size_t>(argument.count) * bytes_of(argument.type);
  if (size != wanted)
    refuse(text,
           fmt::format("{} has {} bytes, and the buffer {}: give the count that it has", file, size, wanted));
  argument.contents = Contents::file;
  argument.file = std::move(file);
  return argument;
}

Argument buffer(std::string_view text, std::size_t open) {
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) refuse(text, "a ']' is missing");
  Argument argument{.type = required_type(text.substr(0, open), text),
                    .count = count_of(text.substr(open + 1, close - open - 1), text)};
  if (argument.count == 0) refuse(text, "a buffer has at least one element");
  std::string_view rest = trimmed(text.substr(close + 1));
  if (rest.empty()) return argument;
  if (rest == "=random") return argument;
  if (rest == "=zeros") return argument.contents = Contents::zeros, argument;
  if (rest == "=iota") return argument.contents = Contents::iota, argument;
  if (rest.starts_with("=@")) return of_file(argument, std::string(rest.substr(2)), text);
  refuse(text, fmt::format("'{}' is none of =random, =zeros, =iota and =@FILE", rest));
}

}  // namespace

std::optional<ElementType> type_of(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, trimmed(name), &TypeName::name);
  if (found == std::end(kTypeNames)) return std::nullopt;
  return found->type;
}

std::size_t bytes_of(ElementType type) {
  constexpr std::size_t kInOrder[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return kInOrder[static_cast<std::size_t>(type)];
}

std::string_view to_string(ElementType type) {
  return std::ranges::find(kTypeNames, type, &TypeName::type)->name;
}

Argument parse_argument(std::string_view text) {
  if (const std::size_t open = text.find('['); open != std::string_view::npos) return buffer(text, open);
  const std::size_t equals = text.find('=');
  const std::optional<double> value =
      decimal(equals == std::string_view::npos ? text : text.substr(equals + 1));
  if (!value) refuse(text, "the value is not a number");
  const bool is_whole = text.find_first_of(".eE") == std::string_view::npos;
  const ElementType type = equals == std::string_view::npos
                               ? (is_whole ? ElementType::int32 : ElementType::float32)
                               : required_type(text.substr(0, equals), text);
  const bool decimal_type = type == ElementType::float32 || type == ElementType::float64;
  if (!decimal_type && *value != std::floor(*value)) refuse(text, "the value is not a whole number");
  return {.type = type, .value = *value};
}

}  // namespace occbench
