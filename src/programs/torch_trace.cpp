#include "programs/torch_trace.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "entries/entries.hpp"
#include "files/input.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/text.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

/// Shared memory per block without opting in to more, on every compute capability.
constexpr std::int64_t kDefaultSharedBytes = 48 * 1024;

/// The profiler rounds its estimate to whole percents.
constexpr double kRounding = 1;

using Parsed = nlohmann::json;

constexpr std::string_view kEvents = "traceEvents";
constexpr std::string_view kDevices = "deviceProperties";

/// Whether this key of an event, its args or a device is read.
bool is_read(const std::string& key) {
  static const std::vector<std::string_view> kKeys = split(
      "args,cat,dur,name,ts,block,context,device,grid,stream,registers per thread,shared memory,"
      "est. achieved occupancy %,computeMajor,computeMinor,id,numSms,warpSize",
      ',');
  return std::ranges::find(kKeys, key) != kKeys.end();
}

constexpr int kKernelLeftOut = -1;  ///< it still runs beside others

/// When a kernel, by its number, ran; longer than 0.
struct Ran {
  double begin_us;
  double end_us;
  int kernel;
};

/// @param beside_us  per kernel, increased by the time in which others ran too
void add_time_beside(std::span<const Ran> all, std::vector<double>& beside_us) {
  struct Edge {
    double at_us;
    bool begins;
    int kernel;
  };
  std::vector<Edge> edges;
  for (const Ran& each : all)
    edges.insert(edges.end(), {{each.begin_us, true, each.kernel}, {each.end_us, false, each.kernel}});
  // At the same time, ends come first.
  std::ranges::sort(edges, {}, [](const Edge& edge) { return std::pair(edge.at_us, edge.begins); });
  std::vector<int> running;
  double since_us = 0;
  for (const Edge& edge : edges) {
    const double us = edge.at_us - std::exchange(since_us, edge.at_us);
    if (running.size() > 1) {
      for (const int kernel : running)
        if (kernel >= 0) beside_us[static_cast<std::size_t>(kernel)] += us;
    }
    if (edge.begins) {
      running.push_back(edge.kernel);
    } else {
      running.erase(std::ranges::find(running, edge.kernel));
    }
  }
}

struct Collected {
  int number = 0;
  ProgramLaunches seen;
  TimeSample times;
  std::optional<double> estimate_pct;
};

std::optional<double> number_in(const Parsed& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text_in(const Parsed& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void note_number(const Parsed& object, const char* name, std::set<std::int64_t>& into) {
  const auto number = number_in(object, name);
  if (number && std::abs(*number) < 1e15) into.insert(static_cast<std::int64_t>(*number));
}

/// Empty if it is not three whole numbers in that range, or their product is not.
std::optional<Shape> extent_in(const Parsed& object, const char* name, double most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() != 3) return std::nullopt;
  if (!std::ranges::all_of(*found, &Parsed::is_number)) return std::nullopt;
  const auto sizes = found->get<std::vector<double>>();
  const auto is_size = [&](double size) { return size >= 1 && size <= most && size == std::floor(size); };
  if (!std::ranges::all_of(sizes, is_size) || sizes[0] * sizes[1] * sizes[2] > most) return std::nullopt;
  const auto whole = [](double size) { return static_cast<std::int64_t>(size); };
  return Shape{whole(sizes[0]), whole(sizes[1]), whole(sizes[2])};
}

/// Empty if the event describes no possible launch.
std::optional<ProgramKernel> kernel_of(const Parsed& event, const Parsed& args) {
  const auto grid = extent_in(args, "grid", kMostOfInt);
  const auto block = extent_in(args, "block", 1024);
  const double registers = number_in(args, "registers per thread").value_or(-1);
  const double shared = number_in(args, "shared memory").value_or(0);
  ProgramKernel kernel;
  kernel.name = text_in(event, "name");
  const bool possible = grid && block && !kernel.name.empty() && number_in(event, "dur").value_or(-1) >= 0 &&
                        registers >= 0 && registers <= 255 && shared >= 0 && shared <= kMostOfInt;
  if (!possible) return std::nullopt;
  kernel.grid = *grid;
  kernel.block = *block;
  kernel.registers_per_thread = static_cast<int>(registers);
  kernel.dynamic_shared_bytes = static_cast<std::int64_t>(shared);
  return kernel;
}

/// Makes launches from events as the parser reads them.
class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  /// @param depth  objects and arrays around what was read
  /// @returns whether the parser is to keep it: an event is dropped at its end
  bool take(int depth, Parsed::parse_event_t event, const Parsed& parsed) {
    switch (event) {
      case Parsed::parse_event_t::object_start:
      case Parsed::parse_event_t::array_start:
        if (depth == 0 && event == Parsed::parse_event_t::array_start)
          throw InputError(
              "{} is an array without \"{}\", which say what GPU it was: import the object that "
              "prof.export_chrome_trace writes",
              source_, kDevices);
        if (static_cast<std::size_t>(depth) >= kMaxJsonDepth) throw InputError("{} {}", source_, kTooDeep);
        return depth < 5;
      case Parsed::parse_event_t::key:
        if (depth > 1) return is_read(parsed.get<std::string>());
        section_ = parsed.get<std::string>();
        return section_ == kEvents || section_ == kDevices;
      case Parsed::parse_event_t::value:
        return depth > 2;
      default:
        if (depth != 2) return true;
        if (section_ == kEvents) add_event(parsed);
        if (section_ == kDevices) add_device(parsed);
        return false;
    }
  }

  TorchTrace finish();

 private:
  void add_event(const Parsed& event) {
    const std::string category = text_in(event, "cat");
    if (category != "kernel" && category != "Kernel") return;
    const Parsed args = event.value("args", Parsed());
    const int device = static_cast<int>(std::clamp(number_in(args, "device").value_or(0), 0.0, 1e6));
    const auto kernel = kernel_of(event, args);
    if (!kernel) {
      ++trace_.malformed;
      return add_span(device, event, kKernelLeftOut);
    }
    const double duration_us = *number_in(event, "dur");
    const auto [found, is_new] = collected_.try_emplace({device, *kernel});
    Collected& into = found->second;
    if (is_new) into.number = static_cast<int>(collected_.size()) - 1;
    add_span(device, event, into.number);
    ++into.seen.launches;
    into.seen.total_us += duration_us;
    into.times.add(duration_us);
    note_number(args, "context", into.seen.contexts);
    note_number(args, "stream", into.seen.streams);
    into.estimate_pct = number_in(args, "est. achieved occupancy %");
  }

  void add_span(int device, const Parsed& event, int kernel) {
    const auto begin_us = number_in(event, "ts");
    const double duration_us = number_in(event, "dur").value_or(-1);
    if (begin_us && std::isfinite(*begin_us + duration_us) && *begin_us + duration_us > *begin_us)
      ran_[device].push_back({*begin_us, *begin_us + duration_us, kernel});
  }

  void add_device(const Parsed& device) {
    const double index = number_in(device, "id").value_or(static_cast<double>(devices_.size()));
    devices_[static_cast<int>(std::clamp(index, 0.0, 1e6))] = device;
  }

  ProgramDevice device_of(int index) const;

  std::string source_;
  std::string section_;  ///< the key of the trace that is being read
  std::map<int, Parsed> devices_;
  std::map<std::pair<int, ProgramKernel>, Collected> collected_;
  std::map<int, std::vector<Ran>> ran_;  ///< by GPU
  TorchTrace trace_;
};

ProgramDevice Reader::device_of(int index) const {
  const auto found = devices_.find(index);
  if (found == devices_.end()) {
    throw InputError(
        "{} does not describe GPU {} (deviceProperties): record it with a PyTorch of 2.0 or later, whose "
        "profiler was on with ProfilerActivity.CUDA",
        source_, index);
  }
  const auto number = [&](const char* name) {
    return static_cast<int>(std::clamp(number_in(found->second, name).value_or(0), 0.0, 1e6));
  };
  if (number("warpSize") != 0 && number("warpSize") != 32) {
    throw InputError("{} is of {}, whose warps have {} threads: only NVIDIA GPUs are known", source_,
                     text_in(found->second, "name"), number("warpSize"));
  }
  const int sms = number("numSms");
  if (sms < 1 || sms > kMostSmsOfGpu) {
    throw InputError("{} says that GPU {} has {} SMs (numSms); a GPU has 1 to {}", source_, index, sms,
                     kMostSmsOfGpu);
  }
  return {text_in(found->second, "name"), "", index,
          to_string(ComputeCapability{number("computeMajor"), number("computeMinor")}), sms};
}

TorchTrace Reader::finish() {
  std::vector<double> beside_us(collected_.size());
  for (const auto& [device, all] : ran_) add_time_beside(all, beside_us);
  for (auto& [key, collected] : collected_) {
    TorchKernel kernel{{device_of(key.first), key.second, std::move(collected.seen)},
                       collected.estimate_pct,
                       beside_us[static_cast<std::size_t>(collected.number)]};
    kernel.entry.seen.timed = collected.times.seen();
    kernel.entry.seen.times_us = collected.times.kept();
    kernel.entry.seen.counters_status = CountersStatus::off;
    trace_.kernels.push_back(std::move(kernel));
  }
  std::ranges::stable_sort(trace_.kernels, std::ranges::greater(),
                           [](const TorchKernel& kernel) { return kernel.entry.seen.total_us; });
  return std::move(trace_);
}

/// The clock of each GPU of the trace, and a line about it.
void choose_clocks(TorchTrace& trace, const std::optional<double>& given, std::ostream& err) {
  std::set<std::string> said;
  for (TorchKernel& kernel : trace.kernels) {
    ProgramDevice& device = kernel.entry.device;
    const std::optional<double> highest = highest_clock_mhz(device.name);
    if (given && highest && *given > *highest)
      throw InputError("--clock-mhz {}: the highest SM clock of {} is {} MHz", *given, device.name, *highest);
    const std::optional<double> clock = given ? given : highest;
    device.highest_clock_mhz = clock.value_or(0);
    if (given || !said.insert(device.name).second) continue;
    if (clock) {
      fmt::print(err, "{}: the trace has no SM clock; {} MHz, the GPU's highest, is taken (--clock-mhz N)\n",
                 device.name, *clock);
    } else {
      fmt::print(err,
                 "{}: the trace has no SM clock, and this GPU's highest is not known: nothing is predicted "
                 "without --clock-mhz N\n",
                 device.name);
    }
  }
}

/// Texts about an estimate: for a row's note, and for all launches of a trace.
struct FaultText {
  std::string_view note, of_launches;
};

FaultText text_of(EstimateFault fault) {
  constexpr std::string_view kSpread =
      "is the grid's threads over those of all SMs, idle ones included, which no counter reads";
  // In the order of the enumerators.
  static constexpr FaultText kTexts[] = {
      {"", "is theoretical occupancy, not achieved: it knows no tail, no uneven blocks, no overhead"},
      {"is wrong: PyTorch's calculator allows no more than 48 KB of shared memory per block",
       "is 0, which is wrong: PyTorch's calculator allows no more than 48 KB of shared memory per block"},
      {kSpread, kSpread},
      {"is not theoretical occupancy", "is not theoretical occupancy for a reason that is not known"}};
  return kTexts[static_cast<std::size_t>(fault)];
}

void report_estimates(const std::map<EstimateFault, std::int64_t>& launches, std::ostream& err) {
  for (const EstimateFault fault : {EstimateFault::shared_memory, EstimateFault::spread_over_sms,
                                    EstimateFault::other, EstimateFault::none}) {
    if (const auto found = launches.find(fault); found != launches.end())
      fmt::print(err, "the trace's \"est. achieved occupancy %\" of {} {}\n",
                 counted(found->second, "launch", "es"), text_of(fault).of_launches);
  }
}

}  // namespace

TorchTrace parse_torch_trace(std::istream& text, std::string_view source) {
  Reader reader(source);
  try {
    [[maybe_unused]] const Parsed rest =
        Parsed::parse(text, [&](int depth, Parsed::parse_event_t event, const Parsed& parsed) {
          return reader.take(depth, event, parsed);
        });
  } catch (const Parsed::exception& error) {
    throw InputError("{} is not a whole JSON file: {}", source, error.what());
  }
  TorchTrace trace = reader.finish();
  if (trace.kernels.empty() && trace.malformed > 0)
    throw InputError(
        "{} has {}, and none with a name, a time, grid, block and registers that a launch can have", source,
        counted(trace.malformed, "event") + " of kernels");
  if (trace.kernels.empty()) {
    throw InputError(
        "{} has no kernels: export it with prof.export_chrome_trace from a torch.profiler that was on with "
        "ProfilerActivity.CUDA",
        source);
  }
  return trace;
}

TorchTrace read_torch_trace(const std::filesystem::path& file) {
  InputBuffer buffer(file);
  std::istream stream(&buffer);
  // The buffer's exceptions get through.
  stream.exceptions(std::ios::badbit);
  return parse_torch_trace(stream, file.string());
}

EstimateFault fault_of_estimate(const TorchKernel& kernel, const CaseRecord& record) {
  if (!kernel.estimate_pct || !record.theory) return EstimateFault::none;
  const double estimate = *kernel.estimate_pct;
  if (std::abs(estimate - record.theory->theoretical_pct) <= kRounding) return EstimateFault::none;
  const LaunchOnDevice on = launch_on_device(record);
  if (estimate == 0 && on.launch.dynamic_shared_bytes > kDefaultSharedBytes)
    return EstimateFault::shared_memory;
  const auto resident = static_cast<double>(record.theory->blocks_per_sm.value_or(0));
  const double blocks = static_cast<double>(on.launch.grid_blocks) / on.sm_count;
  const double spread =
      100 * std::min(blocks, resident) * on.launch.block_threads / on.limits.max_threads_per_sm();
  if (blocks < resident && std::abs(estimate - spread) <= kRounding) return EstimateFault::spread_over_sms;
  return EstimateFault::other;
}

std::string to_string(EstimateFault fault, double estimate_pct) {
  const std::string_view note = text_of(fault).note;
  if (note.empty()) return "";
  return fmt::format("the trace's est. achieved occupancy, {:.0f} %, {}", estimate_pct, note);
}

ProgramTable import_torch_trace(const ImportOptions& options, std::ostream& err) {
  TorchTrace trace = read_torch_trace(options.file);
  choose_clocks(trace, options.clock_mhz, err);
  if (trace.malformed > 0) {
    fmt::print(err, "{} of kernels left out of {}: no launch has such a grid, block, registers or time\n",
               counted(trace.malformed, "event"), options.file.string());
  }
  // With its folder, because ranks name their traces alike.
  const std::filesystem::path whole = std::filesystem::absolute(options.file).lexically_normal();
  const std::string name = whole.parent_path().filename() / whole.filename();
  ProgramTable table;
  for (const TorchKernel& kernel : trace.kernels) table.entries.push_back(kernel.entry);
  table.cases = program_cases(table.entries);
  std::map<EstimateFault, std::int64_t> estimates;
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    CaseRecord& record = table.cases[i];
    const TorchKernel& kernel = trace.kernels[i];
    record.provenance.host = name;
    add_note(record.note, "imported from " + name);
    if (kernel.entry.seen.total_us > 0)
      record.program.beside_pct = std::llround(100 * kernel.beside_us / kernel.entry.seen.total_us);
    if (record.program.beside_pct.value_or(0) >= kMostlyBesidePct)
      add_note(record.note,
               fmt::format("other kernels ran beside it for {} % of its time", *record.program.beside_pct));
    if (options.clock_mhz) record.readings.counters.sm_clock_mhz = options.clock_mhz;
    if (!kernel.estimate_pct || !record.theory) continue;
    const EstimateFault fault = fault_of_estimate(kernel, record);
    estimates[fault] += kernel.entry.seen.launches;
    add_note(record.note, to_string(fault, *kernel.estimate_pct));
  }
  report_estimates(estimates, err);
  return table;
}

}  // namespace occbench
