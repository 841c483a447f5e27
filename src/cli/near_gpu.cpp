#include "cli/near_gpu.hpp"

#include <charconv>
#include <fstream>
#include <iterator>

namespace occbench {
namespace {

/// "3" or "0-3" @returns whether it is that
bool add_range(std::string_view text, std::set<int>& cores) {
  int first = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, first);
  if (error != std::errc()) return false;
  int last = first;
  if (at != end && *at == '-') {
    const auto [after, wrong] = std::from_chars(at + 1, end, last);
    if (wrong != std::errc()) return false;
    at = after;
  }
  if (at != end || first < 0 || last < first || last >= CPU_SETSIZE) return false;
  for (int core = first; core <= last; ++core) cores.insert(core);
  return true;
}

}  // namespace

std::set<int> parse_cpu_list(std::string_view text) {
  if (const std::size_t end = text.find_last_not_of(" \n"); end != std::string_view::npos)
    text = text.substr(0, end + 1);
  std::set<int> cores;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    if (!add_range(text.substr(0, comma), cores)) return {};
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return cores;
}

std::set<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& pci_devices) {
  cpu_set_t allowed{};
  if (pci_bus_id.empty() || ::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::ifstream file(pci_devices / pci_bus_id / "local_cpulist");
  std::set<int> cores = parse_cpu_list(std::string{std::istreambuf_iterator<char>(file), {}});
  std::erase_if(cores, [&](int core) { return !CPU_ISSET(core, &allowed); });
  return cores;
}

OnCores::OnCores(const std::set<int>& cores) {
  if (cores.empty() || ::sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
  cpu_set_t wanted{};
  for (const int core : cores) CPU_SET(core, &wanted);
  bound_ = ::sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
}

OnCores::~OnCores() {
  if (bound_) static_cast<void>(::sched_setaffinity(0, sizeof(before_), &before_));
}

}  // namespace occbench
