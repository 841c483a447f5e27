#include <algorithm>
#include <cstdint>
#include <vector>

#include <cuda/atomic>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/data_race.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

template <RaceForm form>
__device__ void add_one(std::uint32_t* total) {
  if constexpr (form == RaceForm::plain) {
    *total = *total + 1;
  } else {
    const cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> atomic(*total);
    if constexpr (form == RaceForm::relaxed) {
      atomic.store(atomic.load(cuda::memory_order_relaxed) + 1, cuda::memory_order_relaxed);
    } else {
      atomic.fetch_add(1, cuda::memory_order_relaxed);
    }
  }
}

template <RaceForm form, RaceAdders adders>
__global__ void data_race_kernel(std::uint32_t* total) {
  if (adders == RaceAdders::thread || threadIdx.x == 0) add_one<form>(total);
}

struct DataRaceBuild {
  std::string_view name;
  RaceForm form;
  RaceAdders adders;
  void (*function)(std::uint32_t*);
};

template <RaceForm form, RaceAdders adders>
constexpr DataRaceBuild data_race_build(std::string_view name) {
  return {name, form, adders, data_race_kernel<form, adders>};
}

constexpr DataRaceBuild kDataRaceBuilds[] = {
    data_race_build<RaceForm::plain, RaceAdders::thread>("plain_thread"),
    data_race_build<RaceForm::plain, RaceAdders::block>("plain_block"),
    data_race_build<RaceForm::relaxed, RaceAdders::thread>("relaxed_thread"),
    data_race_build<RaceForm::relaxed, RaceAdders::block>("relaxed_block"),
    data_race_build<RaceForm::atomic, RaceAdders::thread>("atomic_thread"),
    data_race_build<RaceForm::atomic, RaceAdders::block>("atomic_block")};

const std::vector<Variant> kDataRaceVariants = [] {
  std::vector<Variant> variants;
  for (const DataRaceBuild& build : kDataRaceBuilds)
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

class PreparedDataRace final : public Prepared {
 public:
  PreparedDataRace(const Case& chosen, const DataRaceBuild& build, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        may_lose_(build.form != RaceForm::atomic),
        updates_(build.adders == RaceAdders::thread ? launch_.grid_blocks * launch_.block_threads
                                                    : launch_.grid_blocks),
        total_(1) {
    total_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, total_.data());
  }

  /// The total is at least one update and at most all of them.
  Check check(cudaStream_t stream) override {
    const std::int64_t found = updates_found(stream);
    if (found == updates_) return Check::ok;
    return may_lose_ && found > 0 && found < updates_ ? Check::lost_updates : Check::wrong;
  }

  std::optional<double> lost_updates_pct(cudaStream_t stream) override {
    return 100 * static_cast<double>(updates_ - updates_found(stream)) / static_cast<double>(updates_);
  }

  Amount useful() const override {
    return {static_cast<double>(updates_), "updates"};
  }

 private:
  std::int64_t updates_found(cudaStream_t stream) {
    return result_of_launch(*this, stream, total_, 0).front();
  }

  const void* function_;
  Launch launch_;
  bool may_lose_;
  std::int64_t updates_;
  DeviceBuffer<std::uint32_t> total_;
};

std::unique_ptr<Prepared> prepare_data_race(const Case& chosen, const Variant& variant, const Device&) {
  const auto build = std::ranges::find(kDataRaceBuilds, variant.name, &DataRaceBuild::name);
  return std::make_unique<PreparedDataRace>(chosen, *build, variant);
}

}  // namespace

std::string_view to_string(RaceForm form) {
  switch (form) {
    case RaceForm::plain:
      return "plain";
    case RaceForm::relaxed:
      return "relaxed";
    case RaceForm::atomic:
      return "atomic";
  }
  return "";
}

std::string_view to_string(RaceAdders adders) {
  return adders == RaceAdders::thread ? "thread" : "block";
}

std::string_view data_race_variant(RaceForm form, RaceAdders adders) {
  return std::ranges::find_if(
             kDataRaceBuilds,
             [=](const DataRaceBuild& build) { return build.form == form && build.adders == adders; })
      ->name;
}

const Kernel kDataRace{"data_race", "threads add to one counter with and without an atomic",
                       kDataRaceVariants, prepare_data_race};

}  // namespace occbench
