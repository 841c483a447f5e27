#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/families.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/multiply_add.hpp"
#include "kernels/stay.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr int kSteps = 128;
constexpr std::string_view kResident = "resident";
constexpr std::string_view kThroughput = "throughput";
constexpr std::string_view kLatency = "latency";

/// Resident warps wait for a clock, as those of spin do.
const Kernel kResidentRegisters{.name = "live_registers",
                                .description = "warps that stay, with more values alive in registers",
                                .variants = {},
                                .prepare = nullptr,
                                .poll_cycles_per_warp = kPollCyclesPerWarp};

MultiplyAddShape shape_of(std::string_view body, int values) {
  return {values, kSteps, body == kLatency ? 1 : 0};
}

std::string function_of(std::string_view body, int values) {
  const MultiplyAddShape shape = shape_of(body, values);
  if (body == kResident)
    return fmt::format("occbench::resident_registers_at_run_time<{}, {}>", values, kSteps);
  return fmt::format("occbench::live_registers_at_run_time<{}, {}, {}>", values, kSteps,
                     shape.steps_per_load);
}

std::shared_ptr<RuntimeKernel> compile_values(const Point& at, const Device& device, std::string_view body,
                                              int values) {
  return compile_at(at, device, kernel_source("kernels/run_time_kernels.cuh"),
                    {.function = function_of(body, values), .compute_capability = device.compute_capability});
}

/// A build and the number of values that it keeps alive.
struct Build {
  std::shared_ptr<RuntimeKernel> code;
  int values;
};

/// The most values that fit in exactly the requested number of registers, without a spill. The other
/// registers hold the sum, the thread's number and addresses: 5 to 12 registers, by body and architecture.
Build with_exact_registers(const Point& at, const Device& device, std::string_view body, int registers) {
  std::string why = fmt::format("--registers ={}: a thread of this kernel needs more", registers);
  for (const int others : {body == kThroughput ? 6 : 8, 7, 9, 6, 8, 10, 5, 11, 12}) {
    if (registers - others < 2) continue;
    try {
      const auto code = compile_values(at, device, body, registers - others);
      if (code->compiled().spill_bytes == 0) return {code, registers - others};
      why = fmt::format("--registers ={}: the compiler spills at every number of values that was tried",
                        registers);
    } catch (const InputError& other_count) {
      why = other_count.what();
    }
  }
  throw InputError(why);
}

Build build_at(const Point& at, const Device& device, std::string_view body) {
  if (at.has("values")) {
    const auto values = static_cast<int>(at.integer("values", 240));
    if (values < 2) throw InputError(fmt::format("--values {}: at least 2 values are used in turn", values));
    return {compile_values(at, device, body, values), values};
  }
  const AskedRegisters asked = asked_registers(at, device.limits);
  if (asked.exactly) return with_exact_registers(at, device, body, *asked.cap);
  constexpr int kUsual = 58;  // 64 registers
  return {compile_values(at, device, body, kUsual), kUsual};
}

Case configure_live_registers(const Point& at, const Device& device) {
  const std::string& body = at.text("body");
  if (body != kResident && body != kThroughput && body != kLatency)
    throw InputError(fmt::format("--body {}: it is resident, throughput or latency", body));
  const Build build = build_at(at, device, body);
  const MultiplyAddShape shape = shape_of(body, build.values);
  const bool stays = body == kResident;
  Case chosen = case_of(stays ? kResidentRegisters : kLiveRegisters, body, build.code,
                        launch_at(at, device, build.code->compiled().usage),
                        [shape, stays](const Case& of, const Variant& variant, const Device&) {
                          return stays ? prepare_resident(shape, of, variant)
                                       : prepare_multiply_add(shape, of, variant);
                        });
  chosen.work = stays ? parse_work(at.text("work"))
                      : multiply_add_work(shape, static_cast<int>(at.integer("rounds", 1'000'000)));
  return chosen;
}

}  // namespace

Family live_registers_family() {
  const SweepAxis own[] = {
      registers_axis(),
      min_blocks_axis(),
      static_shared_axis(),
      {"values", AxisKind::integer,
       "values alive in each thread (default: 58, or as many as =N registers take)", ""},
      {"body", AxisKind::text,
       "resident: a few multiply-adds, then the warps stay for --work; throughput: multiply-adds alone; "
       "latency: each "
       "waits for L2",
       "resident"},
      {"work", AxisKind::text, "how long blocks stay where the body is resident, equal:CYCLES",
       "equal:400000"},
      {"rounds", AxisKind::integer, "rounds of 128 multiply-adds of the other bodies", "64"}};
  return {"live_registers", std::string(kLiveRegisters.description), joined(launch_axes("256", "4"), own),
          configure_live_registers};
}

}  // namespace occbench
