#pragma once

#include <optional>
#include <string>
#include <vector>

#include "occupancy/gpus.hpp"
#include "occupancy/launch.hpp"
#include "orchestrate/devices.hpp"
#include "predict/profile_choice.hpp"
#include "record/csv.hpp"

namespace CLI {
class App;
}

namespace occbench {

/// Which GPU a command is asked about, as the user names it.
struct GpuOption {
  std::string name;                ///< --gpu: a name in the table of GPUs, or a prefix of several
  std::string compute_capability;  ///< --cc
  std::optional<int> sm_count;     ///< --sm-count

  bool given() const {
    return !name.empty() || !compute_capability.empty();
  }
};

/// Declares `--gpu`, `--cc` and `--sm-count`. A GPU's name gives the other two, and excludes them.
/// @param group  of the help text
void declare_gpu_option(CLI::App& parser, GpuOption& option, const std::string& group = "Options");

/// A launch as the user describes it, and the GPU.
struct LaunchOptions {
  GpuOption gpu;
  Launch launch;
  Usage usage;
};

/// Declares the options of declare_gpu_option(), `--block-size`, `--grid`, `--registers`, `--static-smem`,
/// `--dynamic-smem`, `--carveout`, `--barriers` and `--cluster`.
void declare_launch_options(CLI::App& parser, LaunchOptions& options, const std::string& group = "Options");

/// @param missing  further missing options, with what to give
/// @throws InputError naming these, and block size, grid and registers if they are missing
void require_launch(const LaunchOptions& options, std::vector<std::string> missing = {});

/// The table's line for `--gpu`; nullptr if it is not given. @throws InputError as gpu_of()
const Gpu* named_gpu(const GpuOption& option);

/// The compute capability of the GPU asked about, if all GPUs that its name may mean agree. @throws InputError if they
/// do not, and as gpus_of() and parse_compute_capability() do
ComputeCapability capability_of(const GpuOption& option);

/// Its number of SMs, if given and if all GPUs that its name may mean agree. @throws InputError as gpus_of()
std::optional<int> sm_count_of(const GpuOption& option);

/// Each GPU of a list such as "a100,h200" or "8.0,9.0". @throws InputError for an empty item
std::vector<GpuOption> asked_gpus(const GpuOption& asked);

/// The rows of a table, once per GPU of a list, with the columns compute_capability and sm_count, and gpu if it had
/// none. With several GPUs, their names are added to the cells of `case`.
/// @param source  the table's file, for messages
/// @throws InputError if the table itself says which GPUs its rows are of, and as capability_of() does
CsvTable rows_on(const GpuOption& asked, const CsvTable& table, const std::string& source);

/// The GPU asked about: a line of the table, or any GPU of a compute capability and a number of SMs.
/// @throws InputError if the number of SMs is missing or out of range, and as capability_of()
GpuIdentity identity_of(const GpuOption& option);

/// The profile to predict with: `profile` (a built-in one or a file, empty = none) for the GPU asked about, or else for
/// its own GPU. If empty: the best that is known of the GPU asked about, or else of this machine's first choice.
/// @throws InputError if no GPU is given and this machine has none, and as find_profile() and identity_of()
ChosenProfile profile_to_predict_with(const std::string& profile, const GpuOption& option);

/// Why this program cannot measure here: no GPU, no driver, or built without CUDA. Empty if it can.
std::string why_no_gpu();

/// The discrete GPU with most SMs; empty if why_no_gpu() gives a reason.
std::optional<GpuIdentity> gpu_here();

/// In the order of their numbers, from 0; none if why_no_gpu() gives a reason.
std::vector<GpuHere> gpus_here();

}  // namespace occbench
