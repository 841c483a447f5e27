#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/cupti.hpp"

struct CUpti_PmSampling_Object;

namespace occbench {

/// CUPTI's PM sampling of a list of metrics on one device: enabled, configured, and then started, stopped and decoded as often
/// as wanted. Everything throws CountersUnavailable. Any thread may call, one at a time.
class PmSession {
 public:
  /// What triggers a sample.
  enum class Trigger { time, time_or_system_clock };

  struct Sample {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<double> values;  ///< of the metrics, in their order; all finite
  };
  struct Decoded {
    std::vector<Sample> samples;
    std::size_t without_value = 0;  ///< samples that are missing, for a metric has none
    bool overflow = false;          ///< the hardware's buffer was too small, and samples are missing
    bool full = false;              ///< the image was, and those after it are missing
  };

  /// @param metrics CUPTI's names, all of which the chip must collect in one pass
  PmSession(int device_index, std::vector<std::string> metrics, CuptiInterceptor intercept);
  ~PmSession();
  PmSession(const PmSession&) = delete;
  PmSession& operator=(const PmSession&) = delete;

  /// A sampler keeps its first configuration until it is disabled: an earlier one is.
  void enable(Trigger trigger, double interval_ns, std::size_t samples, std::size_t hardware_bytes);
  void disable() noexcept;

  void start();
  void stop();
  void try_stop() noexcept;
  /// What was sampled between start and stop. The next start samples into an empty image.
  Decoded decode();

 private:
  void set_config(Trigger trigger, double interval_ns, std::size_t hardware_bytes);
  void initialize_image();
  std::vector<Sample> samples(std::size_t completed) const;

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  int device_index_;
  std::vector<std::string> metrics_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  MetricHost host_;
  std::vector<std::uint8_t> config_;
  CUpti_PmSampling_Object* sampler_ = nullptr;
  bool is_enabled_ = false;
  std::vector<std::uint8_t> image_;
  bool image_is_used_ = false;
};

}  // namespace occbench
