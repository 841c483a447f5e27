#include "predict/advice.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "gpu/kernel.hpp"
#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/reads.hpp"
#include "kernels/register_pressure.hpp"
#include "kernels/spin.hpp"
#include "occupancy/theory_advice.hpp"
#include "occupancy/warps.hpp"

namespace occbench::bench_advice {
namespace {

/// A launch whose theory is below 100 %, and the axis of the step to try.
struct Limited {
  const Kernel* kernel;
  std::string variant;  ///< with {} for the registers, if these change
  int registers = 0;    ///< of the asked variant
  Launch launch;
  Axis axis;
};

constexpr int kLongReads = 8;  ///< in flight per thread, 16 bytes each
constexpr int kChains = 8;     ///< enough for one warp per scheduler to keep the pipe busy

Case make_case(const std::string& question, const std::string& answer, const Launch& launch,
               const Work& work) {
  return {.kernel = &kSpin,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .suite = Suite::smoke,
          .parameters = {{"question", question}, {"launch", answer}}};
}

const std::vector<Limited>& limited_launches() {
  static const std::string reads(reads_variant(16, kLongReads));
  static const std::string chains(fma_chains_variant(ChainBody::fma, kChains));
  static const std::vector<Limited> launches = {
      {&kLiveRegisters, "latency_{}", 33, {.block_threads = 512}, Axis::registers_per_thread},
      {&kLiveRegisters, "latency_{}", 41, {.block_threads = 512}, Axis::registers_per_thread},
      {&kLiveRegisters, "latency_{}", 66, {.block_threads = 256}, Axis::registers_per_thread},
      {&kLiveRegisters, "throughput_{}", 33, {.block_threads = 512}, Axis::registers_per_thread},
      {&kRegisterPressure, "cap_{}", 40, {.block_threads = 256}, Axis::registers_per_thread},
      {&kRegisterPressure, "cap_{}", 72, {.block_threads = 256}, Axis::registers_per_thread},
      {&kSpin, "plain", 0, {.block_threads = 32}, Axis::block_threads},
      {&kSpin, "plain", 0, {.block_threads = 640}, Axis::block_threads},
      {&kSpin, "plain", 0, {.block_threads = 768}, Axis::block_threads},
      {&kFmaChains, chains, 0, {.block_threads = 768}, Axis::block_threads},
      {&kSpin,
       "plain",
       0,
       {.block_threads = 256, .dynamic_shared_bytes = 30'000},
       Axis::shared_bytes_per_block},
      {&kSpin,
       "plain",
       0,
       {.block_threads = 512, .dynamic_shared_bytes = 60'000},
       Axis::shared_bytes_per_block},
      {&kFmaChains,
       chains,
       0,
       {.block_threads = 256, .dynamic_shared_bytes = 40'000},
       Axis::shared_bytes_per_block},
      {&kReads,
       reads,
       0,
       {.block_threads = 256, .dynamic_shared_bytes = 40'000},
       Axis::shared_bytes_per_block},
      {&kSpin,
       "plain",
       0,
       {.block_threads = 256, .dynamic_shared_bytes = 15'360, .carveout_pct = 25},
       Axis::carveout_pct},
      {&kSpin,
       "plain",
       0,
       {.block_threads = 512, .dynamic_shared_bytes = 30'000, .carveout_pct = 30},
       Axis::carveout_pct},
  };
  return launches;
}

/// The variant with the most registers up to `most`; empty if there is none.
std::string with_registers(const Limited& limited, std::int64_t most) {
  for (std::int64_t registers = most; registers > 0; --registers) {
    const std::string name = fmt::format(fmt::runtime(limited.variant), registers);
    if (std::ranges::count(limited.kernel->variants, name, &Variant::name) > 0) return name;
  }
  return "";
}

/// Work of each warp, the same before and after the step.
Work work_of(const Planner& on, const Limited& limited, const Launch& launch, int warps_per_sm) {
  constexpr double kCycles = 100'000;
  if (limited.kernel == &kLiveRegisters) {
    const bool waits = limited.variant.starts_with("latency");
    return live_registers_work(waits ? LiveRegistersBody::latency : LiveRegistersBody::throughput,
                               limited.registers, waits ? 4 : 64);
  }
  if (limited.kernel == &kRegisterPressure) return register_pressure_work(8);
  if (limited.kernel == &kFmaChains)
    return fma_chains_work(on.limits(), ChainBody::fma, kChains, warps_per_sm / on.limits().sub_partitions,
                           kCycles);
  constexpr int kL2Times = 16;
  if (limited.kernel == &kReads)
    return reads_work(16, kLongReads, most_waits(on.device(), launch, 16, kLongReads, kL2Times));
  Work work = Work::equal(kCycles);
  work.poll_cycles_per_warp = kSpin.poll_cycles_per_warp;
  return work;
}

/// The launch in whole waves, before and after the step that theory advises; empty if no step on that axis is
/// among the best.
std::vector<Case> before_and_after(const Planner& on, const Limited& limited) {
  const Kernel& kernel = *limited.kernel;
  const bool of_registers = limited.axis == Axis::registers_per_thread;
  const std::string asked = of_registers ? with_registers(limited, limited.registers) : limited.variant;
  const Usage usage = inspect(kernel.find(asked)).usage;
  const Configuration now{limited.launch, usage};
  const TheoryAdvice advice = advise_on_theory(on.limits(), now);
  const auto step =
      std::ranges::find(advice.highest, limited.axis, [](const Step& each) { return each.change.axis; });
  if (step == advice.highest.end()) return {};
  const std::string advised = of_registers ? with_registers(limited, step->change.to) : asked;
  if (advised.empty()) return {};
  Launch before = limited.launch;
  Launch after = with(limited.axis, step->change.to, now).launch;
  // A number of warps that fills each SM a whole number of times before and after.
  const int warps_before = on.occupancy(kernel, kernel.find(asked).name, before).warps_per_sm();
  const int warps_after = on.occupancy(kernel, kernel.find(advised).name, after).warps_per_sm();
  constexpr int kLeastWaves = 4;
  const int once = std::lcm(warps_before, warps_after);
  const int warps = once * std::max(1, (kLeastWaves * warps_before + once - 1) / once);
  const std::int64_t sm_count = on.device().sm_count;
  before.grid_blocks = sm_count * warps / warps_of_block(before.block_threads);
  after.grid_blocks = sm_count * warps / warps_of_block(after.block_threads);
  const Work work = work_of(on, limited, before, warps_before);
  const std::string change =
      fmt::format("{}:{}:{}", to_string(limited.axis), step->change.from, step->change.to);
  const std::string question =
      fmt::format("{}_{}_{}", asked, limited.launch.block_threads, limited.launch.dynamic_shared_bytes);
  const auto make = [&](std::string_view variant, const Launch& launch, const char* which) {
    return Case{.kernel = &kernel,
                .variant = kernel.find(variant).name,
                .launch = launch,
                .work = work,
                .suite = Suite::smoke,
                .parameters = {{"question", question}, {"change", change}, {"launch", which}}};
  };
  return {make(asked, before, "asked"), make(advised, after, "advised")};
}

std::vector<Case> cases(const Planner& on) {
  constexpr double kCycles = 100'000;
  struct Question {
    int block_threads;
    double waves;
    Distribution distribution;
  };
  const Question questions[] = {
      {64, 1.25, {}},
      {128, 1.1, {}},
      {256, 1.1, {}},
      {256, 2.1, {}},
      {384, 1.25, {}},
      {512, 1.1, {}},
      {512, 1.5, {}},
      {640, 1.2, {}},
      {768, 1.25, {}},
      {768, 2.5, {}},
      {1024, 1.1, {}},
      {1024, 1.5, {}},
      {1024, 3.2, {}},
      {256, 1.2, {WorkForm::uniform, {0.5, 1.5}, 1}},
      {1024, 1.3, {WorkForm::uniform, {0.5, 1.5}, 2}},
      {512, 1.5, {WorkForm::linear, {1.5, 0.5}}},
  };
  const Usage usage = inspect(kSpin.find("plain")).usage;
  const ChosenProfile chosen = choose_profile(on.device());
  std::vector<Case> cases;
  for (const Question& question : questions) {
    Launch launch{.block_threads = question.block_threads};
    launch.grid_blocks = on.grid(kSpin, "plain", launch, question.waves);
    const Work work{.cycles = kCycles,
                    .distribution = question.distribution,
                    .poll_cycles_per_warp = kSpin.poll_cycles_per_warp};
    const Tasks tasks(work, launch.grid_blocks, warps_of_block(launch.block_threads));
    const Asked asked{launch, usage, on.limits(), chosen};
    const auto advice = advise(asked, work, predict(asked, tasks));
    if (!advice) continue;
    const std::string name = fmt::format("{}x{}_{}", launch.block_threads, launch.grid_blocks,
                                         question.distribution.form == WorkForm::equal ? "equal" : "uneven");
    cases.push_back(make_case(name, "asked", launch, work));
    cases.push_back(make_case(name, "advised", advice->launch, advice->work));
  }
  for (const Limited& limited : limited_launches()) {
    for (Case& each : before_and_after(on, limited)) cases.push_back(std::move(each));
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "advice", "the launch that is advised does the same work in no more than the time that is said",
    "occbench predict, calc and explain", cases};

}  // namespace occbench::bench_advice
