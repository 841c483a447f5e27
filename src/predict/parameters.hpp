#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "simulate/device_model.hpp"

namespace occbench {

/// Launches of a calibration to which a parameter is fitted.
enum class FittedTo {
  nothing,       ///< it keeps its typical value, or is measured directly
  whole_waves,   ///< equal blocks in whole waves, or in at most one: nothing depends on chance
  known_clocks,  ///< launches in which chance decides tail placement, if GPC clocks were measured
};

/// Which launches depend on a parameter.
enum class MattersTo {
  every_launch,
  more_than_a_wave,  ///< blocks are replaced
  less_than_a_wave,  ///< the grid is smaller than one wave
  always_issuing,    ///< warps contend and can issue in every cycle
  memory,            ///< warps read or write device memory
};

/// One parameter of a device; DeviceParameters says what it means. Reading and writing profiles, defaults,
/// calibration, the ablation and the range of a generic prediction follow from this table.
struct Parameter {
  std::string_view name;  ///< as in a profile
  double DeviceParameters::*value;
  double typical;  ///< an H200's, rounded: start of a fit, and value of a GPU that was not measured
  std::optional<double> off =
      {};  ///< switches its rule off; empty if the rule cannot be: part of another rule, or certain
  double least_elsewhere;     ///< on a GPU that was not measured; sources are in the table
  double most_elsewhere;      ///< likewise
  double least_allowed = 0;   ///< in a profile
  double most_allowed = 1e6;  ///< likewise; the default is for cycles
  FittedTo fitted_to = FittedTo::nothing;
  MattersTo matters_to = MattersTo::every_launch;
};

/// Every parameter, in the order of a profile.
std::span<const Parameter> parameters();

/// nullptr if there is no parameter of that name.
const Parameter* find_parameter(std::string_view name);

/// Every parameter at its typical value.
DeviceParameters typical_parameters();

}  // namespace occbench
