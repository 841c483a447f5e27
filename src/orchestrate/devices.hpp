#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "occupancy/statuses.hpp"
#include "orchestrate/console.hpp"
#include "orchestrate/plan.hpp"

// A run on several GPUs: a process for each.
namespace occbench {

/// A GPU of this machine, with what is needed to start a process for it.
struct GpuHere {
  int index = 0;     ///< the CUDA runtime's number
  std::string uuid;  ///< empty if not known
};

/// Whether `--device` is `all` or a list.
bool names_several(const std::string& choice);

/// @throws InputError if it names no GPU of any machine
void check_device_choice(const std::string& choice);

/// The GPUs that `all` or a list such as "0,2" names. Empty if `choice` is one number or auto, or if there is no GPU;
/// the command then says so.
/// @param here  the GPUs of this machine, numbered from 0; without it a list may have any numbers
/// @throws InputError if the list has a GPU twice, one that is not there or something other than numbers
std::vector<GpuHere> listed_gpus(const std::string& choice, const std::optional<std::vector<GpuHere>>& here);

/// Writes the rows of files into one and reports the result. @returns whether it has every row of the files, and no
/// two of a GPU and a case
using MergeRows = std::function<bool(std::span<const std::filesystem::path> files,
                                     const std::filesystem::path& out, Console& console)>;

/// `occbench run` for several GPUs: one process each.
struct EachDevice {
  std::filesystem::path program =
      "/proc/self/exe";  ///< this program, even if its file was replaced meanwhile
  std::vector<std::string>
      arguments;  ///< of each process, without --device, --out and the options of `outputs`
  std::vector<GpuHere> gpus;
  std::vector<std::pair<std::string, std::filesystem::path>>
      outputs{};               ///< options and the files or folders they name
  std::filesystem::path rows;  ///< file for the rows of all GPUs
  MergeRows merge;
  bool resume = false;     ///< existing rows stay
  std::string resuming{};  ///< the command line that measures the missing cases, for a shell
};

/// FILE.gpu2.csv for FILE.csv and GPU 2, FOLDER.gpu2 for FOLDER.
std::filesystem::path file_of_gpu(const std::filesystem::path& file, int index);

/// Starts a process for each GPU, with `--device N` and outputs of its own (file_of_gpu()). Shows their output, with
/// the GPU's number. Ctrl-C goes to all of them. If one fails or cannot be started, the others continue. The rows of
/// all are then merged into `rows`. The files of each GPU stay, because only they have the samples.
/// @returns the worst status of a process: no_verdict for one that a signal ended, fault for one that cannot be
/// started; at least no_verdict if the merged rows have conflicts or lack some
/// @throws InputError if resuming would drop rows of `rows`, or another process writes it
ExitStatus run_on_each(const EachDevice& each, Console& console);

}  // namespace occbench
