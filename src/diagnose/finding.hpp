#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// Why an achieved occupancy is what it is. The names are those of docs/explain.md.
enum class Cause : unsigned char {
  small_grid,              ///< the grid has fewer blocks than one wave
  tail,                    ///< the last wave is partial
  clusters,                ///< clusters leave places empty in which no whole cluster fits
  uneven_blocks,           ///< blocks take different times
  uneven_warps,            ///< warps within a block take different times, or exit early
  overhead,                ///< launching and replacing blocks
  spills,                  ///< registers that were moved to local memory
  atomics,                 ///< atomic operations that wait for each other
  memory_contention,       ///< warps contend for memory
  issue_contention,        ///< warps contend for issue slots or a pipe
  barriers,                ///< warps wait at barriers
  register_limit,          ///< theory is below 100 % because of registers
  shared_memory_limit,     ///< because of shared memory
  block_size_limit,        ///< because of the block's size: warps or block slots
  barrier_limit,           ///< because of named barriers
  another_launch,          ///< more than this launch can reach: the reading belongs to another
  idle_sms,                ///< SMs without a warp, which the counter leaves out
  low_occupancy_suffices,  ///< a pipe, the issue slots or memory are saturated nevertheless
  idle_lanes,              ///< lanes without a thread, which the counter of warps leaves out
  unused_shared_memory,    ///< the carveout keeps more shared memory than the resident blocks need
  prediction_differs,      ///< the counter is outside the prediction's 90 % interval
  unexplained,             ///< what no cause explains
};

/// "small_grid", "tail", ...
std::string_view to_string(Cause cause);

/// @throws InputError for a word that is no cause, naming all of them
Cause parse_cause(std::string_view word);

/// How sure the points of a finding are.
enum class Confidence : unsigned char {
  measured,   ///< the row's counters say so
  simulated,  ///< a simulation of this launch says so
  inferred,   ///< arithmetic, or what counters leave once other causes are subtracted
};

/// "measured", "simulated", "inferred"
std::string_view to_string(Confidence confidence);

/// A column of the row and its value there.
struct Evidence {
  std::string_view column;
  double value;

  bool operator==(const Evidence&) const = default;
};

struct Finding {
  Cause cause;
  /// Points of occupancy that it costs, of those between 100 % and the achieved one, at least 0. 0 where it
  /// costs none: what the counter leaves out, a low occupancy that suffices, a prediction that differs. For another_launch: points above what this launch can reach.
  double points = 0;
  bool of_theory = false;  ///< the points lie between 100 % and theory
  Confidence confidence = Confidence::inferred;
  std::vector<Evidence> evidence;
  std::string sentence;  ///< points and reason, with a full stop
  std::string remedy;    ///< what to change or to measure, with a full stop
};

}  // namespace occbench
