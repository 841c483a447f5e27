#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace occbench {

/// "12288", "12K", "12KB", "12KiB", "1M" or "1G" as bytes; K, M and G are powers of 1024, in either case.
/// @throws InputError naming `what` and the text where it is none of these.
std::int64_t parse_size(std::string_view text, std::string_view what);

/// An option that takes a size.
CLI::Option* add_size_option(CLI::App& parser, const std::string& name, std::int64_t& bytes,
                             const std::string& meaning);

}  // namespace occbench
