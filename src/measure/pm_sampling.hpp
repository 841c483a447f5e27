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

/// CUPTI's PM sampling of a list of metrics on one device: enabled, configured, and then started, stopped and decoded as often
/// as wanted. Everything throws CountersUnavailable. Any thread may call, one at a time.
class PmSession {
 public:
  /// What triggers a sample.
  enum class Trigger { time, time_or_system_clock };

  struct Sample {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<double>
        values;  ///< of the metrics, in their order: of those that are needed all finite, others may have none
  };
  struct Decoded {
    std::vector<Sample> samples;
    std::size_t without_value = 0;  ///< samples that are missing, for a metric has none
    bool overflow = false;          ///< the hardware's buffer was too small, and samples are missing
    bool full = false;              ///< the image was, and those after it are missing
  };

  /// @param metrics CUPTI's names, all of which the chip must collect in one pass
  /// @param more    likewise, which are left out where the chip cannot
  PmSession(int device_index, std::vector<std::string> metrics, CuptiInterceptor intercept,
            const std::vector<std::string>& more = {});
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
  std::size_t needed_;  ///< of metrics_, the first
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

/// Sampled are warps, and the cycles that they are divided by. One pass on every chip of compute capability
/// 7.5 or later that CUPTI 13.0 knows.
extern const std::vector<std::string> kActivityMetrics;

/// What windows sample, and beside it, where that fits into its pass, how much tensor cores and device memory work. One pass on every
/// chip from GA102 on that CUPTI 13.0 knows; Turing and chips without memory of their own leave the second out.
extern const std::vector<std::string> kWindowMetrics;
extern const std::vector<std::string> kUnitMetrics;

/// Samples how many warps are resident on all SMs together while a launch runs, by CUPTI's PM sampling: the
/// hardware writes down its counters at a fixed interval, whatever the SMs do. It finds the hardware busy
/// while there are Counters of the device.
/// @param launch      must queue one launch and wait until it has ended; all that it does is sampled
/// @param expected_us how long the launch takes: at most 1 us lies between two samples of a launch of up to
/// 20 ms, more of a longer one
/// @throws CountersUnavailable; whatever `launch` throws
ActivitySamples sample_launch(const Device& device, double expected_us, const std::function<void()>& launch,
                              CuptiInterceptor intercept = {});

/// What all SMs of a GPU did between two triggers of the sampling hardware.
struct SmSample {
  std::uint64_t start_ns = 0;  ///< on the clock of cupti_time_ns()
  std::uint64_t end_ns = 0;
  double blocks = 0;          ///< launched
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< in which an SM had a warp, summed over SMs
  double longest_cycles = 0;  ///< of these the most of one SM
  double elapsed_cycles = 0;  ///< mean over SMs
  std::optional<double>
      tensor_cycles{};  ///< in which the tensor pipe worked, mean over SMs; empty where the chip does not say
  std::optional<double> dram_busy_pct{};  ///< likewise, use of device memory over its peak
};

/// How finely and for how long a GPU is sampled at a time.
struct SamplingWindow {
  std::uint64_t interval_ns = 0;
  std::uint64_t length_ns =
      0;  ///< between the call that starts and the one that stops; both take longer themselves
};

/// CUPTI's clock, which samples have too: equal up to some microseconds (H100, CUDA 13.0).
std::uint64_t cupti_time_ns();

/// Samples all SMs of a GPU in windows; the program's launches go on meanwhile. A thread without a context may call.
/// On an H100 (CUDA 13.0): configuring takes 0.07 to 0.23 s, in which a kernel that runs can wait for 0.1 s; start 0.6 ms, stop 1.7 ms,
/// reading 40 us a sample, which hold nothing up. The hardware's buffer takes no memory of the device that cudaMemGetInfo shows; an
/// image of a sample takes 12 KB of the host's. Not thread-safe.
class SmSampler : private PmSession {
 public:
  /// @throws CountersUnavailable, unsupported on chips that do not count launched blocks (GA100) or have no time interval
  explicit SmSampler(int device_index, CuptiInterceptor intercept = {});

  /// Makes windows of this kind ready, in the place of those before. @throws CountersUnavailable, as all that follow
  void configure(const SamplingWindow& window);
  using PmSession::start;
  using PmSession::stop;
  /// The samples of the window that was stopped; empty if the hardware's buffer did not hold them. The first one spans what
  /// was before the window.
  std::vector<SmSample> read();

 private:
  std::size_t hardware_bytes_ = 0;
  SamplingWindow window_;
};

}  // namespace occbench
