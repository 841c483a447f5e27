#include "cli/sweep_request.hpp"

#include <string_view>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

void take_axes(const std::vector<std::string>& words, SweepRequest& request) {
  bool in_axis = false;
  for (const std::string& word : words) {
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const bool has_values = equals != std::string::npos;
      request.axes.emplace_back(word.substr(2, has_values ? equals - 2 : equals),
                                has_values ? word.substr(equals + 1) : "");
      in_axis = true;
    } else if (in_axis) {
      std::string& values = request.axes.back().second;
      values += (values.empty() ? "" : ",") + word;
    } else if (request.kernel.empty() && request.source.empty()) {
      request.kernel = word;
    } else {
      throw InputError(
          fmt::format("'{}' is no axis; axes are --NAME VALUES, as --block-size 64:1024:64", word));
    }
  }
  for (const auto& [name, values] : request.axes) {
    if (values.empty())
      throw InputError(
          fmt::format("--{} has no values; write --{} 64,128 or --{} 64:1024:64", name, name, name));
  }
}

std::vector<std::string> program_arguments(const SweepRequest& request) {
  std::vector<std::string> arguments;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("--occ_{}={}", flag, value));
  };
  add("sweep", request.kernel);
  add("source", request.source);
  for (const std::string& kernel : request.source_kernels) add("kernel", kernel);
  for (const std::string& argument : request.arguments) add("arg", argument);
  for (const std::string& define : request.defines) add("define", define);
  for (const std::string& folder : request.includes) add("include", folder);
  add("std", request.standard);
  add("check", request.check);
  add("check_against", request.check_against);
  if (request.tolerance) add("tolerance", fmt::format("{}", *request.tolerance));
  for (const auto& [name, values] : request.axes) add("axis", fmt::format("{}={}", name, values));
  for (const std::string& constraint : request.where) add("where", constraint);
  if (request.zip) arguments.emplace_back("--occ_zip");
  if (request.fastest) arguments.emplace_back("--occ_fastest");
  return arguments;
}

std::string resuming_sweep(const SweepRequest& request, const std::filesystem::path& out) {
  const RunOptions usual;
  std::string command = "occbench sweep";
  const auto add = [&](std::string_view flag, const std::string& value, const std::string& otherwise = "") {
    if (value != otherwise) command += fmt::format(" {} {}", flag, for_shell(value));
  };
  if (!request.kernel.empty()) command += fmt::format(" {}", for_shell(request.kernel));
  add("--source", request.source);
  for (const std::string& kernel : request.source_kernels) add("--kernel", kernel);
  for (const std::string& argument : request.arguments) add("--arg", argument);
  for (const std::string& define : request.defines) add("--define", define);
  for (const std::string& folder : request.includes) add("--include", folder);
  add("--std", request.standard);
  add("--check", request.check);
  add("--check-against", request.check_against);
  if (request.tolerance) add("--tolerance", fmt::format("{}", *request.tolerance));
  for (const auto& [name, values] : request.axes) add("--" + name, values);
  for (const std::string& constraint : request.where) add("--where", constraint);
  if (request.zip) command += " --zip";
  if (request.fastest) command += " --fastest";
  if (request.budget) command += fmt::format(" --budget {}", *request.budget);
  add("--device", request.run.device, usual.device);
  add("--counters", request.run.counters, usual.counters);
  add("--profile", request.run.profile);
  add("--benches", request.run.benches.string());
  add("--out", out.string());
  return command + " --resume";
}

}  // namespace occbench
