#pragma once

namespace occbench {

struct GpuHere;  ///< there is none: in place of src/orchestrate/devices.hpp

}  // namespace occbench
