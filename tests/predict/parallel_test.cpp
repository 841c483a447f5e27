#include "predict/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace occbench {
namespace {

TEST(Parallel, CallsWithEachNumberOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    for_each_parallel(count, [&](std::size_t i) { ++calls[i]; });
    for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
  }
}

TEST(Parallel, ThrowsWhatACallThrowsAndBeginsNoOther) {
  std::atomic<int> calls = 0;
  const auto fail = [&](std::size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("the fourth");
  };
  EXPECT_THROW(for_each_parallel(1'000'000, fail), std::runtime_error);
  EXPECT_LT(calls, 1'000'000);
}

}  // namespace
}  // namespace occbench
