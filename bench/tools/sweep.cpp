#include "harness/experiment.hpp"
#include "kernels/families.hpp"

namespace occbench::bench_sweep {

extern const Experiment experiment{"sweep", "measured as the command line says", "occbench sweep",
                                   [](const Planner&) { return std::vector<Case>{}; }, kernel_families};

}  // namespace occbench::bench_sweep
