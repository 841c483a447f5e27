#include "simulate/device_model.hpp"

#include <algorithm>
#include <utility>

namespace occbench {

namespace {

int tpcs_of(int sms) {
  return (sms + 1) / 2;
}

}  // namespace

Topology::Topology(std::vector<int> gpc_sms, int singleton_sms)
    : gpc_sms_(std::move(gpc_sms)), singleton_sms_(singleton_sms) {
  gpc_of_sm_.assign(static_cast<std::size_t>(singleton_sms_), gpc_count());
  for (int gpc = 0; gpc < gpc_count(); ++gpc) {
    const int sms = gpc_sms_[static_cast<std::size_t>(gpc)];
    first_sm_.push_back(sm_count());
    first_tpc_.push_back(tpc_count_);
    gpc_of_sm_.insert(gpc_of_sm_.end(), static_cast<std::size_t>(sms), gpc);
    tpc_count_ += tpcs_of(sms);
  }
  first_sm_.push_back(0);
  first_tpc_.push_back(tpc_count_);
  tpc_count_ += tpcs_of(singleton_sms_);
}

Topology Topology::even(int sm_count, int most_sms_per_gpc) {
  const int gpcs = (sm_count + most_sms_per_gpc - 1) / most_sms_per_gpc;
  const int tpcs = tpcs_of(sm_count);
  std::vector<int> sms;
  for (int gpc = 0; gpc < gpcs; ++gpc) sms.push_back(2 * (tpcs / gpcs + (gpc < tpcs % gpcs)));
  if (sm_count % 2 != 0) --sms.back();
  return {std::move(sms), 0};
}

std::vector<int> Topology::sms_per_gpc() const {
  std::vector<int> sms = gpc_sms_;
  for (int left = singleton_sms_; left > 0; left -= 2) sms.push_back(std::min(left, 2));
  return sms;
}

int Topology::tpc_of(int sm) const {
  return first_tpc_[static_cast<std::size_t>(gpc_of(sm))] + place_in_gpc(sm) / 2;
}

std::optional<int> Topology::sibling(int sm) const {
  const int other = is_second_of_tpc(sm) ? sm - 1 : sm + 1;
  if (other >= sm_count() || gpc_of(other) != gpc_of(sm)) return std::nullopt;
  return other;
}

}  // namespace occbench
