#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/statuses.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/console.hpp"

namespace occbench {

struct DeviceProfile;

/// The action of a subcommand after its options are parsed. @throws InputError for wrong input: status 64.
using Action = std::function<ExitStatus(Console&)>;

/// A subcommand: declares its options on a parser and returns its action.
struct Command {
  std::string_view name;
  std::string_view summary;
  Action (*declare)(CLI::App& parser);
  /// Instead of `declare`, for a command that runs another one: also takes that command's words as typed.
  Action (*declare_runner)(CLI::App& parser, std::vector<std::string> words) = nullptr;
};

/// Every subcommand, in the order of the help text.
std::span<const Command> commands();

/// All of `occbench`: parses, runs one subcommand and turns any failure into a message and a status. `arguments`
/// exclude the program's name.
ExitStatus run_occbench(std::span<const char* const> arguments, Console& console);

/// Reports that a run was stopped while it wrote the last line of a file, and that this line is left out.
void tell_torn(const std::filesystem::path& file, std::ostream& err);

// One subcommand is one file, one line here and one in the table of commands.cpp.
Action declare_calc(CLI::App& parser);
Action declare_calibrate(CLI::App& parser);
Action declare_columns(CLI::App& parser);
Action declare_explain(CLI::App& parser);
Action declare_fleet(CLI::App& parser);
Action declare_gate(CLI::App& parser);
Action declare_devices(CLI::App& parser);
Action declare_merge(CLI::App& parser);
Action declare_predict(CLI::App& parser);
Action declare_report(CLI::App& parser);
Action declare_run(CLI::App& parser);
Action declare_sweep(CLI::App& parser);
Action declare_trace(CLI::App& parser, std::vector<std::string> words);
Action declare_validate(CLI::App& parser);

/// Writes a profile to a file, "-" = standard output, empty = the file of its GPU in user_profiles(). If that fails, it
/// goes to standard output so that it is not lost. @returns the file
/// @throws InputError if the file cannot be written
std::filesystem::path keep_profile(const DeviceProfile& profile, const std::filesystem::path& out,
                                   Console& console);

// Every option is declared by one of these or takes one text. Values are decimal, in range, never empty, and whole if
// the number is. An option takes one value, unless its help says VALUE ...

/// The text as a number. @throws InputError naming `what`, the text and the range
template <typename Number>
Number parse_number(std::string_view text, std::string_view what, Number least, Number most) {
  if (const std::optional<Number> number = read_number(text, least, most)) return *number;
  throw InputError("{} = '{}' is not a {}number from {} to {}{}", what, text,
                   std::integral<Number> ? "whole " : "", least, most,
                   text.ends_with('%') ? ": leave out %" : "");
}

/// Range of measured values: microseconds, cycles, blocks.
inline constexpr double kLeastMeasured = 1e-6;
inline constexpr double kMostMeasured = 1e12;

template <typename Number>
Number number_in(const Number&);
template <typename Number>
Number number_in(const std::optional<Number>&);

/// An option that takes one number. @param value  a number, or an optional one
template <typename Value, typename Number = decltype(number_in(std::declval<Value>()))>
CLI::Option* add_number(CLI::App& parser, const std::string& name, Value& value, const std::string& meaning,
                        std::type_identity_t<Number> least = 0,
                        std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  return parser
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& text) { value = parse_number<Number>(text, name, least, most); },
          meaning)
      ->type_name("N");
}

/// An option with a name for its values, such as FILE.
template <typename Value>
CLI::Option* add_value(CLI::App& parser, const std::string& name, const std::string& type, Value& value,
                       const std::string& meaning) {
  return parser.add_option(name, value, meaning)->type_name(type);
}

/// A regular expression for how pages of `fleet` and `report` begin, as in their templates.
inline constexpr const char* kPageBegins =
    R"(<!doctype html>\s*<html lang="en">\s*<head>\s*<meta charset="utf-8">\s*(<meta name="generator" content="occbench">|)"
    R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; [^>]*; base-uri 'none'; form-action 'none'">\s*)"
    R"(<meta name="viewport" content="width=device-width, initial-scale=1">\s*<link rel="icon" href="data:,">))";

/// An option that takes a size.
CLI::Option* add_size_option(CLI::App& parser, const std::string& name, std::int64_t& bytes,
                             const std::string& meaning);

/// An option that takes a number of threads or blocks, or a shape of them: 256, 16x16 or 8x8x4.
template <typename Total>
CLI::Option* add_shape_option(CLI::App& parser, const std::string& name, Total& total, Shape& shape,
                              const Shape& most, const std::string& meaning) {
  return parser
      .add_option_function<std::string>(
          name,
          [=, &total, &shape](const std::string& text) {
            if (text.find('x') == std::string::npos) {
              total = parse_number<Total>(text, name, 0, kMostOfInt);
              return;
            }
            shape = parse_shape(text, name);
            require_within(shape, most, name);
            if (shape.total() > kMostOfInt)
              throw InputError("{} {}: CUDA allows it, but occbench counts up to {} in all", name, text,
                               kMostOfInt);
            total = static_cast<Total>(shape.total());
          },
          meaning + ", or their shape: 16x16")
      ->type_name("N|XxY");
}

/// An option that takes one value and may be given several times.
CLI::Option* add_repeated(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                          const std::string& meaning);

/// An option that the measuring programs read and check: `--NAME VALUE` becomes `--occ_NAME=VALUE`. It may be repeated
/// if take_all() is called on the result.
/// @param flag  the programs' name, if it differs
CLI::Option* pass_on(CLI::App& parser, const std::string& name, std::vector<std::string>& flags,
                     const std::string& meaning, std::string flag = "");

/// `--format`; the first word is the default.
CLI::Option* add_format(CLI::App& parser, std::string& format, const std::vector<std::string>& words,
                        const std::string& meaning = "");

/// If the first of these options is given, only the others may be given with it.
/// @param instead  ends the message
/// @throws InputError naming an option that is given beside it
void refuse_all_but(const std::vector<std::string_view>& allowed, const CLI::App& parser,
                    std::string_view instead = "");

/// An option with one value: a comma-separated list without empty items.
CLI::Option* add_comma_list(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                            const std::string& meaning);

}  // namespace occbench
