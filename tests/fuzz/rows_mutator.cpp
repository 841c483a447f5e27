#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

/// What cells of some column mean something by; random bytes seldom make one.
constexpr std::array<std::string_view, 20> kCells{
    "",        "0",       "1",       "-1",    "0.5",   "50",        "100",     "1e9",   "ok",  "failed",
    "skipped", "counter", "sampled", "noisy", "GPU-2", "simulated", "invalid", "waves", "9.0", "nan"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"' && separator == ',') quoted = !quoted;
    if (c == separator && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace

/// Half of the time changes cells, columns and rows of a table instead of bytes: reaches what is behind a reader that
/// refuses most other texts.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  if (below(2) == 0) return LLVMFuzzerMutate(data, size, max_size);

  std::vector<std::string> lines = split({reinterpret_cast<const char*>(data), size}, '\n');
  for (std::size_t change = 0, changes = 1 + below(3); change < changes; ++change) {
    const std::size_t line = below(lines.size());
    std::vector<std::string> cells = split(lines[line], ',');
    const std::size_t column = below(cells.size());
    switch (below(7)) {
      case 0:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line), lines[line]);
        continue;
      case 1:
        if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
        continue;
      case 2: {  // A second file: rows that these are compared with.
        const std::vector<std::string> first = lines;
        lines.back() = "====";
        lines.insert(lines.begin(), first.begin(), first.end() - 1);
        continue;
      }
      case 3: {  // The cell of another row.
        const std::vector<std::string> other = split(lines[below(lines.size())], ',');
        cells[column] = other[std::min(column, other.size() - 1)];
        break;
      }
      case 4: {  // Without the column.
        for (std::string& each : lines) {
          std::vector<std::string> of_line = split(each, ',');
          if (column < of_line.size()) of_line.erase(of_line.begin() + static_cast<std::ptrdiff_t>(column));
          each = joined(of_line, ',');
        }
        continue;
      }
      default:
        cells[column] = kCells[below(kCells.size())];
    }
    lines[line] = joined(cells, ',');
  }
  const std::string text = joined(lines, '\n');
  if (text.empty() || text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
