#include <algorithm>

#include <fmt/core.h>

#include "kernels/families.hpp"
#include "kernels/fma_chains.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

ChainBody body_of(const std::string& name) {
  if (name == "multiply_add") return ChainBody::fma;
  if (name == "exponential") return ChainBody::exponential;
  throw InputError(fmt::format("--body {}: it is multiply_add or exponential", name));
}

Case configure_fma_chains(const Point& at, const Device& device) {
  const ChainBody body = body_of(at.text("body"));
  const auto chains = static_cast<int>(at.integer("chains", kMostChains));
  if (chains < 1) throw InputError("--chains 0: a thread has 1 to 8 chains");
  if (body == ChainBody::exponential && (chains == 3 || chains == 5))
    throw InputError(fmt::format("--chains {}: exponentials go in 1, 2, 4, 6, 7 or 8 chains", chains));
  const auto code =
      compile_at(at, device, kernel_source("kernels/fma_chains_kernel.cuh"),
                 {.function = fmt::format("occbench::fma_chains_kernel<occbench::ChainBody::{}, {}>",
                                          body == ChainBody::fma ? "fma" : "exponential", chains),
                  .compute_capability = device.compute_capability});
  const Launch launch = launch_at(at, device, code->compiled().usage);
  Case chosen = case_of(kFmaChains, fmt::format("{}_{}", at.text("body"), chains), code, launch,
                        [body, chains](const Case& of, const Variant& variant, const Device& on) {
                          return prepare_fma_chains(body, chains, of, variant, on);
                        });
  const Occupancy occupancy = theoretical_occupancy(device.limits, launch, code->compiled().usage);
  const int warps = std::max(1, occupancy.warps_per_sm() / device.limits.sub_partitions);
  chosen.work = fma_chains_work(device.limits, body, chains, warps, at.real("cycles"));
  return chosen;
}

}  // namespace

Family fma_chains_family() {
  const SweepAxis own[] = {
      registers_axis(),
      min_blocks_axis(),
      static_shared_axis(),
      {"chains", AxisKind::integer, "independent chains of dependent instructions in a thread, 1 to 8", "1"},
      {"body", AxisKind::text, "multiply_add: the FP32 pipe; exponential: the special-function pipe",
       "multiply_add"},
      {"cycles", AxisKind::real, "about how long a wave takes, cycles", "200000"}};
  return {"fma_chains", std::string(kFmaChains.description), joined(launch_axes("256", "4"), own),
          configure_fma_chains};
}

}  // namespace occbench
