#include "programs/torch_trace.hpp"

#include <algorithm>
#include <cmath>
#include <istream>
#include <map>
#include <set>
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

/// As the column sm_count.
constexpr int kMostSms = 1024;

/// The profiler rounds its estimate to whole percents.
constexpr double kRounding = 1;

/// An event of the trace, as far as one of a kernel needs it.
struct Event {
  std::string category;
  std::string name;
  std::optional<double> duration_us;
  std::map<std::string, double, std::less<>> numbers;  ///< of its args
  std::vector<double> grid;
  std::vector<double> block;
};

struct TorchDevice {
  std::string name;
  std::map<std::string, double, std::less<>> numbers;
};

struct Collected {
  ProgramLaunches seen;
  TimeSample times;
  std::optional<double> estimate_pct;
};

std::optional<double> number_in(const std::map<std::string, double, std::less<>>& numbers,
                                std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

void note_number(const std::map<std::string, double, std::less<>>& numbers, std::string_view name,
                 std::set<std::int64_t>& into) {
  const auto number = number_in(numbers, name);
  if (number && std::abs(*number) < 1e15) into.insert(static_cast<std::int64_t>(*number));
}

/// Empty where it is not three whole numbers in that range, or their product is not.
std::optional<Shape> extent_of(const std::vector<double>& sizes, double most) {
  const auto is_size = [&](double size) { return size >= 1 && size <= most && size == std::floor(size); };
  if (sizes.size() != 3 || !std::ranges::all_of(sizes, is_size)) return std::nullopt;
  if (sizes[0] * sizes[1] * sizes[2] > most) return std::nullopt;
  const auto whole = [](double size) { return static_cast<std::int64_t>(size); };
  return Shape{whole(sizes[0]), whole(sizes[1]), whole(sizes[2])};
}

/// Empty where the event says nothing that a launch can be.
std::optional<ProgramKernel> kernel_of(const Event& event) {
  const auto grid = extent_of(event.grid, 2147483647);
  const auto block = extent_of(event.block, 1024);
  const double registers = number_in(event.numbers, "registers per thread").value_or(-1);
  const double shared = number_in(event.numbers, "shared memory").value_or(0);
  const bool possible = grid && block && !event.name.empty() && event.duration_us &&
                        *event.duration_us >= 0 && registers >= 0 && registers <= 255 && shared >= 0 &&
                        shared <= 2147483647;
  if (!possible) return std::nullopt;
  ProgramKernel kernel;
  kernel.name = event.name;
  kernel.grid = *grid;
  kernel.block = *block;
  kernel.registers_per_thread = static_cast<int>(registers);
  kernel.dynamic_shared_bytes = static_cast<std::int64_t>(shared);
  return kernel;
}

/// What the parser tells piece by piece becomes events, and events of kernels launches.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  bool key(string_t& text) override {
    path_.back() = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override {
    if (path_.size() == kMaxJsonDepth) throw InputError("{} {}", source_, kTooDeep);
    path_.emplace_back();
    return true;
  }
  bool start_array(std::size_t) override {
    return start_object(0);
  }
  bool end_object() override {
    path_.pop_back();
    if (path_.size() == 2 && path_[0] == "traceEvents") end_event();
    if (path_.size() == 2 && path_[0] == "deviceProperties") end_device();
    return true;
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool string(string_t& text) override {
    if (path_.size() != 3) return true;
    if (path_[0] == "traceEvents" && path_[2] == "cat") event_.category = std::move(text);
    if (path_[0] == "traceEvents" && path_[2] == "name") event_.name = std::move(text);
    if (path_[0] == "deviceProperties" && path_[2] == "name") device_.name = std::move(text);
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return number(value);
  }
  bool null() override {
    return true;
  }
  bool boolean(bool) override {
    return true;
  }
  bool binary(binary_t&) override {
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    throw InputError("{} is not a whole JSON file: {} (byte {})", source_, error.what(), position);
  }

  TorchTrace finish();

 private:
  bool number(double value) {
    const bool of_event = path_.size() > 2 && path_[0] == "traceEvents";
    if (of_event && path_.size() == 3 && path_[2] == "dur") event_.duration_us = value;
    if (of_event && path_.size() == 4 && path_[2] == "args") event_.numbers[path_[3]] = value;
    if (of_event && path_.size() == 5 && path_[3] == "grid") event_.grid.push_back(value);
    if (of_event && path_.size() == 5 && path_[3] == "block") event_.block.push_back(value);
    if (path_.size() == 3 && path_[0] == "deviceProperties") device_.numbers[path_[2]] = value;
    return true;
  }

  void end_event() {
    const Event event = std::exchange(event_, {});
    if (event.category != "kernel" && event.category != "Kernel") return;
    const auto kernel = kernel_of(event);
    if (!kernel) {
      ++trace_.malformed;
      return;
    }
    ++trace_.launches;
    const int device = static_cast<int>(std::clamp(number_in(event.numbers, "device").value_or(0), 0.0, 1e6));
    Collected& into = collected_[{device, *kernel}];
    ++into.seen.launches;
    into.seen.total_us += *event.duration_us;
    into.times.add(*event.duration_us);
    note_number(event.numbers, "context", into.seen.contexts);
    note_number(event.numbers, "stream", into.seen.streams);
    into.estimate_pct = number_in(event.numbers, "est. achieved occupancy %");
  }

  void end_device() {
    const TorchDevice device = std::exchange(device_, {});
    const double index = number_in(device.numbers, "id").value_or(static_cast<double>(devices_.size()));
    devices_[static_cast<int>(std::clamp(index, 0.0, 1e6))] = device;
  }

  ProgramDevice device_of(int index) const;

  std::string source_;
  /// Of what is being read: keys of objects, and nothing for arrays.
  std::vector<std::string> path_;
  Event event_;
  TorchDevice device_;
  std::map<int, TorchDevice> devices_;
  std::map<std::pair<int, ProgramKernel>, Collected> collected_;
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
  const auto number = [&](std::string_view name) {
    return static_cast<int>(std::clamp(number_in(found->second.numbers, name).value_or(0), 0.0, 1e6));
  };
  if (number("warpSize") != 0 && number("warpSize") != 32) {
    throw InputError("{} is of {}, whose warps have {} threads: only NVIDIA GPUs are known", source_,
                     found->second.name, number("warpSize"));
  }
  const int sms = number("numSms");
  if (sms < 1 || sms > kMostSms) {
    throw InputError("{} says that GPU {} has {} SMs (numSms); a GPU has 1 to {}", source_, index, sms,
                     kMostSms);
  }
  return {found->second.name, "", index,
          to_string(ComputeCapability{number("computeMajor"), number("computeMinor")}), sms};
}

TorchTrace Reader::finish() {
  for (auto& [key, collected] : collected_) {
    TorchKernel kernel{{device_of(key.first), key.second, std::move(collected.seen)}, collected.estimate_pct};
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

/// What is said of an estimate: in the note of a row, and of all launches of a trace.
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
  nlohmann::json::sax_parse(text, &reader);
  TorchTrace trace = reader.finish();
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
  // What the buffer throws is to be seen.
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
    fmt::print(err, "{} of {} is left out: no launch has such a grid, block or time\n",
               counted(trace.malformed, "event"), options.file.string());
  }
  ProgramTable table;
  for (const TorchKernel& kernel : trace.kernels) table.entries.push_back(kernel.entry);
  table.cases = program_cases(table.entries);
  std::map<EstimateFault, std::int64_t> estimates;
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    CaseRecord& record = table.cases[i];
    const TorchKernel& kernel = trace.kernels[i];
    add_note(record.note, fmt::format("imported from {}", options.file.filename().string()));
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
