#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gate/compare.hpp"
#include "gate/run.hpp"
#include "gate/tolerances.hpp"
#include "record/columns.hpp"

namespace occbench {

using Cases = std::vector<const RecordedCase*>;

/// What all cases of a comparison share.
struct GateContext {
  const Tolerances& tolerances;
  std::vector<const Column*> exact;  ///< causes before what follows from them
  bool paired;
};

/// One case: a recorded row of each run, baseline[i] next to candidate[i].
struct Sides {
  Cases baseline;
  Cases candidate;
};

/// Times are compared only where they were recorded this close together, on the same GPU.
inline constexpr int kComparableSeconds = 3600;

/// Adds what the rules of the column table find in a case that both sides have, gravest grade first.
void judge(const Sides& sides, const GateContext& context, ComparedCase& into);

/// "registers_per_thread 31 -> 33"
std::string change_text(std::string_view what, std::string_view before, std::string_view now);

/// Adds a finding without values.
void add_finding(ComparedCase& into, Grade grade, std::string_view subject, std::string message,
                 double weight = 0);

/// The two sides with their names for messages.
std::array<std::pair<std::string_view, const Cases*>, 2> named(const Sides& sides);

/// What became of what is known before the launch.
enum class LaunchChange {
  none,
  better,  ///< less is needed or more fits, and nothing else differs: measurements are compared still
  other,   ///< another launch, and what was measured of it is no finding of its own
};

/// False, with the reason, if runs of one side differ in what is known before the launch.
bool is_one_launch(const Sides& sides, const GateContext& context, ComparedCase& into);

/// Adds a finding for each column that is known before the launch and differs, as grave as its gate rule
/// says.
LaunchChange compare_launches(const Sides& sides, const GateContext& context, ComparedCase& into);

/// Rows of what was calculated and never launched: all there is to compare is known before the launch.
bool was_never_launched(const Sides& sides);

/// Where the occupancy of the candidate goes now, as a note, where that differs from the baseline: the sentence
/// of the first finding of src/diagnose. Adds nothing where the row does not say enough for one.
void add_loss_change(const Sides& sides, ComparedCase& into);

}  // namespace occbench
