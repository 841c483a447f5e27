#include <fmt/core.h>

#include "kernels/families.hpp"
#include "kernels/shared_staging.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

Case configure_shared_staging(const Point& at, const Device& device) {
  constexpr std::int64_t kMostStaticBytes = 48 * 1024;  // CUDA programming guide: more must be dynamic
  const std::int64_t bytes = at.integer("static-smem", std::int64_t{1} << 40);
  const std::int64_t dynamic_bytes = at.integer("dynamic-smem", std::int64_t{1} << 40);
  if (bytes > kMostStaticBytes)
    throw InputError(
        fmt::format("--static-smem {}: a kernel declares at most {} bytes; --dynamic-smem takes more", bytes,
                    kMostStaticBytes));
  if (bytes % 4 != 0 || dynamic_bytes % 4 != 0)
    throw InputError(fmt::format("{} and {} bytes of shared memory: this kernel fills whole words of 4",
                                 bytes, dynamic_bytes));
  const AskedRegisters asked = asked_registers(at, device.limits);
  const auto code = compile_kernel(kernel_source("kernels/shared_staging_kernel.cuh"),
                                   {.function = fmt::format("occbench::shared_staging_kernel<{}>", bytes),
                                    .compute_capability = device.compute_capability,
                                    .register_cap = asked.cap});
  Case chosen = case_of(kSharedStaging, bytes > 0 ? fmt::format("static_{}", bytes) : "dynamic", code,
                        launch_at(at, device, code->compiled().usage),
                        [bytes](const Case& of, const Variant& variant, const Device&) {
                          return prepare_shared_staging(bytes, of, variant);
                        });
  chosen.work = parse_work(at.text("work"));
  if (chosen.work->distribution.form != WorkForm::equal)
    throw InputError("--work {}: blocks of this kernel all stay equally long", at.text("work"));
  return chosen;
}

}  // namespace

Family shared_staging_family() {
  SweepAxis static_shared = static_shared_axis();
  static_shared.values.assign(1, '0');
  const SweepAxis own[] = {registers_axis(),
                           min_blocks_axis(),
                           static_shared,
                           {"work", AxisKind::text, "how long blocks stay, equal:CYCLES", "equal:400000"}};
  return {"shared_staging", std::string(kSharedStaging.description), joined(launch_axes("256", "4"), own),
          configure_shared_staging};
}

}  // namespace occbench
