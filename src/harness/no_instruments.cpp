#include "gpu/error.hpp"
#include "harness/instruments.hpp"

namespace occbench {
namespace {

[[noreturn]] void refuse() {
  throw GpuUnavailable(
      "cases are listed for a GPU that is not here: the usage of this kernel is known only on one");
}

class NoInstruments final : public Instruments {
 public:
  Compiled inspect(const Variant&) override {
    refuse();
  }
  cudaStream_t stream() override {
    refuse();
  }
  void synchronize() override {
    refuse();
  }
  double microseconds(const std::function<void(cudaStream_t)>&, bool) override {
    refuse();
  }
  void make_ready(bool) override {
    refuse();
  }
  std::optional<int> first_gpc() override {
    return std::nullopt;
  }
  CounterReadings count(const std::vector<std::string>&, const std::function<void()>&,
                        const std::function<void()>&) override {
    refuse();
  }
  ActivitySamples sample(double, const std::function<void()>&) override {
    refuse();
  }
  GpuCondition condition() override {
    return {};
  }
  std::string gpu_settings() override {
    return {};
  }
  MetricCatalog metric_catalog() override {
    refuse();
  }
  bool context_is_lost() override {
    return false;
  }
};

}  // namespace

std::unique_ptr<Instruments> make_no_instruments() {
  return std::make_unique<NoInstruments>();
}

}  // namespace occbench
