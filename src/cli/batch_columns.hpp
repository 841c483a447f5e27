#pragma once

#include <span>
#include <string>
#include <string_view>

namespace occbench {

/// Refuses columns of a --batch file that calc would pass over in silence. It knows the columns of a recorded row,
/// its own answers (`answers`) and hardware counters (sm__warps_active.sum).
/// @throws InputError naming the first other column and the nearest that calc reads
void check_batch_columns(std::span<const std::string> names, std::span<const std::string> answers,
                         std::string_view source);

}  // namespace occbench
