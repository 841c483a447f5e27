#include "harness/gpu_watch.hpp"

namespace occbench {

void GpuWatch::look() {
  const GpuCondition seen = instruments_.condition();
  sm_clock_mhz_ = seen.sm_clock_mhz;
  condition_.memory_clock_mhz = seen.memory_clock_mhz;
  condition_.temperature_c = seen.temperature_c;
  condition_.power_w = seen.power_w;
  condition_.other_processes = seen.other_processes;
  if (!seen.clocks_event_reasons) return;
  event_reasons_ |= *seen.clocks_event_reasons;
  condition_.throttle_reasons = clocks_event_reasons_text(event_reasons_);
}

void GpuWatch::forget_and_look() {
  event_reasons_ = 0;
  look();
}

bool GpuWatch::saw_throttle() const {
  return is_throttled(event_reasons_);
}

}  // namespace occbench
