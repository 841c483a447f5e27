#pragma once

namespace occbench {

/// How `occbench` and the bench binaries end.
enum class ExitStatus {
  done = 0,
  regression = 1,  ///< the gate found one
  no_verdict = 2,  ///< none could be given, or something asked for was not measured
  usage = 64,      ///< wrong use or input (EX_USAGE)
  fault = 70,      ///< a fault of ours (EX_SOFTWARE)
};

}  // namespace occbench
