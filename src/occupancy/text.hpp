#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

// Numbers and lists in texts, for all modules.
namespace occbench {

/// The whole text as a finite number from `low` to `high`; empty if it is not one.
template <typename Number>
std::optional<Number> read_number(std::string_view text, Number low = std::numeric_limits<Number>::lowest(),
                                  Number high = std::numeric_limits<Number>::max()) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= low && value <= high)) return std::nullopt;
  return value;
}

/// `of` applied to each element, in order: a function of it, or a member.
template <typename Range, typename Of>
auto mapped(const Range& range, Of of) {
  std::vector<std::decay_t<decltype(std::invoke(of, *std::begin(range)))>> values;
  for (const auto& each : range) values.push_back(std::invoke(of, each));
  return values;
}

/// FNV-1a of 32 or 64 bits: the same in every run.
template <typename Hash>
Hash fnv_hash(std::string_view text) {
  constexpr bool kShort = std::is_same_v<Hash, std::uint32_t>;
  constexpr auto kPrime = static_cast<Hash>(kShort ? 0x1000193U : 0x100000001b3U);
  auto hash = static_cast<Hash>(kShort ? 0x811c9dc5U : 0xcbf29ce484222325U);
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return hash;
}

/// The factor of K, M or G after a number, a power of 1024; 0 for another character.
std::int64_t size_factor(char suffix);

/// "12288", "12K", "12KB", "12KiB", "1M" or "1G" as bytes; K, M and G are powers of 1024, in either case.
/// @throws InputError naming `what` and the text if it is none of these.
std::int64_t parse_size(std::string_view text, std::string_view what);

constexpr bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// With ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// Without the blanks, tabs and carriage returns around it.
std::string_view trimmed(std::string_view text);

/// The parts between separators outside of brackets; without a separator, the text itself.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "65,536"
std::string grouped(std::int64_t value);

/// "75", "41.67": with at most so many decimals, and without zeros at the end.
std::string decimal_text(double value, int decimals);

/// With so many decimals; "-" if there is none.
std::string number_or_dash(const std::optional<double>& value, int decimals);

/// "1 block", "3 blocks", "2 launches". @param ending  of the plural
std::string counted(std::int64_t count, std::string_view one, std::string_view ending = "s");

/// "33 %" of a time that is saved; never all of it: "over 99 %"
std::string saved_text(double pct);

/// "1 block", "1,024 blocks"
std::string blocks_text(std::int64_t count);

/// "2.5 waves" with `digits` digits, more if these would read as a whole number: "1.001 waves", "just over 1 wave".
std::string waves_text(double waves, int digits);

/// The start and end of a name, `width` characters with the text between them: names differ at both ends.
/// @param head  characters of the start
std::string shortened(const std::string& name, std::size_t width, std::size_t head,
                      std::string_view between = "…");

/// Any text as one line: control characters become blanks.
std::string one_line(std::string text);

/// Lines of a table for a terminal: columns as wide as their widest cell, two spaces apart, each cell
/// on one_line().
/// @param alignment '<' or '>' for each column; the last applies to all further ones
std::string text_table(std::span<const std::vector<std::string>> lines, std::string_view alignment);

/// The symbol `count` times.
std::string repeated(std::string_view symbol, int count);

/// "75", "41.67"
std::string number_text(double value);

/// "75 %", "41.67 %"
std::string percent_text(double value);

}  // namespace occbench
