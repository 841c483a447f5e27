#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/theory_advice.hpp"

namespace occbench {

/// Causes of an achieved occupancy: those of causes.inc, which explains each.
enum class Cause : unsigned char {
#define OCC_CAUSE(NAME, MEANING) NAME,
#include "diagnose/causes.inc"
  unexplained,  ///< points that no cause explains
};

/// "small_grid", "tail", ...
std::string_view to_string(Cause cause);

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

/// Which of the lists of a launch a finding belongs to.
enum class FindingList : unsigned char {
  limits,   ///< of theory: points between 100 % and theory
  losses,   ///< below theory: points between theory and the achieved occupancy
  remarks,  ///< without points: what the counter leaves out, a low occupancy that suffices, and so on
};

/// "limits", "losses", "remarks"
std::string_view to_string(FindingList list);

/// The time of a launch that following a remedy can save.
struct TimeSaved {
  double share = 0;      ///< of the launch's time, 0 to 1, at most; 0 = none is expected or known
  std::string sentence;  ///< "At most 0.12 of 0.41 ms per launch ...", "None expected: why", "Not known: what
                         ///< to measure", with a full stop
  bool is_known = true;
};

/// Precedes the saving of one remedy: the bounds of several do not add up.
inline constexpr std::string_view kSavedAlone = "Time saved by that alone";

struct Finding {
  Cause cause;
  /// Points of occupancy that it costs, at least 0; 0 in remarks.
  double points = 0;
  FindingList list = FindingList::losses;
  Confidence confidence = Confidence::inferred;
  std::vector<Evidence> evidence;
  std::string sentence;                  ///< points and reason, with a full stop
  std::string remedy;                    ///< what to change or to measure, with a full stop
  std::optional<TheoryAdvice> advice{};  ///< the steps that the remedy of a limit consists of
  std::optional<TimeSaved> time{};  ///< empty in remarks that are not about time, and if nothing is explained
};

}  // namespace occbench
