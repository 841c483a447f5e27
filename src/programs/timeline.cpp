#include "programs/timeline.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "files/output.hpp"

namespace occbench {
namespace {

constexpr int kKernelsTrack = 1;
constexpr int kWindowsTrack = 2;

/// A kernel as its slices show it.
struct Slice {
  std::string name;  ///< as JSON
  std::optional<double> theoretical_pct;
  std::int64_t warps_per_block = 1;
  std::int64_t sm_count = 0;
};

struct TimelineSample {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  double warps = 0;       ///< resident, mean
  double elapsed = 0;     ///< cycles, of an SM
  double active_pct = 0;  ///< of the SMs' time
};

/// The events of one GPU's windows.
class GpuEvents {
 public:
  GpuEvents(std::string& events, int track, std::uint64_t from_ns)
      : events_(events), track_(track), from_ns_(from_ns) {}

  void begin_window(std::int64_t sms, int warps_per_sm, std::uint64_t began_ns) {
    end_window();
    sms_ = sms;
    warps_per_sm_ = warps_per_sm;
    began_ns_ = began_ns;
  }
  void add_sample(std::istringstream& words) {
    TimelineSample sample;
    std::uint64_t length = 0;
    double blocks = 0, warp_cycles = 0, active_cycles = 0, longest = 0;
    words >> sample.start_ns >> length >> blocks >> warp_cycles >> active_cycles >> longest >> sample.elapsed;
    if (!words || sample.elapsed <= 0 || sms_ <= 0) return;
    sample.end_ns = sample.start_ns + length;
    sample.warps = warp_cycles / sample.elapsed;
    sample.active_pct = 100 * active_cycles / sample.elapsed / static_cast<double>(sms_);
    samples_.push_back(sample);
  }
  void add_idle(std::istringstream& words) {
    TimelineSample sample;
    if (words >> sample.start_ns >> sample.end_ns) samples_.push_back(sample);
  }
  void add_launch(std::istringstream& words, const std::map<std::uint32_t, Slice>& slices) {
    std::uint32_t kernel = 0;
    std::uint64_t start = 0, length = 0;
    double warp_cycles = 0, active_cycles = 0;
    words >> kernel >> start >> length >> warp_cycles >> active_cycles;
    const auto slice = slices.find(kernel);
    if (!words || slice == slices.end() || active_cycles <= 0 || warps_per_sm_ <= 0) return;
    const double achieved_pct = 100 * warp_cycles / active_cycles / warps_per_sm_;
    std::string values = fmt::format("\"achieved_pct\":{:.1f}", achieved_pct);
    if (const auto theory = slice->second.theoretical_pct) {
      values +=
          fmt::format(",\"theoretical_pct\":{:.1f},\"loss_points\":{:.1f}", *theory, *theory - achieved_pct);
    }
    events_ += fmt::format(
        "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{:.3f},\"name\":{},\"args\":{{{}}}}},\n",
        track_, kKernelsTrack, time(start), static_cast<double>(length) / 1000, slice->second.name, values);
    launches_.push_back({start, start + length, static_cast<double>(slice->second.warps_per_block)});
  }
  /// Its counters: the blocks of a sample are those of its launch, and 0 if no launch is known. A counter of a Chrome trace keeps its value
  /// until the next, so all end with the window at 0, and the window is a slice. A window's first sample spans the time before it.
  void end_window() {
    auto launch = launches_.begin();
    std::array<std::string, 3> before;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      const TimelineSample& sample = samples_[i];
      while (launch != launches_.end() && launch->end_ns <= sample.start_ns) ++launch;
      const bool is_known = launch != launches_.end() && launch->start_ns <= sample.start_ns;
      const double all_warps = static_cast<double>(warps_per_sm_) * static_cast<double>(sms_);
      add_counters(sample.start_ns, all_warps > 0 ? 100 * sample.warps / all_warps : 0, sample.active_pct,
                   is_known ? sample.warps / launch->warps_per_block : 0, before);
    }
    if (samples_.size() > 1) {
      const std::uint64_t start = samples_[1].start_ns;
      const std::uint64_t end = samples_.back().end_ns;
      add_counters(end, 0, 0, 0, before);
      events_ += fmt::format(
          "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{:.3f},\"name\":\"sampled\"}},\n", track_,
          kWindowsTrack, time(start), static_cast<double>(end - start) / 1000);
    }
    samples_.clear();
    launches_.clear();
  }

 private:
  struct Launch {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    double warps_per_block = 1;
  };

  /// In us.
  std::string time(std::uint64_t ns) const {
    const std::uint64_t since = began_ns_ + ns - std::min(from_ns_, began_ns_ + ns);
    return fmt::format("{}.{:03}", since / 1000, since % 1000);
  }
  /// Those that have changed. Perfetto names a counter by its name and unit.
  void add_counters(std::uint64_t ns, double occupancy_pct, double active_pct, double blocks,
                    std::array<std::string, 3>& before) {
    const std::array values = {
        fmt::format(R"("name":"occupancy","args":{{"%":{:.1f}}})", occupancy_pct),
        fmt::format(R"("name":"SMs active","args":{{"%":{:.1f}}})", active_pct),
        fmt::format(R"("name":"resident","args":{{"blocks of known kernels":{:.1f}}})", blocks)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != before[i])
        events_ += fmt::format("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},{}}},\n", track_, time(ns), values[i]);
    }
    before = values;
  }

  std::string& events_;
  int track_;
  std::uint64_t from_ns_;
  std::int64_t sms_ = 0;
  int warps_per_sm_ = 0;
  std::uint64_t began_ns_ = 0;
  std::vector<TimelineSample> samples_;
  std::vector<Launch> launches_;
};

std::uint64_t began_of(std::istream& windows) {
  std::string line;
  std::string word;
  std::uint64_t interval = 0, device = 0, warps = 0, began = 0;
  if (std::getline(windows, line)) std::istringstream(line) >> word >> interval >> device >> warps >> began;
  return began;
}

}  // namespace

fs::path windows_of(const fs::path& timeline, int process) {
  return fmt::format("{}.windows.{}", timeline.string(), process);
}

std::size_t append_timeline(std::string& events, const TracedProcess& process, std::istream& windows,
                            std::uint64_t from_ns) {
  std::map<std::uint32_t, Slice> slices;
  std::map<int, const ProgramDevice*> devices;
  for (std::size_t i = 0; i < process.entries.size(); ++i) {
    const CaseRecord record = program_case(process.entries[i]);
    Slice& slice = slices[process.numbers[i]];
    slice.name =
        nlohmann::json(record.identity.name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (record.theory) slice.theoretical_pct = record.theory->theoretical_pct;
    slice.warps_per_block = std::max<std::int64_t>((process.entries[i].kernel.block.total() + 31) / 32, 1);
    devices[process.entries[i].device.index] = &process.entries[i].device;
  }
  std::map<int, GpuEvents> gpus;
  GpuEvents* gpu = nullptr;
  std::size_t count = 0;
  for (std::string line; std::getline(windows, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "window") {
      std::uint64_t interval = 0, began = 0;
      int device = 0, warps_per_sm = 0;
      words >> interval >> device >> warps_per_sm >> began;
      gpu = nullptr;
      const auto known = devices.find(device);
      if (!words || known == devices.end()) continue;
      // A process's GPUs have numbers of their own in the trace.
      const int track = process.process * 16 + device % 16;
      const auto [place, is_new] = gpus.try_emplace(device, events, track, from_ns);
      gpu = &place->second;
      gpu->begin_window(known->second->sm_count, warps_per_sm, began);
      ++count;
      if (!is_new) continue;
      const nlohmann::json name =
          fmt::format("GPU {} {}, process {}", device, known->second->name, process.process);
      events +=
          fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}},\n",
                      track, name.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
      for (const auto& [thread, kind_of_slices] :
           {std::pair(kKernelsTrack, "kernels"), std::pair(kWindowsTrack, "sampling windows")}) {
        events += fmt::format(
            "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{}\"}}}},\n",
            track, thread, kind_of_slices);
      }
    } else if (gpu != nullptr && kind == "sample") {
      gpu->add_sample(words);
    } else if (gpu != nullptr && kind == "idle") {
      gpu->add_idle(words);
    } else if (gpu != nullptr && kind == "launch") {
      gpu->add_launch(words, slices);
    }
  }
  for (auto& [device, last] : gpus) last.end_window();
  return count;
}

std::size_t write_timeline(const fs::path& timeline, std::span<const fs::path> processes) {
  std::vector<std::pair<TracedProcess, fs::path>> all;
  std::optional<std::uint64_t> from_ns;
  for (const fs::path& file : processes) {
    TracedProcess process = read_entry_file(file);
    const fs::path windows = windows_of(timeline, process.process);
    if (!is_file_beside(windows, "sampling windows")) continue;
    std::ifstream in(windows);
    if (!in) continue;
    const std::uint64_t began = began_of(in);
    from_ns = std::min(from_ns.value_or(began), began);
    all.emplace_back(std::move(process), windows);
  }
  OutputFile out(timeline);
  out.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  std::size_t count = 0;
  for (const auto& [process, windows] : all) {
    std::ifstream in(windows);
    std::string events;
    count += append_timeline(events, process, in, *from_ns);
    out.write(events);
  }
  out.write(
      "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"occbench trace\"}}\n]}\n");
  out.complete();
  out.keep();
  std::error_code ignored;
  for (const auto& [process, windows] : all) fs::remove(windows, ignored);
  return count;
}

}  // namespace occbench
