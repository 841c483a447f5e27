#include "predict/advice.hpp"

#include <string>

#include <fmt/core.h>

#include "gpu/kernel.hpp"
#include "harness/experiment.hpp"
#include "kernels/spin.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

Case make_case(const std::string& question, const std::string& answer, const Launch& launch,
               const Work& work) {
  return {.kernel = &kSpin,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .suite = Suite::smoke,
          .parameters = {{"question", question}, {"launch", answer}}};
}

std::vector<Case> cases(const Planner& on) {
  constexpr double kCycles = 100'000;
  struct Question {
    int block_threads;
    double waves;
    Distribution distribution;
  };
  const Question questions[] = {
      {64, 1.25, EqualWork{}},
      {128, 1.1, EqualWork{}},
      {256, 1.1, EqualWork{}},
      {256, 2.1, EqualWork{}},
      {384, 1.25, EqualWork{}},
      {512, 1.1, EqualWork{}},
      {512, 1.5, EqualWork{}},
      {640, 1.2, EqualWork{}},
      {768, 1.25, EqualWork{}},
      {768, 2.5, EqualWork{}},
      {1024, 1.1, EqualWork{}},
      {1024, 1.5, EqualWork{}},
      {1024, 3.2, EqualWork{}},
      {256, 1.2, UniformWork{0.5, 1.5, 1}},
      {1024, 1.3, UniformWork{0.5, 1.5, 2}},
      {512, 1.5, LinearWork{1.5, 0.5}},
  };
  const Usage usage = inspect(kSpin.find("plain")).usage;
  const ChosenProfile chosen = choose_profile(identity_of(on.device()));
  const DeviceProfile& profile = chosen.profile;
  std::vector<Case> cases;
  for (const Question& question : questions) {
    Launch launch{.block_threads = question.block_threads};
    launch.grid_blocks = on.grid(kSpin, "plain", launch, question.waves);
    const Work work{.cycles = kCycles,
                    .distribution = question.distribution,
                    .poll_cycles_per_warp = kSpin.poll_cycles_per_warp};
    const Tasks tasks(work, launch.grid_blocks, warps_of_block(launch.block_threads));
    const Prediction asked = predict(launch, usage, on.limits(), chosen, tasks);
    const auto advice = advise(launch, usage, on.limits(), profile, work, asked);
    if (!advice) continue;
    const std::string name =
        fmt::format("{}x{}_{}", launch.block_threads, launch.grid_blocks,
                    std::holds_alternative<EqualWork>(question.distribution) ? "equal" : "uneven");
    cases.push_back(make_case(name, "asked", launch, work));
    cases.push_back(make_case(name, "advised", advice->launch, advice->work));
  }
  return cases;
}

}  // namespace

const Experiment experiment{"advice", "the launch that the simulation likes better does the same work sooner",
                            "occbench predict", cases};

}  // namespace occbench
