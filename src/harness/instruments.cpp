#include "harness/instruments.hpp"

#include <utility>

#include "gpu/error.hpp"
#include "gpu/first_gpc.hpp"
#include "gpu/launch_timer.hpp"
#include "measure/pm_sampling.hpp"

namespace occbench {
namespace {

class GpuInstruments final : public Instruments {
 public:
  GpuInstruments(const Device& device, int readings)
      : device_(device), readings_(readings), monitor_(device.uuid), flush_(device.l2_bytes) {}

  Compiled inspect(const Variant& variant) override {
    return occbench::inspect(variant);
  }

  cudaStream_t stream() override {
    return timer_.stream().get();
  }

  void synchronize() override {
    timer_.stream().synchronize();
  }

  double microseconds(const std::function<void(cudaStream_t)>& queue, bool cold) override {
    find_first_gpc();  // waits for the device, which is not allowed once the stream is blocked
    return timer_.microseconds(queue, [&](cudaStream_t stream) { queue_before(stream, cold); });
  }

  void make_ready(bool cold) override {
    find_first_gpc();
    queue_before(stream(), cold);
    synchronize();
  }

  std::optional<int> take_first_gpc() override {
    if (!first_gpc_ || !first_gpc_->can_set()) return std::nullopt;
    const unsigned missed = first_gpc_->missed();
    return std::exchange(missed_, missed) == missed ? std::optional(0) : std::nullopt;
  }

  void set_up_counters(const std::vector<std::string>& metrics) override {
    find_first_gpc();
    count(metrics, [&] { make_ready(false); }, {});
  }

  CounterReadings count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                        const std::function<void()>& before) override {
    try {
      if (!counters_) counters_.emplace(device_, readings_);
      return counters_->read(metrics, launch, before);
    } catch (...) {
      counters_.reset();
      throw;
    }
  }

  ActivitySamples sample(double expected_us, const std::function<void()>& launch) override {
    // Each reports that the hardware is busy while the other has it.
    counters_.reset();
    return sample_launch(device_, expected_us, launch);
  }

  GpuCondition condition() override {
    return monitor_.condition();
  }

  std::string gpu_settings() override {
    return monitor_.settings();
  }

  MetricCatalog metric_catalog() override {
    return MetricCatalog(device_);
  }

  bool context_is_lost() override {
    return occbench::context_is_lost();
  }

 private:
  /// Only before a measurement, because other profilers and sanitizers must see only the cases.
  void find_first_gpc() {
    if (!first_gpc_) first_gpc_.emplace(device_);
  }

  /// The flush comes first, because it may itself be a launch whose blocks wait for room.
  void queue_before(cudaStream_t stream, bool cold) {
    if (cold) flush_.queue(stream);
    first_gpc_->queue(stream);
  }

  Device device_;
  int readings_;
  GpuMonitor monitor_;
  LaunchTimer timer_;
  L2Flush flush_;
  std::optional<FirstGpc> first_gpc_;
  unsigned missed_ = 0;
  std::optional<Counters> counters_;
};

}  // namespace

void Instruments::refuse() {
  throw GpuUnavailable(
      "cases are listed for a GPU that is not here: the usage of this kernel is known only on one");
}

std::unique_ptr<Instruments> make_gpu_instruments(const Device& device, int readings) {
  return std::make_unique<GpuInstruments>(device, readings);
}

}  // namespace occbench
