#pragma once

#include <gtest/gtest.h>

#include "gpu/device.hpp"
#include "gpu/error.hpp"

namespace occbench {

/// A test of a GPU, skipped where there is none. A fixture that needs more asks IsSkipped() first.
class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = open_device("auto");
    } catch (const GpuUnavailable& unavailable) {
      GTEST_SKIP() << unavailable.what();
    }
  }

  Device device_;
};

}  // namespace occbench
