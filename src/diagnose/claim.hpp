#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/finding.hpp"
#include "diagnose/situation.hpp"

namespace occbench {

/// Which of the two measured parts a cause empties.
enum class Part : unsigned char {
  blocks,  ///< places without a block
  warps,   ///< warps of resident blocks that have exited or not begun
  either,
  theory,  ///< neither: points between 100 % and theory
  beside,  ///< none: what is worth saying beside the points
};

/// What a cause says of a launch before all causes are fitted to what was measured.
struct Claim {
  double points = 0;  ///< by simulation or arithmetic; 0 where only the counters that remain can tell
  Part part = Part::either;
  double most = 100;        ///< points that it can cost at most
  bool takes_rest = false;  ///< counters show it at work, so it may have cost what no other cause explains
  Confidence confidence = Confidence::inferred;
  std::vector<Evidence> evidence{};
  std::string because{};                 ///< the reason, a clause without a full stop
  std::string remedy{};                  ///< sentences
  std::optional<TheoryAdvice> advice{};  ///< of a limit: what the remedy consists of
  std::string no_time{};  ///< why the remedy, or more occupancy, is not expected to save time; empty = it may
};

/// From this use of its peak on, percent, a resource is saturated.
inline constexpr double kSaturatedPct = 80;
/// Warps of a scheduler that could have issued, of which one does in a cycle, from which on they contend.
inline constexpr double kManyEligible = 4;

/// Evidence of columns that have a value.
std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns);

// What each cause claims of a launch, empty where it is not at work: in causes_of_grids.cpp, causes_of_contention.cpp,
// causes_of_limits.cpp and causes_beside.cpp.
#define OCC_CAUSE(NAME, MEANING) std::optional<Claim> NAME(const Situation& situation);
#include "diagnose/causes.inc"

/// Whether registers moved to local memory show in its traffic.
bool spills_show(const Situation& situation);
/// Whether blocks may wait for each other at an address: they make atomic requests, or many warps wait for memory.
bool may_share_addresses(const Situation& situation);
/// The resource that is in use most, percent, with its column; 0 where no counter was read.
/// @param share  of the time that is meant, in which SMs are active: counters of an SM are over its active cycles
Evidence most_used(const Situation& situation, double share = 1);
/// A resource of an SM that is in use almost all the time, percent, with its column; empty where none is.
std::optional<Evidence> saturated_resource(const Situation& situation);

}  // namespace occbench
