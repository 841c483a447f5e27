#include "kernels/families.hpp"
#include "kernels/spin.hpp"

namespace occbench {
namespace {

Case configure_spin(const Point& at, const Device& device) {
  const auto code =
      compile_at(at, device, kernel_source("kernels/spin_kernel.cuh"),
                 {.function = "occbench::spin_kernel", .compute_capability = device.compute_capability});
  Case chosen = case_of(kSpin, "plain", code, launch_at(at, device, code->compiled().usage), kSpin.prepare);
  chosen.work = parse_work(at.text("work"));
  return chosen;
}

}  // namespace

Family spin_family() {
  const SweepAxis own[] = {
      registers_axis(),
      min_blocks_axis(),
      static_shared_axis(),
      {"work", AxisKind::text, "how long each block or warp stays, as of `occbench predict --work`",
       "equal:400000"}};
  return {"spin", std::string(kSpin.description), joined(launch_axes("256", "4"), own), configure_spin};
}

}  // namespace occbench
