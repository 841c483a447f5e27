#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/launch.hpp"

namespace occbench {

/// Counters shared by the blocks of its launches. Counts continue from launch to launch, modulo 2^32, so
/// nothing is reset between two.
struct FirstGpcCounts {
  unsigned begun = 0;  ///< blocks that have begun, of all launches
  unsigned left = 0;   ///< number of the last launch in which a block made room for the last block
};

/// Sets the first GPC of the next launch.
///
/// On an H200 it is the GPC after the one that took the last block of an earlier launch whose blocks had to
/// wait for room; launches without such blocks change nothing (docs/prediction.md, "The first GPC"; this is
/// not documented). It decides which blocks run side by side. This class places the last block of a launch on
/// a chosen SM: after it, a grid of one block per SM has SM 0 earliest, so that the GPC of SM 0 begins.
/// Nothing else is assumed about SMs and GPCs: the SM is found by trial, and if a device behaves differently,
/// nothing is set.
class FirstGpc {
 public:
  /// Finds the SM, in some milliseconds. `device` must be the current device and do nothing else meanwhile.
  /// @throws CudaError
  explicit FirstGpc(const Device& device);

  /// Whether SM 0 had the same, earliest place each time that it was set after another. False if placement
  /// does not follow the last block, or another process uses SMs of the device.
  bool can_set() const {
    return last_block_to_.has_value();
  }

  /// Queues a launch, of some 4 us on an H200, after which the GPC of SM 0 begins; nothing unless can_set().
  /// Does not wait; call it for one stream at a time. @throws CudaError
  void queue(cudaStream_t stream);

  /// Number of ended launches that failed to put their last block on its SM, modulo 2^32: they set nothing.
  /// It happens if other processes use SMs meanwhile.
  unsigned missed() {
    return *missed_.get();
  }

  /// Queues a launch with one block more than are resident at once. It gets room when a block on `sm` has
  /// left, so it is placed there. Takes some 4 us on an H200, at most some 0.1 s if other processes use the
  /// SMs. @throws CudaError
  void place_last_block_on(int sm, cudaStream_t stream);

 private:
  struct Seen;

  std::vector<Seen> set_and_look(std::span<const int> sms);
  void place_last_block_on(int sm, volatile unsigned* missed, cudaStream_t stream);

  int sm_count_;
  unsigned resident_blocks_;
  unsigned launches_ = 0;
  DeviceBuffer<FirstGpcCounts> counts_;
  SharedValue<unsigned> missed_;
  std::optional<int> last_block_to_;
};

/// SMs of each GPC (graphics processing cluster), most first, as far as thread block clusters show them: the
/// blocks of a cluster share a GPC, so clusters of every size are launched with one block per SM, and SMs
/// that share one belong together. CUDA has no interface for it. An SM that no cluster reaches counts as its
/// own GPC.
///
/// Groups of two SMs are real: these TPCs take part in no larger cluster. NVIDIA's open kernel modules call
/// them singleton virtual GPCs (SKYLINE_INFO in ctrl2080internal.h). On an H200, in 320 launches of clusters
/// of 1 to 16 with 1, 2 and 4 blocks per SM, SMs 124 to 131 shared clusters in the same four pairs alone, and
/// all SMs in groups of 18 18 16 16 16 16 16 8 2 2 2 2, whatever the size of the clusters;
/// cudaOccupancyMaxActiveClusters counts in these very groups (occupancy/runtime_answers.hpp). Another unit
/// of the same GPU model has other groups.
///
/// Empty below compute capability 9.0, which has no clusters. `device` must be the current device
/// (open_device). Takes some milliseconds. @throws CudaError
std::vector<int> sms_per_gpc(const Device& device);

}  // namespace occbench
