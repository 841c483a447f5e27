#pragma once

#include <optional>
#include <span>
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

/// A cause: what it says of a launch, empty where it is not at work.
struct CauseRule {
  Cause cause;
  std::optional<Claim> (*claim)(const Situation&);
};

/// One line a cause. Of those that take the rest, the first that is at work does.
std::span<const CauseRule> cause_rules();

/// From this use of its peak on, percent, a resource is saturated.
inline constexpr double kSaturatedPct = 80;

/// Evidence of columns that have a value.
std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns);

// The causes, by the file that they are in.

// causes_of_grids.cpp
std::optional<Claim> small_grid(const Situation& situation);
std::optional<Claim> tail(const Situation& situation);
std::optional<Claim> clusters(const Situation& situation);
std::optional<Claim> uneven_blocks(const Situation& situation);
std::optional<Claim> uneven_warps(const Situation& situation);
std::optional<Claim> overhead(const Situation& situation);

// causes_of_contention.cpp
std::optional<Claim> spills(const Situation& situation);
std::optional<Claim> atomics(const Situation& situation);
std::optional<Claim> memory_contention(const Situation& situation);
std::optional<Claim> issue_contention(const Situation& situation);
std::optional<Claim> barriers(const Situation& situation);
/// Whether registers moved to local memory show in its traffic.
bool spills_show(const Situation& situation);
/// Whether blocks may wait for each other at an address: they make atomic requests, or many warps wait for memory.
bool may_share_addresses(const Situation& situation);
/// The resource that is in use most, percent, with its column; 0 where no counter was read.
/// @param share  of the time that is meant, in which SMs are active: counters of an SM are over its active cycles
Evidence most_used(const Situation& situation, double share = 1);
/// A resource of an SM that is in use almost all the time, percent, with its column; empty where none is.
std::optional<Evidence> saturated_resource(const Situation& situation);

// causes_of_limits.cpp
std::optional<Claim> register_limit(const Situation& situation);
std::optional<Claim> shared_memory_limit(const Situation& situation);
std::optional<Claim> block_size_limit(const Situation& situation);
std::optional<Claim> barrier_limit(const Situation& situation);

// causes_beside.cpp
std::optional<Claim> another_launch(const Situation& situation);
std::optional<Claim> idle_sms(const Situation& situation);
std::optional<Claim> low_occupancy_suffices(const Situation& situation);
std::optional<Claim> idle_lanes(const Situation& situation);
std::optional<Claim> unused_shared_memory(const Situation& situation);
std::optional<Claim> faster_build(const Situation& situation);
std::optional<Claim> prediction_differs(const Situation& situation);

}  // namespace occbench
