#include "cli/gpu_option.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/command.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"

namespace occbench {
namespace {

constexpr int kMostSmsOfGpu = 1024;  // as the column sm_count

}  // namespace

void declare_gpu_option(CLI::App& parser, GpuOption& option, const std::string& group) {
  CLI::Option* const name =
      parser
          .add_option("--gpu", option.name,
                      "a GPU by name: a100, 4090, h100-sxm5-80gb, ... (calc --gpu list)")
          ->type_name("NAME")
          ->group(group);
  parser.add_option("--cc", option.compute_capability, "compute capability: 9.0, 90 or sm_90")
      ->type_name("CC")
      ->excludes(name)
      ->group(group);
  add_number(parser, "--sm-count", option.sm_count, "SMs of the device, for waves and predictions", 1,
             kMostSmsOfGpu)
      ->type_name("SMS")
      ->excludes(name)
      ->group(group);
}

const Gpu* named_gpu(const GpuOption& option) {
  return option.name.empty() ? nullptr : &gpu_of(option.name);
}

ComputeCapability capability_of(const GpuOption& option) {
  if (option.name.empty()) return parse_compute_capability(option.compute_capability);
  const std::vector<const Gpu*> gpus = gpus_of(option.name);
  const ComputeCapability capability = gpus.front()->compute_capability;
  if (!std::ranges::all_of(gpus, [=](const Gpu* gpu) { return gpu->compute_capability == capability; }))
    throw InputError(which_of(option.name, gpus));
  return capability;
}

std::optional<int> sm_count_of(const GpuOption& option) {
  if (option.name.empty()) return option.sm_count;
  const std::vector<const Gpu*> gpus = gpus_of(option.name);
  const int sms = gpus.front()->sm_count;
  if (!std::ranges::all_of(gpus, [=](const Gpu* gpu) { return gpu->sm_count == sms; })) return std::nullopt;
  return sms;
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
  if (const std::optional<GpuIdentity> here = gpu_here("auto")) return choose_profile(*here);
  throw InputError(fmt::format(
      "say for which GPU: --gpu NAME, --cc CC --sm-count N or --profile NAME|FILE ({})", why_no_gpu()));
}

}  // namespace occbench
