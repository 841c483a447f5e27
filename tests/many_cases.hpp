#pragma once

#include <string>
#include <vector>

#include "harness/experiment.hpp"

namespace occbench {

/// Cases of a kernel by their order, with grids of 1 to `grids` blocks. The kernel must outlive it.
inline Experiment many_cases(const Kernel& kernel, int count, int grids) {
  return {"many", "memory does not grow", "tests", [&kernel, count, grids](const Planner&) {
            std::vector<Case> cases;
            for (int i = 0; i < count; ++i) {
              cases.push_back({.kernel = &kernel,
                               .variant = "plain",
                               .launch = {.block_threads = 64, .grid_blocks = 1 + i % grids},
                               .work = Work::equal(2000),
                               .suite = Suite::smoke,
                               .parameters = {{"order", std::to_string(i)}}});
            }
            return cases;
          }};
}

}  // namespace occbench
