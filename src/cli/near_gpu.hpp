#pragma once

#include <filesystem>
#include <sched.h>
#include <set>
#include <string>
#include <string_view>

namespace occbench {

/// Where Linux describes PCI devices, a folder each.
inline constexpr const char* kPciDevices = "/sys/bus/pci/devices";

/// "0-3,8" as {0, 1, 2, 3, 8}, the form of Linux; empty where the text is no such list.
std::set<int> parse_cpu_list(std::string_view text);

/// The cores nearest to a GPU that this process may use (`local_cpulist` of its folder). Empty where the system does
/// not name them, or allows none of them.
std::set<int> cores_near(const std::string& pci_bus_id,
                         const std::filesystem::path& pci_devices = kPciDevices);

/// While it lives, this thread and the processes that it starts use these cores only; an empty set changes nothing.
/// Their memory follows: Linux takes a page from the node of the core that writes to it first.
class OnCores {
 public:
  explicit OnCores(const std::set<int>& cores);
  ~OnCores();
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace occbench
