#include "trace/window_file.hpp"

#include <cstdio>
#include <string>

#include <fmt/core.h>

namespace occbench {

void append_window(const std::filesystem::path& file, const WindowFacts& facts,
                   std::span<const SmSample> samples, std::span<const LoggedLaunch> launches,
                   std::span<const SampledLaunch> found) {
  std::string text = fmt::format("window {} {} {} {}\n", facts.interval_ns, facts.device, facts.warps_per_sm,
                                 facts.began_ns);
  for (const LoggedLaunch& launch : launches) {
    const std::string kernel =
        launch.kernel == LoggedLaunch::kMemory ? "-" : fmt::format("{}", launch.kernel);
    text += fmt::format("call {} {} {} {}\n", launch.called_ns, kernel, launch.blocks, launch.stream);
  }
  for (std::size_t i = 0; i < samples.size();) {
    const SmSample& first = samples[i];
    std::size_t end = i;
    while (end < samples.size() && samples[end].blocks <= 0 && samples[end].active_cycles <= 0) ++end;
    if (end > i) {
      text += fmt::format("idle {} {} {}\n", first.start_ns, samples[end - 1].end_ns, end - i);
      i = end;
      continue;
    }
    text += fmt::format("sample {} {} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\n", first.start_ns,
                        first.end_ns - first.start_ns, first.blocks, first.warp_cycles, first.active_cycles,
                        first.longest_cycles, first.elapsed_cycles);
    ++i;
  }
  for (const SampledLaunch& launch : found) {
    text += fmt::format("launch {} {} {} {:.0f} {:.0f}\n", launch.kernel, launch.start_ns,
                        launch.end_ns - launch.start_ns, launch.warp_cycles, launch.active_cycles);
  }
  if (std::FILE* const out = std::fopen(file.c_str(), "a")) {
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
}

}  // namespace occbench
