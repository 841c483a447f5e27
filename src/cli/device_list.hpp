#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/gpu_presence.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace occbench {

/// `--device`. @throws InputError, while the command line is parsed, for what names no GPU in any machine
CLI::Option* add_device_option(CLI::App& parser, std::string& device, const std::string& meaning);

/// Whether several GPUs measure at once where the user does not say.
inline constexpr bool kAtOnce = true;

/// `--at-once` and `--one-after-another`, beside a `--device` that can name several GPUs.
void declare_at_once(CLI::App& parser, bool& at_once);

/// What `--device` takes where it can name several GPUs, for help texts.
inline constexpr const char* kDeviceMeaning =
    "number of the GPU; auto: the discrete one with most SMs; all, or a list such as 0,2: a process for each "
    "GPU";

/// The GPUs that `all` or a list such as "0,2" names. Empty where `choice` is one number or auto, and where there is no
/// GPU: the command then says so.
/// @param here  the GPUs of this machine, numbered from 0; without it a list may have any numbers
/// @throws InputError if the list has a GPU twice, one that is not there or something else than numbers
std::vector<GpuHere> listed_gpus(const std::string& choice, const std::optional<std::vector<GpuHere>>& here);

/// Of this machine, which is asked for its GPUs only where `choice` is `all` or a list.
std::vector<GpuHere> listed_gpus(const std::string& choice);

}  // namespace occbench
