#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "measure/cupti.hpp"

namespace occbench {

class PmSession;

/// What all SMs of a GPU did between two triggers of the sampling hardware.
struct SmSample {
  std::uint64_t start_ns = 0;  ///< on the clock of cupti_time_ns()
  std::uint64_t end_ns = 0;
  double blocks = 0;          ///< launched
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< in which an SM had a warp, summed over SMs
  double longest_cycles = 0;  ///< of these the most of one SM
  double elapsed_cycles = 0;  ///< mean over SMs
};

/// How finely and for how long a GPU is sampled at a time.
struct SamplingWindow {
  std::uint64_t interval_ns = 0;
  std::uint64_t length_ns =
      0;  ///< between the call that starts and the one that stops; both take longer themselves
};

/// CUPTI's clock, which samples have too: equal up to some microseconds (H100, CUDA 13.0).
std::uint64_t cupti_time_ns();

/// Samples all SMs of a GPU in windows, for a thread that belongs to no context; the program's launches go on meanwhile.
/// On an H100 (CUDA 13.0): configuring takes 0.07 to 0.23 s, start 0.6 ms, stop 1.7 ms, reading 40 us a sample, none of which
/// holds launches up. The hardware's buffer takes no memory of the device that cudaMemGetInfo shows; an image of a sample takes
/// 12 KB of the host's. Not thread-safe.
class SmSampler {
 public:
  /// @throws CountersUnavailable, unsupported on chips that do not count launched blocks (GA100) or have no time interval
  explicit SmSampler(int device_index, CuptiInterceptor intercept = {});
  ~SmSampler();
  SmSampler(const SmSampler&) = delete;
  SmSampler& operator=(const SmSampler&) = delete;

  /// Makes windows of this kind ready, in the place of those before. @throws CountersUnavailable, as all that follow
  void configure(const SamplingWindow& window);
  void start();
  void stop();
  /// The samples of the window that was stopped; empty if the hardware's buffer did not hold them. The first one spans what
  /// was before the window.
  std::vector<SmSample> read();

 private:
  std::unique_ptr<PmSession> session_;
  std::size_t hardware_bytes_ = 0;
  SamplingWindow window_;
};

}  // namespace occbench
