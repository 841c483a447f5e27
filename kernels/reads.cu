#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/reads.hpp"
#include "kernels/reads_kernel.cuh"
#include "kernels/result_of_launch.hpp"
#include "occupancy/warps.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench {
namespace {

/// The buffer repeats this many random words.
constexpr std::size_t kTileWords = 1U << 20;

/// One variant with everything known before it runs.
struct ReadsBuild {
  int bytes;
  int in_flight;
  std::string name;
  void (*function)(ReadsArguments);
};

template <typename Words, std::size_t... kIndex>
void add_builds(std::vector<ReadsBuild>& builds, std::index_sequence<kIndex...>) {
  constexpr int kBytes = sizeof(Words);
  (builds.push_back(
       {kBytes, kReadsInFlight[kIndex],
        "bytes_" + std::to_string(kBytes) + "_in_flight_" + std::to_string(kReadsInFlight[kIndex]),
        reads_kernel<Words, kReadsInFlight[kIndex]>}),
   ...);
}

const std::vector<ReadsBuild>& reads_builds() {
  static const auto all = [] {
    constexpr auto kIndices = std::make_index_sequence<std::size(kReadsInFlight)>();
    std::vector<ReadsBuild> every;
    add_builds<std::uint32_t>(every, kIndices);
    add_builds<uint2>(every, kIndices);
    add_builds<uint4>(every, kIndices);
    return every;
  }();
  return all;
}

constexpr std::string_view kCopy = "copy";

const std::vector<Variant> kReadsVariants = [] {
  std::vector<Variant> variants;
  for (const ReadsBuild& build : reads_builds()) variants.push_back(make_variant(build.name, build.function));
  variants.push_back({kCopy, nullptr});
  return variants;
}();

/// Words in `bytes` bytes, rounded up to whole tiles.
std::size_t whole_tiles(std::size_t bytes) {
  constexpr std::size_t kTileBytes = kTileWords * sizeof(std::uint32_t);
  return (bytes + kTileBytes - 1) / kTileBytes * kTileWords;
}

/// Parts of equal size; each launch uses the next one. There are enough that a part has left L2 when it is
/// used again; two if the case is small and its time does not matter.
class RotatingBuffer {
 public:
  RotatingBuffer(std::size_t part_bytes, const Case& chosen, const Device& device)
      : tile_(random_words(kTileWords)),
        part_words_(whole_tiles(part_bytes)),
        parts_(2 + (chosen.small ? 0 : kL2Times * device.l2_bytes / (part_words_ * sizeof(std::uint32_t)))),
        words_(part_words_ * parts_) {
    check(cudaMemcpy(words_.data(), tile_.data(), kTileWords * sizeof(std::uint32_t), cudaMemcpyHostToDevice),
          "cudaMemcpy to device");
    for (std::size_t filled = kTileWords; filled < words_.size(); filled *= 2) {
      const std::size_t count = std::min(filled, words_.size() - filled);
      check(cudaMemcpy(words_.data() + filled, words_.data(), count * sizeof(std::uint32_t),
                       cudaMemcpyDeviceToDevice),
            "cudaMemcpy on the device");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  std::uint32_t* next_part() {
    turn_ = (turn_ + 1) % parts_;
    return words_.data() + turn_ * part_words_;
  }
  const std::vector<std::uint32_t>& tile() const {
    return tile_;
  }

  /// Sum of the first `count` words of any part.
  std::uint32_t sum_of_first(std::size_t count) const {
    const auto sum = [&](std::size_t words) {
      std::uint32_t total = 0;
      for (std::size_t i = 0; i < words; ++i) total += tile_[i];
      return total;
    };
    return static_cast<std::uint32_t>(count / kTileWords) * sum(kTileWords) + sum(count % kTileWords);
  }

 private:
  static constexpr std::size_t kL2Times = 4;

  std::vector<std::uint32_t> tile_;
  std::size_t part_words_;
  std::size_t parts_;
  DeviceBuffer<std::uint32_t> words_;
  std::size_t turn_ = 0;
};

class PreparedReads final : public Prepared {
 public:
  PreparedReads(const Case& chosen, int bytes, int in_flight, const Variant& variant, const Device& device)
      : function_(variant.function),
        launch_(chosen.launch),
        waits_(std::max<std::int64_t>(
            1, std::llround(chosen.work.value().cycles / reads_work(bytes, in_flight, 1).cycles))),
        bytes_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads * waits_ * in_flight *
                                        bytes)),
        source_(bytes_, chosen, device),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, ReadsArguments{source_.next_part(), waits_, sums_.data()});
  }

  Check check(cudaStream_t stream) override {
    std::uint32_t total = 0;
    for (const std::uint32_t sum : result_of_launch(*this, stream, sums_)) total += sum;
    return total == source_.sum_of_first(bytes_ / sizeof(std::uint32_t)) ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(bytes_), "bytes"};
  }

 private:
  const void* function_;
  Launch launch_;
  std::int64_t waits_;
  std::size_t bytes_;
  RotatingBuffer source_;
  DeviceBuffer<std::uint32_t> sums_;
};

/// Each launch copies the first half of a part to its second half.
class PreparedCopy final : public Prepared {
 public:
  PreparedCopy(const Case& chosen, const Device& device)
      : words_(whole_tiles(chosen.small ? 1 : static_cast<std::size_t>(chosen.extent))),
        buffer_(2 * bytes(), chosen, device) {}

  void launch(cudaStream_t stream) override {
    copy(buffer_.next_part(), stream);
  }

  /// Checks the first and the last tile.
  Check check(cudaStream_t stream) override {
    std::uint32_t* const source = buffer_.next_part();
    occbench::check(cudaMemsetAsync(source + words_, 0xff, bytes(), stream), "cudaMemsetAsync");
    copy(source, stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const bool same = is_tile(source + words_) && is_tile(source + 2 * words_ - kTileWords);
    return same ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {2.0 * static_cast<double>(bytes()), "bytes"};
  }

 private:
  std::size_t bytes() const {
    return words_ * sizeof(std::uint32_t);
  }

  void copy(std::uint32_t* source, cudaStream_t stream) {
    occbench::check(cudaMemcpyAsync(source + words_, source, bytes(), cudaMemcpyDeviceToDevice, stream),
                    "cudaMemcpyAsync on the device");
  }

  bool is_tile(const std::uint32_t* words) const {
    std::vector<std::uint32_t> copied(kTileWords);
    occbench::check(
        cudaMemcpy(copied.data(), words, kTileWords * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
        "cudaMemcpy to host");
    return copied == buffer_.tile();
  }

  std::size_t words_;
  RotatingBuffer buffer_;
};

std::unique_ptr<Prepared> prepare_compiled_reads(const Case& chosen, const Variant& variant,
                                                 const Device& device) {
  if (variant.name == kCopy) return std::make_unique<PreparedCopy>(chosen, device);
  const auto build = std::ranges::find(reads_builds(), variant.name, &ReadsBuild::name);
  return prepare_reads(build->bytes, build->in_flight, chosen, variant, device);
}

}  // namespace

std::unique_ptr<Prepared> prepare_reads(int bytes, int in_flight, const Case& chosen, const Variant& variant,
                                        const Device& device) {
  return std::make_unique<PreparedReads>(chosen, bytes, in_flight, variant, device);
}

std::string_view reads_variant(int bytes, int in_flight) {
  for (const ReadsBuild& build : reads_builds()) {
    if (build.bytes == bytes && build.in_flight == in_flight) return build.name;
  }
  throw std::out_of_range("reads has no variant of " + std::to_string(bytes) + " bytes and " +
                          std::to_string(in_flight) + " in flight");
}

std::int64_t most_waits(const Device& device, const Launch& launch, int bytes, int in_flight, int l2_times) {
  const std::int64_t bytes_of_wait = launch.grid_blocks * launch.block_threads * bytes * in_flight;
  return std::max<std::int64_t>(1, l2_times * static_cast<std::int64_t>(device.l2_bytes) / bytes_of_wait);
}

Work reads_work(int bytes, int in_flight, std::int64_t waits) {
  const auto cost = [](std::string_view name) { return kernel_cost("reads", name); };
  const auto count = static_cast<double>(waits);
  const double slots = in_flight * (cost("slots_per_load") + bytes / 4) + cost("slots_per_wait");
  const double latency = cost("read_cycles") + cost("cycles_per_doubling") * std::log2(in_flight);
  return {.cycles = count * (latency + slots),
          .issue_slots = count * slots,
          .bytes = count * in_flight * bytes * kThreadsPerWarp};
}

const Kernel kReads{"reads", "reads of device memory, so many under way at once", kReadsVariants,
                    prepare_compiled_reads};

}  // namespace occbench
