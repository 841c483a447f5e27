#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace occbench {

/// The socket of the daemon of NVIDIA's Multi-Process Service (MPS), where there is one: programs then share one
/// context on the GPU. It lies in CUDA_MPS_PIPE_DIRECTORY, without that in /tmp/nvidia-mps (NVIDIA, Multi-Process
/// Service, "Environment variables").
///
/// Nothing may be counted then. Once a client has set up counters, launches of the next client that does so fail
/// (CUDA error 719), and a client without counters beside it finds the GPU busy (H100, driver 580.159.04, CUDA
/// 13.0). Records of kernels disturb nobody.
std::optional<std::filesystem::path> mps_socket();

/// For those who wanted to count.
std::string why_not_with_mps(const std::filesystem::path& socket);

}  // namespace occbench
