// A bench binary of cases that go wrong, for tests on a GPU: a kernel that traps, one that writes out of
// bounds and a host that is killed, each between cases that are well; and one whose threads race in shared
// memory, which only compute-sanitizer notices.

#include <csignal>

#include "gpu/launch.hpp"
#include "harness/experiment.hpp"

namespace occbench {
namespace {

enum class Fault { none, trap, wild_write, killed, shared_race };

__global__ void faulty(Fault fault, int* out) {
  if (fault == Fault::trap) __trap();
  if (fault == Fault::wild_write) *reinterpret_cast<volatile int*>(0x10) = 1;
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (fault == Fault::shared_race) {
    total = total + 1;
  } else {
    atomicAdd(&total, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

const Variant kVariants[] = {{"none", reinterpret_cast<const void*>(&faulty)},
                             {"trap", reinterpret_cast<const void*>(&faulty)},
                             {"wild_write", reinterpret_cast<const void*>(&faulty)},
                             {"killed", reinterpret_cast<const void*>(&faulty)},
                             {"shared_race", reinterpret_cast<const void*>(&faulty)}};

class PreparedFault final : public Prepared {
 public:
  PreparedFault(const Case& chosen, const Variant& variant)
      : launch_(chosen.launch),
        fault_(static_cast<Fault>(&variant - kVariants)),
        out_(static_cast<std::size_t>(chosen.launch.grid_blocks)) {}

  void launch(cudaStream_t stream) override {
    if (fault_ == Fault::killed) std::raise(SIGKILL);
    launch_kernel(kVariants[0].function, launch_, stream, fault_, out_.data());
  }
  Check check(cudaStream_t) override {
    return Check::none;
  }
  Amount useful() const override {
    return {static_cast<double>(launch_.grid_blocks), "blocks"};
  }

 private:
  Launch launch_;
  Fault fault_;
  DeviceBuffer<int> out_;
};

std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedFault>(chosen, variant);
}

const Kernel kFaulty{"faulty", "does what the variant's name says", kVariants, prepare};

std::vector<Case> cases(const Planner&) {
  std::vector<Case> cases;
  const auto add = [&](std::string_view variant) {
    cases.push_back({.kernel = &kFaulty,
                     .variant = variant,
                     .launch = {.block_threads = 128, .grid_blocks = 256},
                     .work = std::nullopt,
                     .suite = Suite::smoke,
                     .parameters = {{"order", std::to_string(cases.size())}}});
  };
  for (const char* variant : {"none", "trap", "none", "wild_write", "none", "killed", "none", "shared_race"})
    add(variant);
  return cases;
}

}  // namespace

const Experiment experiment{"faults", "a case that fails costs its own row and no other", "tests/gpu", cases};

}  // namespace occbench
