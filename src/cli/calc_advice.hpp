#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/calc_answer.hpp"
#include "record/row.hpp"

namespace occbench {

/// What to do about a configuration's theoretical occupancy, and what not, in sentences: the next step with
/// its price, or that there is nothing to gain; then what alone gains nothing.
/// @param recorded rows that show a price: of register_cliff, what fewer registers did to time; may be empty
/// @throws InputError as theoretical_occupancy.
std::vector<std::string> what_to_do(const Question& question, std::span<const Row> recorded);

/// The rows of register_cliff that come with the project; empty where they are not found.
std::vector<Row> recorded_register_cliff();

}  // namespace occbench
