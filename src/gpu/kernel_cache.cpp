#include "gpu/kernel_cache.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/core.h>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// FNV-1a of 64 bits. It only names the file: the content itself is in the file and is compared.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

constexpr std::string_view kFirstLine = "occbench kernel 1";

/// The parts of a file: the first line, a line with the parts' lengths, and the parts.
std::string file_text(const std::array<std::string_view, 4>& parts) {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const std::string_view part : parts) text += fmt::format("{} ", part.size());
  text += '\n';
  for (const std::string_view part : parts) text += part;
  return text;
}

std::optional<std::array<std::string, 4>> parts_of(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  if (!std::getline(stream, line) || line != kFirstLine) return std::nullopt;
  std::array<std::size_t, 4> lengths{};
  for (std::size_t& length : lengths) {
    if (!(stream >> length) || length > text.size()) return std::nullopt;
  }
  if (!std::getline(stream, line)) return std::nullopt;
  auto at = static_cast<std::size_t>(stream.tellg());
  std::array<std::string, 4> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (at + lengths[i] > text.size()) return std::nullopt;
    parts[i] = text.substr(at, lengths[i]);
    at += lengths[i];
  }
  if (at != text.size()) return std::nullopt;
  return parts;
}

}  // namespace

fs::path KernelCache::file_of(const std::string& content) const {
  return folder_ / fmt::format("{:016x}.kernel", hash_of(content));
}

std::optional<Nvrtc::Output> KernelCache::find(const std::string& content) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(content), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto parts = parts_of(text);
  if (!parts || (*parts)[0] != content) return std::nullopt;
  return Nvrtc::Output{.cubin = (*parts)[3], .symbol = (*parts)[1], .log = (*parts)[2]};
}

void KernelCache::keep(const std::string& content, const Nvrtc::Output& output) const {
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  try {
    replace_text(file_of(content), file_text({content, output.symbol, output.log, output.cubin}),
                 WrittenTo::system);
  } catch (const InputError&) {  // it is compiled again next time
  }
}

fs::path user_kernel_cache() {
  const auto folder = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return fs::path(value == nullptr ? "" : value);
  };
  // The XDG base directory specification: a relative path is to be ignored.
  if (const fs::path cache = folder("XDG_CACHE_HOME"); cache.is_absolute())
    return cache / "occbench" / "kernels";
  if (const fs::path home = folder("HOME"); home.is_absolute())
    return home / ".cache" / "occbench" / "kernels";
  return {};
}

}  // namespace occbench
