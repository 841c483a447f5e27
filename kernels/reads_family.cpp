#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/families.hpp"
#include "kernels/reads.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::string_view type_of(std::int64_t bytes) {
  if (bytes == 4) return "unsigned";
  if (bytes == 8) return "uint2";
  if (bytes == 16) return "uint4";
  throw InputError(fmt::format("--bytes {}: a load has 4, 8 or 16", bytes));
}

Case configure_reads(const Point& at, const Device& device) {
  const auto bytes = static_cast<int>(at.integer("bytes"));
  const auto in_flight = static_cast<int>(at.integer("in-flight", 64));
  if (in_flight < 1) throw InputError("--in-flight 0: a thread has 1 to 64 loads in flight");
  if (at.shape("block-size").total() > kReadsBlockThreads)
    throw InputError(fmt::format("--block-size {}: this kernel is compiled for at most {} threads",
                                 at.text("block-size"), kReadsBlockThreads));
  const auto code =
      compile_at(at, device, kernel_source("kernels/reads_kernel.cuh"),
                 {.function = fmt::format("occbench::reads_kernel<{}, {}>", type_of(bytes), in_flight),
                  .compute_capability = device.compute_capability});
  const Launch launch = launch_at(at, device, code->compiled().usage);
  Case chosen = case_of(kReads, fmt::format("bytes_{}_in_flight_{}", bytes, in_flight), code, launch,
                        [bytes, in_flight](const Case& of, const Variant& variant, const Device& on) {
                          return prepare_reads(bytes, in_flight, of, variant, on);
                        });
  chosen.work = reads_work(bytes, in_flight, std::max<std::int64_t>(1, at.integer("waits", 1'000'000)));
  return chosen;
}

}  // namespace

Family reads_family() {
  const SweepAxis own[] = {registers_axis(),
                           min_blocks_axis(),
                           static_shared_axis(),
                           {"bytes", AxisKind::integer, "bytes of a load: 4, 8 or 16", "16"},
                           {"in-flight", AxisKind::integer, "loads that a thread has in flight", "4"},
                           {"waits", AxisKind::integer, "how often a thread waits for all of them", "32"}};
  return {"reads", std::string(kReads.description), joined(launch_axes("128", "4"), own), configure_reads};
}

}  // namespace occbench
