#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "simulate/device_model.hpp"

namespace occbench {

/// Which launches of a calibration a parameter is fitted to.
enum class FittedTo {
  nothing,       ///< it keeps its typical value, or is measured directly
  whole_waves,   ///< equal blocks in whole waves, or in no more than one: nothing is left to chance
  known_clocks,  ///< launches in which chance decides who takes the last blocks, if GPC clocks were measured
};

/// Which launches depend on a parameter.
enum class MattersTo {
  every_launch,
  more_than_a_wave,  ///< blocks are replaced
  less_than_a_wave,  ///< the grid leaves room
  always_issuing,    ///< warps contend and can issue in every cycle
  memory,            ///< warps read or write device memory
};

/// One parameter of a device; DeviceParameters says what it means. Reading and writing profiles, defaults,
/// calibration, the ablation and the range of a generic prediction follow from this table.
struct Parameter {
  std::string_view name;  ///< as in a profile
  double DeviceParameters::*value;
  double typical;  ///< an H200's, rounded: where a fit starts, and what a GPU has that nobody measured
  std::optional<double> off =
      {};                  ///< switches its rule off; empty if it has none: part of another rule, or certain
  double least_elsewhere;  ///< on a GPU that nobody measured, as the table says
  double most_elsewhere;   ///< likewise
  double least_allowed = 0;   ///< in a profile
  double most_allowed = 1e6;  ///< likewise; of cycles, if nothing else is said
  FittedTo fitted_to = FittedTo::nothing;
  MattersTo matters_to = MattersTo::every_launch;
};

/// Every parameter, in the order of a profile.
std::span<const Parameter> parameters();

/// nullptr if there is none of that name.
const Parameter* find_parameter(std::string_view name);

/// Every parameter at its typical value.
DeviceParameters typical_parameters();

}  // namespace occbench
