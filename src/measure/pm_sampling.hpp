#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "measure/activity.hpp"
#include "measure/cupti.hpp"

struct CUpti_PmSampling_Object;

namespace occbench {

/// CUPTI's PM sampling of a list of metrics on one device: enabled, configured, then started, stopped and
/// decoded any number of times. All members throw CountersUnavailable. Any thread may call, one at a time.
class PmSession {
 public:
  /// The trigger of a sample.
  enum class Trigger { time, time_or_system_clock };

  struct Sample {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<double>
        values;  ///< by metric, in order: finite for the required metrics, others may be missing
  };
  struct Decoded {
    std::vector<Sample> samples;
    std::size_t without_value = 0;  ///< samples left out because a metric has no value
    bool overflow = false;          ///< the hardware's buffer was too small, and samples are missing
    bool full = false;              ///< the image was full, and later samples are missing
  };

  /// @param metrics CUPTI's names, all of which the chip must collect in one pass
  /// @param more    likewise, left out if the chip cannot collect them, too
  PmSession(int device_index, std::vector<std::string> metrics, CuptiInterceptor intercept,
            const std::vector<std::string>& more = {});
  ~PmSession();
  PmSession(const PmSession&) = delete;
  PmSession& operator=(const PmSession&) = delete;

  /// Disables an earlier sampler first, because a sampler keeps its first configuration until it is disabled.
  void enable(Trigger trigger, double interval_ns, std::size_t samples, std::size_t hardware_bytes);
  void disable() noexcept;

  void start();
  void stop();
  void try_stop() noexcept;
  /// The samples between start and stop. The next start samples into an empty image.
  Decoded decode();

 private:
  void set_config(Trigger trigger, double interval_ns, std::size_t hardware_bytes);
  void initialize_image();
  std::vector<Sample> samples(std::size_t completed) const;

  // Order matters: each is built from the members above it and must be destroyed before them.
  Cupti cupti_;
  int device_index_;
  std::size_t needed_;  ///< number of required metrics, the first of metrics_
  std::vector<std::string> metrics_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::optional<MetricHost> host_;
  std::vector<std::uint8_t> config_;
  CUpti_PmSampling_Object* sampler_ = nullptr;
  bool is_enabled_ = false;
  std::vector<std::uint8_t> image_;
  bool image_is_used_ = false;
};

/// Warps, and the cycles by which they are divided. One pass on every chip of compute capability 7.5 or later
/// that CUPTI 13.0 knows.
extern const std::vector<std::string> kActivityMetrics;

/// Metrics of windows, and the use of tensor cores and device memory if it fits into the same pass. One pass
/// on every chip from GA102 on that CUPTI 13.0 knows; Turing and chips without their own memory leave the
/// second list out.
extern const std::vector<std::string> kWindowMetrics;
extern const std::vector<std::string> kUnitMetrics;

/// Samples the resident warps of all SMs together while a launch runs, by CUPTI's PM sampling: the hardware
/// records its counters at a fixed interval, whatever the SMs do. The hardware is busy while Counters of the
/// device exist.
/// @param launch      must queue one launch and wait until it has ended; everything that it runs is sampled
/// @param expected_us duration of the launch: the interval is at most 1 us for a launch of up to 20 ms, more
/// for a longer one
/// @throws CountersUnavailable; rethrows exceptions of `launch`
ActivitySamples sample_launch(const Device& device, double expected_us, const std::function<void()>& launch,
                              CuptiInterceptor intercept = {});

/// Activity of all SMs of a GPU between two triggers of the sampling hardware.
struct SmSample {
  std::uint64_t start_ns = 0;  ///< on the clock of cupti_time_ns()
  std::uint64_t end_ns = 0;
  double blocks = 0;          ///< launched
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< in which an SM had a warp, summed over SMs
  double longest_cycles = 0;  ///< most of them on one SM
  double elapsed_cycles = 0;  ///< mean over SMs
  std::optional<double>
      tensor_cycles{};  ///< in which the tensor pipe was active, mean over SMs; empty if the chip does not count it
  std::optional<double> dram_busy_pct{};  ///< likewise, use of device memory over its peak
};

/// Interval and length of one sampling window.
struct SamplingWindow {
  std::uint64_t interval_ns = 0;
  std::uint64_t length_ns = 0;  ///< between the calls that start and stop; these take additional time
};

/// CUPTI's clock, equal to that of samples within some microseconds (H100, CUDA 13.0).
std::uint64_t cupti_time_ns();

/// Samples all SMs of a GPU in windows; the program's launches go on meanwhile. A thread without a context
/// may call. On an H100 (CUDA 13.0): configuring takes 0.07 to 0.23 s and can delay a running kernel by 0.1
/// s; start 0.6 ms, stop 1.7 ms, reading 40 us per sample, which delay nothing. The hardware's buffer takes
/// no device memory that cudaMemGetInfo shows; an image takes 12 KB of host memory per sample. Not
/// thread-safe.
class SmSampler : private PmSession {
 public:
  /// @throws CountersUnavailable, unsupported on chips that do not count launched blocks (GA100) or have no time interval
  explicit SmSampler(int device_index, CuptiInterceptor intercept = {});

  /// Configures windows of this kind, instead of the previous ones. @throws CountersUnavailable, as all
  /// members below
  void configure(const SamplingWindow& window);
  using PmSession::start;
  using PmSession::stop;
  /// The samples of the stopped window; empty if the hardware's buffer overflowed. The first one covers the
  /// time before the window.
  std::vector<SmSample> read();

 private:
  std::size_t hardware_bytes_ = 0;
  SamplingWindow window_;
};

}  // namespace occbench
