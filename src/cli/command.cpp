#include "cli/command.hpp"

#include <algorithm>
#include <cctype>
#include <exception>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "files/input.hpp"
#include "orchestrate/plan.hpp"
#include "record/provenance.hpp"

namespace occbench {
namespace {

/// CLI11 reports a wrong subcommand as missing, and does not say why a value is wrong.
std::string what_was_wrong(const CLI::ParseError& error, const CLI::App& parser,
                           std::span<const char* const> arguments) {
  const std::string what = error.what();
  if (parser.get_subcommands().empty()) {
    const std::string wrong = arguments.empty() ? "a command is needed"
                                                : fmt::format("there is no command '{}'", arguments.front());
    return fmt::format("{}; there are {}", wrong, fmt::join(mapped(commands(), &Command::name), ", "));
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    return fmt::format("not expected: {}", fmt::join(parser.remaining(true), " "));
  constexpr std::string_view kUnconverted = "Could not convert: ";
  if (!what.starts_with(kUnconverted)) return what;
  return what.substr(kUnconverted.size()) + " is not a number that this option can take";
}

/// Our option for another tool's name, else the nearest of the command's.
std::string nearest_option(const std::string& name, std::span<const std::string> names) {
  static constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"--threads", "--block-size"},
      {"--threads-per-block", "--block-size"},
      {"--regs", "--registers"},
      {"--smem", "--dynamic-smem"},
      {"--shared", "--dynamic-smem"}};
  for (const auto& [elsewhere, ours] : kElsewhere)
    if (name == elsewhere && std::ranges::find(names, ours) != names.end()) return std::string(ours);
  return nearest_names(name, names, 1).front();
}

/// Finds the first wrong word: an empty one that is not an option's value, on which CLI11 can hang, or an unknown
/// option.
/// @returns the message; empty if there is none, or if help was asked for
std::string wrong_word(const CLI::App& command, std::span<const char* const> words) {
  std::string message;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") break;
    if (word.empty() && message.empty()) message = "one of the arguments is empty";
    const bool is_long = word.starts_with("--");
    const bool is_short =
        word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
    if (!is_long && !is_short) continue;
    const std::string name(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
    const CLI::Option* const known = command.get_option_no_throw(name);
    // A sweep takes an option that is not its own for an axis.
    if (known == nullptr && message.empty() && !command.get_allow_extras()) {
      message = "not expected: " + name;
      const std::vector<std::string> names =
          mapped(command.get_options(), [](const CLI::Option* one) { return one->get_name(); });
      if (is_long) message += "; the nearest option is " + nearest_option(name, names);
    }
    if (known == nullptr) continue;
    if (known == command.get_help_ptr()) return "";
    // CLI11 would take the next word for the missing value.
    if (known->get_type_size_min() > 0 && message.empty() && word == name + "=")
      message = fmt::format("{} has no value: give one, or leave it out", word);
    if (name != word) continue;
    // The number that CLI11 takes whatever they begin with.
    const auto values =
        static_cast<std::size_t>(std::min(known->get_type_size_min(), known->get_items_expected_min()));
    for (std::size_t value = i + 1; value <= std::min(i + values, words.size() - 1); ++value) {
      if (words[value][0] == '\0' && message.empty())
        message = fmt::format("{} is empty: give a value, or leave it out", name);
    }
    i += values;
  }
  return message;
}

/// The words after the first --, if the command runs them. CLI11 would take "[1,2]" for two words and "[]" for none.
std::span<const char* const> words_to_run(std::span<const char* const> arguments) {
  if (arguments.empty()) return {};
  const auto command = std::ranges::find(commands(), arguments.front(), &Command::name);
  if (command == commands().end() || command->declare_runner == nullptr) return {};
  const auto mark = std::ranges::find(arguments, std::string_view("--"));
  return mark == arguments.end() ? std::span<const char* const>() : std::span(mark + 1, arguments.end());
}

/// Help fits a terminal of this width.
constexpr std::size_t kColumns = 120;

/// Wraps descriptions beside the names.
class LinesOfHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return in_lines(CLI::Formatter::make_option_desc(option), kColumns - get_column_width());
  }
  std::string make_footer(const CLI::App* app) const override {
    return in_lines(CLI::Formatter::make_footer(app), kColumns);
  }
  std::string make_subcommand(const CLI::App* subcommand) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, subcommand->get_name(),
                             in_lines(subcommand->get_description(), kColumns - get_column_width()),
                             get_column_width());
    return text.str();
  }

 private:
  /// Keeps existing line breaks.
  static std::string in_lines(const std::string& description, std::size_t most) {
    std::string text;
    std::size_t length = 0;  // of the line so far
    std::size_t space = 0;   // where it can end; 0 = nowhere
    for (const char c : description) {
      text += c;
      if (c == '\n') {
        length = space = 0;
        continue;
      }
      if (c == ' ') space = text.size();
      if (++length <= most || space == 0) continue;
      text[space - 1] = '\n';
      length = text.size() - space;
      space = 0;
    }
    return text;
  }
};

Action declare(const Command& command, CLI::App& parser, std::span<const char* const> words) {
  if (command.declare_runner == nullptr) return command.declare(parser);
  return command.declare_runner(parser, std::vector<std::string>(words.begin(), words.end()));
}

ExitStatus parse_and_run(std::span<const char* const> arguments, Console& console) {
  CLI::App parser("Achieved, predicted and theoretical GPU occupancy, side by side.", "occbench");
  parser.formatter(std::make_shared<LinesOfHelp>());
  parser.require_subcommand(1);
  parser.set_version_flag("--version",
                          fmt::format("occbench {} (commit {})", OCCBENCH_VERSION, build_commit()));
  parser.footer(
      "Exit status: 0 done, 1 regression, 2 no verdict or not measured, 64 wrong use or input, 70 a fault of "
      "occbench.");

  const std::span<const char* const> words = words_to_run(arguments);
  ExitStatus status = ExitStatus::done;
  std::int64_t max_size = kMaxFileBytes;
  for (const Command& command : commands()) {
    CLI::App* subparser = parser.add_subcommand(std::string(command.name), std::string(command.summary));
    add_size_option(*subparser, "--max-size", max_size,
                    "most that is read of a file, once decompressed (default: 1G)");
    subparser->final_callback([&status, &console, &max_size, action = declare(command, *subparser, words)] {
      if (max_size < 1) throw InputError("--max-size = {} is below 1", max_size);
      set_max_file_bytes(max_size);
      status = action(console);
    });
  }
  const auto refuse = [&](const std::string& what) {
    fmt::print(console.err, "occbench: {} (occbench --help, or COMMAND --help, lists what there is)\n", what);
    return ExitStatus::usage;
  };
  try {
    const bool is_command =
        !arguments.empty() && std::ranges::count(commands(), arguments.front(), &Command::name) > 0;
    const CLI::App& command = is_command ? *parser.get_subcommand(arguments.front()) : parser;
    if (is_command) {
      const std::string wrong = wrong_word(command, arguments.subspan(1));
      if (!wrong.empty()) return refuse(wrong);
    }
    // CLI11 takes the last argument first.
    parser.parse(std::vector<std::string>(arguments.rbegin() + std::ssize(words), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      parser.exit(error, console.out, console.err);
      return ExitStatus::done;
    }
    return refuse(what_was_wrong(error, parser, arguments));
  }
  return status;
}

ExitStatus guarded(std::span<const char* const> arguments, Console& console) {
  try {
    return parse_and_run(arguments, console);
  } catch (const InputError& error) {
    fmt::print(console.err, "occbench: {}\n", error.what());
    return ExitStatus::usage;
  } catch (const CannotList& failure) {
    fmt::print(console.err, "{}\n", failure.what());
    return failure.status();
  } catch (const Interrupted& error) {
    fmt::print(console.err, "{}\n", error.what());
    return ExitStatus::no_verdict;
  } catch (const std::filesystem::filesystem_error& error) {
    // A file that the user named: too long a name, links in a circle, a folder that cannot be read.
    fmt::print(console.err, "occbench: cannot use {}: {}\n", error.path1().string(), error.code().message());
    return ExitStatus::usage;
  } catch (const std::system_error& error) {
    // A full disk, or no further process.
    fmt::print(console.err, "occbench: {}\n", error.what());
    return ExitStatus::usage;
  } catch (const std::exception& error) {
    fmt::print(console.err, "occbench: internal fault: {}\n", error.what());
    return ExitStatus::fault;
  }
}

}  // namespace

ExitStatus run_occbench(std::span<const char* const> arguments, Console& console) {
  const ExitStatus status = guarded(arguments, console);
  if (console.out.flush()) return status;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  const bool has_enough = ::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0;  // as `head` has
  if (!has_enough)
    fmt::print(
        console.err,
        "occbench: standard output could not be written (is its disk full?): what it was to hold is lost\n");
  return status == ExitStatus::done ? ExitStatus::usage : status;
}

void tell_torn(const std::filesystem::path& file, std::ostream& err) {
  fmt::print(err, "{}: the last line has no end and is left out: its run was stopped\n", file.string());
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
        for (const std::string_view item : split(text, ',')) {
          if (item.empty())
            throw InputError("{} = '{}' has an empty item; put commas between items only", name, text);
          values.emplace_back(item);
        }
      },
      meaning);
}

void refuse_all_but(const std::vector<std::string_view>& allowed, const CLI::App& parser,
                    std::string_view instead) {
  if (parser.count(std::string(allowed.front())) == 0) return;
  std::vector<const CLI::App*> all = {&parser};
  const auto groups = parser.get_subcommands([](const CLI::App*) { return true; });
  all.insert(all.end(), groups.begin(), groups.end());
  for (const CLI::App* const group : all) {
    for (const CLI::Option* const other : group->get_options()) {
      const std::string name = other->get_name();
      if (other->count() > 0 && std::ranges::find(allowed, name) == allowed.end())
        throw InputError("{} does not go with {}{}", name, allowed.front(), instead);
    }
  }
}

CLI::Option* pass_on(CLI::App& parser, const std::string& name, std::vector<std::string>& flags,
                     const std::string& meaning, std::string flag) {
  if (flag.empty()) flag = name.substr(2);
  std::ranges::replace(flag, '-', '_');
  return parser
      .add_option_function<std::vector<std::string>>(
          name,
          [flag, &flags](const std::vector<std::string>& values) {
            for (const std::string& value : values) flags.push_back(fmt::format("--occ_{}={}", flag, value));
          },
          meaning)
      ->expected(1)
      ->allow_extra_args(false);
}

CLI::Option* add_format(CLI::App& parser, std::string& format, const std::vector<std::string>& words,
                        const std::string& meaning) {
  format = words.front();
  return parser
      .add_option("--format", format, meaning.empty() ? fmt::format("{}", fmt::join(words, ", ")) : meaning)
      ->type_name("FORMAT")
      ->check(CLI::IsMember(words))
      ->capture_default_str();
}

}  // namespace occbench
