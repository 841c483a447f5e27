#include "harness/instruments.hpp"

#include <optional>

#include "gpu/error.hpp"
#include "gpu/launch_timer.hpp"

namespace occbench {
namespace {

class GpuInstruments final : public Instruments {
 public:
  GpuInstruments(const Device& device, int readings) : device_(device), readings_(readings) {}

  Compiled inspect(const Variant& variant) override {
    return occbench::inspect(variant);
  }

  cudaStream_t stream() override {
    return timer_.stream().get();
  }

  void synchronize() override {
    timer_.stream().synchronize();
  }

  double microseconds(const std::function<void(cudaStream_t)>& queue) override {
    return timer_.microseconds(queue);
  }

  CounterReadings count(const std::vector<std::string>& metrics,
                        const std::function<void()>& launch) override {
    try {
      if (!counters_) counters_.emplace(device_, readings_);
      return counters_->read(metrics, launch);
    } catch (...) {
      counters_.reset();
      throw;
    }
  }

  bool context_is_lost() override {
    return occbench::context_is_lost();
  }

 private:
  Device device_;
  int readings_;
  LaunchTimer timer_;
  std::optional<Counters> counters_;
};

}  // namespace

std::unique_ptr<Instruments> make_gpu_instruments(const Device& device, int readings) {
  return std::make_unique<GpuInstruments>(device, readings);
}

}  // namespace occbench
