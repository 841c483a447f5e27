#include "cli/gpu_option.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "occupancy/limits.hpp"

namespace occbench {
namespace {

/// Empty if they differ.
template <typename Value>
std::optional<Value> common_value(std::span<const Gpu* const> gpus, Value Gpu::*member) {
  const Value value = gpus.front()->*member;
  const bool agree = std::ranges::all_of(gpus, [&](const Gpu* gpu) { return gpu->*member == value; });
  return agree ? std::optional(value) : std::nullopt;
}

/// Empty if the table has none, or if the name may mean several.
std::string driver_name_of(const GpuOption& option) {
  if (option.name.empty()) return "";
  const std::vector<const Gpu*> gpus = gpus_of(option.name);
  return gpus.size() == 1 ? std::string(gpus.front()->driver_name) : "";
}

}  // namespace

void declare_gpu_option(CLI::App& parser, GpuOption& option, const std::string& group) {
  CLI::Option* const name =
      add_value(parser, "--gpu", "NAME", option.name,
                "a GPU by name: a100-sxm4-80gb, 4090, h100-sxm5-80gb, ... (calc --gpu list)")
          ->group(group);
  add_value(parser, "--cc", "CC", option.compute_capability, "compute capability: 9.0, 90 or sm_90")
      ->excludes(name)
      ->group(group);
  add_number(parser, "--sm-count", option.sm_count, "SMs of the device, for waves and predictions", 1,
             kMostSmsOfGpu)
      ->type_name("SMS")
      ->excludes(name)
      ->group(group);
}

void declare_launch_options(CLI::App& parser, LaunchOptions& options, const std::string& group) {
  auto& [gpu, launch, usage] = options;
  const auto add = [&](const char* name, auto& value, const char* meaning, const char* type) {
    add_number(parser, name, value, meaning, 0, kMostOfInt)->type_name(type)->group(group);
  };
  declare_gpu_option(parser, gpu, group);
  add_shape_option(parser, "--block-size", launch.block_threads, launch.block_shape, kMostBlockShape,
                   "threads per block")
      ->group(group);
  add("--registers", usage.registers_per_thread, "registers per thread; calc without it: they do not limit",
      "REGISTERS");
  add_size_option(parser, "--static-smem", usage.static_shared_bytes, "static shared memory per block")
      ->group(group);
  add_size_option(parser, "--dynamic-smem", launch.dynamic_shared_bytes, "dynamic shared memory per block")
      ->group(group);
  add("--carveout", launch.carveout_pct, "preferred shared-memory carveout, % of the SM's maximum", "PCT");
  add("--barriers", usage.barriers, "named barriers per block", "BARRIERS");
  add("--cluster", launch.cluster_blocks, "blocks per cluster", "BLOCKS");
  add_shape_option(parser, "--grid", launch.grid_blocks, launch.grid_shape, kMostGridShape,
                   "blocks in the grid")
      ->group(group);
}

void require_launch(const LaunchOptions& options, std::vector<std::string> missing) {
  const auto require = [&](bool good, std::string_view option, std::string_view what) {
    if (!good) missing.push_back(fmt::format("{}: give the {}, at least 1", option, what));
  };
  require(options.launch.block_threads > 0, "--block-size", "threads per block");
  require(options.launch.grid_blocks > 0, "--grid", "blocks in the grid");
  require(options.usage.registers_per_thread > 0, "--registers",
          "registers per thread, as a profiler or -Xptxas -v shows them");
  if (!missing.empty()) throw InputError("{}", fmt::join(missing, "; "));
}

const Gpu* named_gpu(const GpuOption& option) {
  return option.name.empty() ? nullptr : &gpu_of(option.name);
}

ComputeCapability capability_of(const GpuOption& option) {
  if (option.name.empty()) return parse_compute_capability(option.compute_capability);
  const std::vector<const Gpu*> gpus = gpus_of(option.name);
  if (const auto capability = common_value(gpus, &Gpu::compute_capability)) return *capability;
  throw InputError(which_of(option.name, gpus));
}

std::optional<int> sm_count_of(const GpuOption& option) {
  if (option.name.empty()) return option.sm_count;
  return common_value(gpus_of(option.name), &Gpu::sm_count);
}

std::vector<GpuOption> asked_gpus(const GpuOption& asked) {
  const bool by_name = !asked.name.empty();
  std::vector<GpuOption> gpus;
  const std::string& list = by_name ? asked.name : asked.compute_capability;
  for (const std::string_view item : split(list, ',')) {
    if (item.empty())
      throw InputError("{} = '{}' has an empty item: write it as 8.0,9.0 or a100,h200",
                       by_name ? "--gpu" : "--cc", list);
    GpuOption& gpu = gpus.emplace_back(asked);
    (by_name ? gpu.name : gpu.compute_capability) = item;
  }
  return gpus;
}

CsvTable rows_on(const GpuOption& asked, const CsvTable& table, const std::string& source) {
  const std::vector<GpuOption> gpus = asked_gpus(asked);
  for (const char* name : {"compute_capability", "sm_count"}) {
    if (std::ranges::find(table.names, name) != table.names.end())
      throw InputError("{} has the column {}: leave out --gpu and --cc, or the column", source, name);
  }
  const auto named = std::ranges::find(table.names, "case");
  CsvTable all;
  all.names = table.names;
  all.names.insert(all.names.end(), {"compute_capability", "sm_count"});
  const bool names_gpu = std::ranges::find(table.names, "gpu") != table.names.end();
  if (!names_gpu) all.names.emplace_back("gpu");
  for (std::size_t index = 0; index < table.rows.size(); ++index) {
    for (const GpuOption& gpu : gpus) {
      std::vector<std::string>& cells = all.rows.emplace_back(table.rows[index]);
      all.lines.push_back(table.lines[index]);
      if (gpus.size() > 1 && named != table.names.end())
        cells[static_cast<std::size_t>(named - table.names.begin())] +=
            " " + (gpu.name.empty() ? gpu.compute_capability : gpu.name);
      const std::optional<int> sms = sm_count_of(gpu);
      cells.insert(cells.end(), {to_string(capability_of(gpu)), sms ? std::to_string(*sms) : ""});
      if (!names_gpu) cells.push_back(driver_name_of(gpu));
    }
  }
  return all;
}

GpuIdentity identity_of(const GpuOption& option) {
  if (const Gpu* const gpu = named_gpu(option)) return identity_of(*gpu);
  if (!option.sm_count) throw InputError("a prediction needs the number of SMs: --sm-count N beside --cc");
  return any_gpu(limits_of(capability_of(option)).compute_capability, *option.sm_count);
}

ChosenProfile profile_to_predict_with(const std::string& profile, const GpuOption& option) {
  if (!profile.empty()) {
    return option.given() ? chosen(find_profile(profile), identity_of(option))
                          : chosen(find_profile(profile));
  }
  if (option.given()) return choose_profile(identity_of(option));
  if (const std::optional<GpuIdentity> here = gpu_here()) return choose_profile(*here);
  throw InputError("say for which GPU: --gpu NAME, --cc CC --sm-count N or --profile NAME|FILE ({})",
                   why_no_gpu());
}

}  // namespace occbench
