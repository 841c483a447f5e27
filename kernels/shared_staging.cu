#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"
#include "kernels/shared_staging.hpp"
#include "kernels/shared_staging_kernel.cuh"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

template <int... kBytes>
std::vector<Variant> shared_staging_variants(std::integer_sequence<int, kBytes...>) {
  static const std::array<std::string, sizeof...(kBytes)> names{"static_" + std::to_string(kBytes)...};
  std::size_t i = 0;
  return {make_variant("dynamic", shared_staging_kernel<0>),
          make_variant(names[i++], shared_staging_kernel<kBytes>)...};
}

template <std::size_t... kIndex>
std::vector<Variant> shared_staging_variants(std::index_sequence<kIndex...>) {
  return shared_staging_variants(std::integer_sequence<int, kSharedStagingStaticBytes[kIndex]...>());
}

const std::vector<Variant> kSharedStagingVariants =
    shared_staging_variants(std::make_index_sequence<std::size(kSharedStagingStaticBytes)>());

std::uint32_t static_bytes_of(std::string_view variant) {
  for (std::size_t i = 0; i < std::size(kSharedStagingStaticBytes); ++i) {
    if (kSharedStagingVariants[i + 1].name == variant)
      return static_cast<std::uint32_t>(kSharedStagingStaticBytes[i]);
  }
  return 0;
}

class PreparedSharedStaging final : public Prepared {
 public:
  PreparedSharedStaging(std::int64_t static_bytes, const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        static_words_(static_cast<std::uint32_t>(static_bytes) / sizeof(std::uint32_t)),
        dynamic_words_(static_cast<std::uint32_t>(launch_.dynamic_shared_bytes) / sizeof(std::uint32_t)),
        source_(random_words(kSourceWords)),
        device_source_(std::span<const std::uint32_t>(source_)),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    cycles_ = static_cast<std::uint32_t>(chosen.work.value().cycles_of(0, 1));
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const SharedStagingArguments arguments{device_source_.data(), dynamic_words_, cycles_, sums_.data()};
    launch_kernel(function_, launch_, stream, arguments);
  }

  Check check(cudaStream_t stream) override {
    const std::vector<std::uint32_t> sums = result_of_launch(*this, stream, sums_);
    std::vector<std::uint32_t> reference(sums.size());
    for (std::int64_t block = 0; block < launch_.grid_blocks; ++block) {
      std::uint32_t* const threads = &reference[static_cast<std::size_t>(block * launch_.block_threads)];
      add_sums(threads, static_cast<std::uint32_t>(block), 0, static_words_);
      add_sums(threads, static_cast<std::uint32_t>(block), static_words_, dynamic_words_);
    }
    return sums == reference ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(launch_.grid_blocks) * warps_of_block(launch_.block_threads) * cycles_,
            "warp-cycles"};
  }

 private:
  /// Adds each thread's sum of `words` words that were filled from the source's word `first` on.
  void add_sums(std::uint32_t* threads, std::uint32_t block, std::uint32_t first, std::uint32_t words) const {
    std::uint32_t thread = 0;
    for (std::uint32_t i = 0; i < words; ++i) {
      threads[thread] += source_[(block * kBlockStride + first + words - 1 - i) % kSourceWords];
      if (++thread == static_cast<std::uint32_t>(launch_.block_threads)) thread = 0;
    }
  }

  const void* function_;
  Launch launch_;
  std::uint32_t static_words_;
  std::uint32_t dynamic_words_;
  std::vector<std::uint32_t> source_;
  DeviceBuffer<std::uint32_t> device_source_;
  DeviceBuffer<std::uint32_t> sums_;
  std::uint32_t cycles_ = 0;
};

std::unique_ptr<Prepared> prepare_compiled_staging(const Case& chosen, const Variant& variant,
                                                   const Device&) {
  return prepare_shared_staging(static_bytes_of(variant.name), chosen, variant);
}

}  // namespace

std::unique_ptr<Prepared> prepare_shared_staging(std::int64_t static_bytes, const Case& chosen,
                                                 const Variant& variant) {
  return std::make_unique<PreparedSharedStaging>(static_bytes, chosen, variant);
}

std::string_view shared_staging_variant(int static_bytes) {
  for (std::size_t i = 0; i < std::size(kSharedStagingStaticBytes); ++i) {
    if (kSharedStagingStaticBytes[i] == static_bytes) return kSharedStagingVariants[i + 1].name;
  }
  throw std::out_of_range("staged has no variant of " + std::to_string(static_bytes) + " bytes");
}

const Kernel kSharedStaging{"shared_staging",
                            "each block fills its shared memory and stays for its cycles",
                            kSharedStagingVariants,
                            prepare_compiled_staging,
                            /*warp_records_agree_with_counter=*/false,
                            kPollCyclesPerWarp};

}  // namespace occbench
