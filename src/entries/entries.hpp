#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace occbench {

// The file that the injected library writes in a traced process: flat entries, one after another, which only grow in number. A process that
// is killed leaves at most one torn entry, at the end. Numbers are in the writing machine's format.

/// A file begins with this: format and version. A file of another version is not read.
inline constexpr std::string_view kEntriesMagic{"occbench entries 3\n\0\0\0\0\0", 24};

/// Bytes of one entry, head included. Longer texts are written in pieces.
inline constexpr std::size_t kMostEntryBytes = 512;

enum class EntryKind : std::uint16_t {
  process = 1,   ///< ProcessFacts
  metric = 2,    ///< number: place of its values in readings; text: CUPTI's name of it
  device = 3,    ///< number: CUDA's in this process; DeviceFacts
  counting = 4,  ///< number: of the device, other: a CountersStatus; text: why nothing is counted any more
  name = 5,      ///< number: of the name, other: the text's offset in it
  kernel = 6,    ///< number: of the kernel; KernelFacts
  totals = 7,    ///< number: of the kernel; LaunchTotals
  places = 8,    ///< number: of the kernel, other: a PlaceKind; numbers of 64 bits
  times =
      9,  ///< number: of the kernel; times of records in ns, as float: exact below 16.7 ms, else to 0.06 ppm
  reading = 10,  ///< number: of the kernel; counter values of one launch, as double: one per metric
  sampled = 12,  ///< number: of the kernel; SampledTotals
  sampled_pcts =
      13,  ///< number: of the kernel; achieved occupancy of single sampled launches, in %, as float
  sampled_times = 15,  ///< number: of the kernel; active times of single sampled launches, in ns, as float
  windows = 14,        ///< number: of the device; WindowTotals
};

struct EntryHead {
  std::uint32_t bytes = 0;  ///< of the entry, without zero padding to a multiple of 8
  EntryKind kind{};
  std::uint16_t unused = 0;
  std::uint32_t number = 0;
  std::uint32_t other = 0;
};

struct ProcessFacts {
  std::int32_t process = 0;
  std::uint32_t has_records = 1;  ///< whether CUPTI recorded all kernels here
};

/// A GPU, as the driver describes it.
struct DeviceFacts {
  std::int32_t compute_capability_major = 0;
  std::int32_t compute_capability_minor = 0;
  std::int32_t sm_count = 0;
  std::int32_t highest_clock_khz = 0;  ///< of the SMs; 0 = not known
  std::int32_t threads_per_sm = 0;
  std::int32_t unused = 0;
  std::array<char, 48> uuid{};   ///< as nvidia-smi writes it, padded with zeros
  std::array<char, 128> name{};  ///< padded with zeros
};

using EntryExtent = std::array<std::uint32_t, 3>;

/// A kernel and how it is launched. A later entry with its number replaces an earlier one.
struct KernelFacts {
  std::uint32_t device = 0;
  std::uint32_t name = 0;
  EntryExtent grid{1, 1, 1};
  EntryExtent block{1, 1, 1};
  EntryExtent cluster{1, 1, 1};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0;
  std::int32_t carveout_pct = -1;  ///< -1 = the driver's default
  std::uint32_t region = 0;        ///< 1 + the number of its name; 0 = none, or regions are not told apart

  bool operator==(const KernelFacts&) const = default;
};

/// Why no launch of a kernel was counted.
enum class Uncounted : std::uint64_t {
  unknown,
  left_out,        ///< the user wants others
  waits_for_gpus,  ///< a kernel of NCCL or NVSHMEM
  second_context,
  while_capturing,
  warm_up,
  failed,  ///< tried, and the driver refused it or CUPTI could not
  beyond_budget,
};

/// Launches of a kernel so far. A later entry with its number replaces an earlier one.
struct LaunchTotals {
  std::int64_t launched =
      0;  ///< accepted by the driver outside of captures; 0 if the library did not follow launches
  std::int64_t recorded = 0;    ///< with a record
  std::int64_t unrecorded = 0;  ///< counted without a record on purpose, or whose record cannot be true
  std::int64_t timed = 0;       ///< recorded and not counted
  std::int64_t of_graphs = 0;   ///< with a record, and made by a CUDA graph
  std::int64_t launched_by_graphs = 0;  ///< of those launched
  std::uint64_t total_ns = 0;           ///< of all recorded ones
  Uncounted uncounted{};                ///< if there is no reading

  bool operator==(const LaunchTotals&) const = default;
};

/// Launches of a kernel with their own samples, and sums over these. A later entry replaces an earlier one.
struct SampledTotals {
  std::int64_t launches = 0;
  std::int64_t samples = 0;
  double warp_cycles = 0;             ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;           ///< summed over SMs
  double longest_cycles = 0;          ///< of the SM with most active cycles in each sample
  double active_ns = 0;               ///< time in which an SM had a warp of them
  std::int64_t samples_of_units = 0;  ///< that also have the two below
  double tensor_cycles = 0;           ///< in which the tensor pipe worked, mean over SMs
  double dram_busy_ns = 0;            ///< that device memory's work takes at its peak

  SampledTotals& operator+=(const SampledTotals& other) {
    launches += other.launches;
    samples += other.samples;
    warp_cycles += other.warp_cycles;
    active_cycles += other.active_cycles;
    longest_cycles += other.longest_cycles;
    active_ns += other.active_ns;
    samples_of_units += other.samples_of_units;
    tensor_cycles += other.tensor_cycles;
    dram_busy_ns += other.dram_busy_ns;
    return *this;
  }
  bool operator==(const SampledTotals&) const = default;
};

/// Windows in which a GPU was sampled. A later entry replaces an earlier one.
struct WindowTotals {
  std::int64_t windows = 0;
  std::int64_t thrown_away = 0;  ///< with active time and without an attributed launch
  double attributed_ns = 0;      ///< active time of attributed launches
  double unattributed_ns = 0;    ///< other active time, except launches cut by windows' ends

  WindowTotals& operator+=(const WindowTotals& other) {
    windows += other.windows;
    thrown_away += other.thrown_away;
    attributed_ns += other.attributed_ns;
    unattributed_ns += other.unattributed_ns;
    return *this;
  }
};

/// Kinds of numbers in a `places` entry. Those of regions are numbers of `name` entries.
enum class PlaceKind : std::uint32_t { context, stream, graph_node, region };
inline constexpr std::size_t kPlaceKinds = 4;

/// Most numbers of one kind that are kept per kernel: more than a row names.
inline constexpr std::size_t kMostPlaces = 9;

/// Appends an entry. @param payload at most what kMostEntryBytes leaves
void append_entry(std::string& file, EntryKind kind, std::uint32_t number, std::uint32_t other,
                  std::span<const std::byte> payload);

template <typename Facts>
void append_facts(std::string& file, EntryKind kind, std::uint32_t number, const Facts& facts,
                  std::uint32_t other = 0) {
  static_assert(std::is_trivially_copyable_v<Facts> && sizeof(Facts) + sizeof(EntryHead) <= kMostEntryBytes);
  append_entry(file, kind, number, other, std::as_bytes(std::span(&facts, 1)));
}

/// A text in pieces, or cut to the length of one if `kind` has no room for more.
void append_text(std::string& file, EntryKind kind, std::uint32_t number, std::string_view text);
void append_cut_text(std::string& file, EntryKind kind, std::uint32_t number, std::uint32_t other,
                     std::string_view text);

/// An entry that was read. The payload lives as long as the file's bytes.
struct EntryView {
  EntryHead head;
  std::string_view payload;

  /// @returns false if the payload is shorter than these facts
  template <typename Facts>
  bool read(Facts& facts) const {
    static_assert(std::is_trivially_copyable_v<Facts>);
    if (payload.size() < sizeof facts) return false;
    std::memcpy(&facts, payload.data(), sizeof facts);
    return true;
  }
  /// As many whole values as there are.
  template <typename Value>
  std::vector<Value> values() const {
    std::vector<Value> result(payload.size() / sizeof(Value));
    if (!result.empty()) std::memcpy(result.data(), payload.data(), result.size() * sizeof(Value));
    return result;
  }
};

/// Visits each whole entry in order, and stops at a torn one. @returns whether the file begins with kEntriesMagic
bool for_each_entry(std::string_view file, const std::function<void(const EntryView&)>& visit);

/// A uniform sample of a stream of times, large enough for a median and a test (Vitter's algorithm R). It is drawn alike in every run.
class TimeSample {
 public:
  static constexpr std::size_t kMost = 101;

  /// @returns whether it was kept
  bool add(double time) {
    ++seen_;
    if (kept_.size() < kMost) {
      kept_.push_back(time);
      return true;
    }
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
    const std::uint64_t place = (random_ >> 11) % static_cast<std::uint64_t>(seen_);
    if (place < kMost) kept_[place] = time;
    return place < kMost;
  }

  const std::vector<double>& kept() const {
    return kept_;
  }
  std::int64_t seen() const {
    return seen_;
  }

 private:
  std::vector<double> kept_;
  std::int64_t seen_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace occbench
