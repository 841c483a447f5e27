#include "predict/chance.hpp"

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

Seeds::Seeds(const Chance& chance, const DeviceProfile& profile)
    : chance_(chance), gpcs_(profile.model.topology.gpc_sms().size()) {
  if (!chance.first_gpc) return;
  const auto most = static_cast<std::int64_t>(gpcs_) - 1;
  if (*chance.first_gpc >= 0 && *chance.first_gpc <= most) return;
  throw InputError(
      fmt::format("first_gpc = {} is out of range: {} SMs have GPCs 0 to {} by the profile {}; leave it out "
                  "where it is not known",
                  *chance.first_gpc, profile.sm_count(), most, profile.name));
}

}  // namespace occbench
