#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/calc_answer.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// What to do about a configuration's theoretical occupancy, and what not, in sentences: the next step with
/// its price, or that there is nothing to gain; then what alone gains nothing.
/// @param recorded  recorded_register_cliff(), which shows what fewer registers did to time; may be empty
/// @throws InputError as theoretical_occupancy.
std::vector<std::string> what_to_do(const Question& question, std::span<const CaseRecord> recorded);

/// The cases of register_cliff that come with the project and have the registers of their kernel, the time and
/// a grid that fills the device; empty where they are not found.
std::vector<CaseRecord> recorded_register_cliff();

}  // namespace occbench
