#include "cli/device_list.hpp"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

/// In quotes if a shell could interpret it.
std::string for_shell(const std::string& text) {
  const auto is_plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./=,:+").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

CLI::Option* add_device_option(CLI::App& parser, std::string& device, const std::string& meaning) {
  return parser.add_option("--device", device, meaning)->check([](const std::string& choice) {
    check_device_choice(choice);
    return std::string();
  });
}

CLI::Option* add_one_device_option(CLI::App& parser, std::string& device) {
  const char* const meaning = "number of the GPU, or auto: the discrete one with most SMs";
  return add_device_option(parser, device, meaning)->check([](const std::string& choice) {
    if (names_several(choice))
      throw InputError("--device {}: one GPU is measured; give its number, or auto", choice);
    return std::string();
  });
}

void declare_measuring(CLI::App& parser, RunOptions& options) {
  parser
      .add_option("--counters", options.counters, "auto, off, or require: status 2 where they cannot be read")
      ->check(CLI::IsMember({"auto", "off", "require"}))
      ->capture_default_str();
  pass_on(parser, "--profile", options.flags,
          "device profile to predict with, a built-in one or a file of `occbench calibrate` (default: the "
          "best that is known of the GPU)",
          "device_profile")
      ->type_name("NAME|FILE");
  add_value(parser, "--benches", "FOLDER", options.benches,
            "folder of the bench binaries (default: beside occbench)");
  add_value(parser, "--out", "FILE.csv", options.out,
            "rows go here, samples beside it (default: a new file in results/local/)");
  parser.add_flag("--resume", options.resume, "keep the rows of --out and measure what is missing");
}

bool merge_gpus(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                Console& console) {
  const Merged merged = merge_and_tell(files, out, console);
  std::vector<std::string> names;
  for (const std::filesystem::path& file : files) names.push_back(file.string());
  if (!merged.samples) fmt::print(console.out, "Each GPU's rows, with samples: {}\n", fmt::join(names, ", "));
  return merged.conflicts == 0 && merged.torn.empty();
}

std::vector<std::string> arguments_of(const CLI::App& parser, std::span<const std::string> leave_out) {
  std::vector<std::string> arguments;
  for (const CLI::Option* const option : parser.get_options()) {
    const std::string name = option->get_name();
    if (std::ranges::find(leave_out, name) != leave_out.end()) continue;
    const bool flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      // A value after = may not be empty, and a flag takes its value only there.
      if (flag) {
        arguments.push_back(value == "true" ? name : fmt::format("{}={}", name, value));
      } else {
        arguments.insert(arguments.end(), {name, value});
      }
    }
  }
  return arguments;
}

std::string resuming_command(const CLI::App& parser, const std::filesystem::path& out) {
  std::vector<std::string> words = {"occbench", parser.get_name()};
  std::ranges::copy(parser.remaining(), std::back_inserter(words));
  const std::string without[] = {"--out", "--resume"};
  std::ranges::copy(arguments_of(parser, without), std::back_inserter(words));
  words.insert(words.end(), {"--out", out.string(), "--resume"});
  std::ranges::transform(words, words.begin(), for_shell);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace occbench
