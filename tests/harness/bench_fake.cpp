// A bench binary without a GPU, for tests that end it at random times: 20 cases, each of which takes some
// milliseconds.

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "fake_gpu.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

class SlowInstruments final : public FakeInstruments {
 public:
  double microseconds(const std::function<void(cudaStream_t)>& queue, bool cold) override {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return FakeInstruments::microseconds(queue, cold);
  }
};

int run(const std::vector<std::string>& arguments) {
  const Options options = parse_options(arguments);
  static const std::string program = "bench_fake";
  initialize_google_benchmark(program, options);
  std::vector<int> block_sizes;
  for (int threads = 176; threads <= 1024; threads += 32) block_sizes.push_back(threads);
  block_sizes.resize(20);
  SlowInstruments instruments;
  instruments_in_use = &instruments;
  const StopOnSignals stop;
  Experiment experiment = experiment_of(block_sizes);
  experiment.families = fake_families().families;
  const Experiment* const experiments[] = {&experiment};
  return static_cast<int>(run_experiments(experiments, options, fake_device(), instruments));
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) try {
  return occbench::run({argv + 1, argv + argc});
} catch (const occbench::InputError& error) {  // as measuring_main()
  fmt::print(stderr, "{}\n", error.what());
  return static_cast<int>(occbench::ExitStatus::usage);
}
