#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/near_gpu.hpp"

namespace occbench {

/// A command of occbench for several GPUs: a process of it for each.
struct EachDevice {
  std::filesystem::path program = "/proc/self/exe";  ///< this one, also where its file was replaced meanwhile
  std::string command;                               ///< "run"
  std::vector<std::string>
      arguments;  ///< of each process, without --device, --out and the options of `outputs`
  std::vector<GpuHere> gpus;
  std::vector<std::pair<std::string, std::filesystem::path>>
      outputs;                 ///< options and the files or folders they name
  std::filesystem::path rows;  ///< the rows of all GPUs go here; empty: none are kept
  bool resume = false;         ///< rows that are there stay
  bool at_once = kAtOnce;
  std::string
      resuming;  ///< the command line that measures what is missing, for a shell; empty: there is none
  std::filesystem::path pci_devices = kPciDevices;
};

/// FILE.gpu2.csv for FILE.csv and GPU 2, FOLDER.gpu2 for FOLDER.
std::filesystem::path file_of_gpu(const std::filesystem::path& file, int index);

/// The options that a command was given: what makes another process do the same.
/// @param leave_out  names of options, "--out"
std::vector<std::string> arguments_of(const CLI::App& parser, std::span<const std::string> leave_out);

/// A command for the GPUs that --device names, with the options that its parser was given.
EachDevice each_device(const CLI::App& parser, std::vector<GpuHere> gpus,
                       std::vector<std::pair<std::string, std::filesystem::path>> outputs);

/// Starts a process for each GPU, on the cores near it, with `--device N` and outputs of its own (file_of_gpu()). Shows
/// what they print, with the GPU's number. Ctrl-C goes to all of them. One that fails or cannot be started leaves the
/// others alone. The rows of all are then merged into `rows`; the files of each GPU stay, for only they have the samples.
/// @returns the worst status of a process: no_verdict for one that a signal ended, fault for one that cannot be
/// started; at least no_verdict where the merged rows have conflicts or lack some
/// @throws InputError where `rows` is "-", or resuming would drop rows of it
ExitStatus run_on_each(const EachDevice& each, Console& console);

}  // namespace occbench
