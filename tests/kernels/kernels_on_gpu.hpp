#pragma once

#include <optional>

#include <gtest/gtest.h>

#include "../gpu/on_a_gpu.hpp"
#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"

namespace occbench {

/// A GPU, a stream and the check of a case on it.
class KernelsOnGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (!IsSkipped()) stream_.emplace();
  }

  Check check(const Case& chosen, const Variant& variant) {
    return chosen.kernel->prepare(chosen, variant, device_)->check(stream_->get());
  }
  Check check(const Case& chosen) {
    return check(chosen, chosen.kernel->find(chosen.variant));
  }

  std::optional<Stream> stream_;
};

}  // namespace occbench
