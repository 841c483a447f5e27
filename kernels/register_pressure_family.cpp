#include "kernels/families.hpp"
#include "kernels/register_pressure.hpp"

namespace occbench {
namespace {

Case configure_register_pressure(const Point& at, const Device& device) {
  const auto code = compile_at(at, device, kernel_source("kernels/run_time_kernels.cuh"),
                               {.function = "occbench::register_pressure_at_run_time",
                                .compute_capability = device.compute_capability});
  Case chosen = case_of(kRegisterPressure, asked_registers(at, device.limits).cap ? "capped" : "uncapped",
                        code, launch_at(at, device, code->compiled().usage), kRegisterPressure.prepare);
  chosen.work = register_pressure_work(static_cast<int>(at.integer("rounds", 1'000'000)));
  return chosen;
}

}  // namespace

Family register_pressure_family() {
  const SweepAxis own[] = {registers_axis(),
                           min_blocks_axis(),
                           static_shared_axis(),
                           {"rounds", AxisKind::integer, "rounds of 144 multiply-adds", "16"}};
  return {"register_pressure", std::string(kRegisterPressure.description),
          joined(launch_axes("256", "4"), own), configure_register_pressure};
}

}  // namespace occbench
