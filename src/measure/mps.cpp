#include "measure/mps.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/core.h>

namespace occbench {

std::optional<std::filesystem::path> mps_socket() {
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const bool given = folder != nullptr && *folder != '\0';
  const std::filesystem::path socket = std::filesystem::path(given ? folder : "/tmp/nvidia-mps") / "control";
  std::error_code none;
  if (!std::filesystem::is_socket(socket, none)) return std::nullopt;
  return socket;
}

std::string why_not_with_mps(const std::filesystem::path& socket) {
  return fmt::format(
      "programs share the GPU through MPS ({}): counting would make their launches fail. End its daemon "
      "(echo quit | nvidia-cuda-mps-control); delete the socket if none runs",
      socket.string());
}

}  // namespace occbench
