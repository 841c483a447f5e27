#include <thread>

#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "trace/tracer.hpp"
#include "traced_program.hpp"

namespace occbench {
namespace {

struct StreamNumbersTest : testing::Test {
  FakeGpu gpu;
  FakeDriver driver{gpu};
  StreamNumbers numbers{driver};

  std::uint32_t of(std::uintptr_t stream, bool may_ask = true, bool may_overlap = false) {
    LaunchCall call;
    call.stream = handle(stream);
    call.may_overlap = may_overlap;
    return numbers.of(call, may_ask);
  }
  static bool waits(std::uint32_t number) {
    return (number & LoggedLaunch::kNonBlocking) == 0;
  }
};

TEST_F(StreamNumbersTest, TellStreamsThatWaitForTheLegacyDefaultStream) {
  driver.blocking_streams = {handle(0x100)};
  EXPECT_EQ(of(0), LoggedLaunch::kLegacyStream);
  EXPECT_EQ(of(1), LoggedLaunch::kLegacyStream) << "CU_STREAM_LEGACY";
  EXPECT_TRUE(waits(of(0x100)));
  EXPECT_NE(of(0x100), LoggedLaunch::kLegacyStream);
  EXPECT_FALSE(waits(of(0x200)));
  EXPECT_NE(of(0x200), of(0x300));
  EXPECT_FALSE(waits(of(0x100, true, true))) << "it may begin before others have ended";
}

TEST_F(StreamNumbersTest, AskTheDriverOnceAndAgainOfAnotherStreamWithTheHandle) {
  driver.blocking_streams = {handle(0x100)};
  EXPECT_FALSE(waits(of(0x100, false))) << "it cannot be asked now";
  EXPECT_TRUE(waits(of(0x100)));
  driver.blocking_streams.clear();
  EXPECT_TRUE(waits(of(0x100)));
  numbers.forget(handle(0x100));
  EXPECT_FALSE(waits(of(0x100)));
}

TEST_F(StreamNumbersTest, TellTheDefaultStreamsOfThreadsApart) {
  const std::uint32_t here = of(2);
  std::uint32_t there = 0;
  std::thread([&] { there = of(2); }).join();
  EXPECT_NE(here, there);
  EXPECT_TRUE(waits(here));
}

}  // namespace
}  // namespace occbench
