#include "programs/timeline.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TracedProcess process() {
  TracedProcess traced;
  traced.process = 100;
  ProgramEntry entry;
  entry.device = {
      .name = "NVIDIA H100", .uuid = "GPU-1", .index = 0, .compute_capability = "9.0", .sm_count = 132};
  entry.kernel = {.name = "_Z4fillPf", .grid = {264, 1, 1}, .block = {256, 1, 1}, .registers_per_thread = 32};
  traced.entries = {entry};
  traced.numbers = {7};
  return traced;
}

/// @returns the events of a kind
std::vector<nlohmann::json> events_of(const std::string& windows, const char* kind) {
  std::string text;
  std::istringstream in(windows);
  append_timeline(text, process(), in, 1'000'000);
  text.resize(text.size() - std::min<std::size_t>(text.size(), 2));
  std::vector<nlohmann::json> events;
  for (const nlohmann::json& event : nlohmann::json::parse("[" + text + "]")) {
    if (event["ph"] == kind) events.push_back(event);
  }
  return events;
}

/// Two blocks of eight warps on each SM for 2 us of a window that began 1 ms after the trace: 132 SMs, 1,000 cycles a sample.
constexpr const char* kWindow = R"(window 1000 0 64 2000000
call 100 7 264 0
idle 0 4000 4
sample 4000 1000 264 2112000 132000 1000 1000
sample 5000 1000 0 2112000 132000 1000 1000
idle 6000 9000 3
launch 7 4000 2000 4224000 264000
)";

TEST(Timeline, HasASliceOfALaunchWithItsLoss) {
  const std::vector<nlohmann::json> slices = events_of(kWindow, "X");
  ASSERT_EQ(slices.size(), 1);
  EXPECT_THAT(slices[0]["name"].get<std::string>(), HasSubstr("fill"));
  EXPECT_EQ(slices[0]["ts"], 1004);
  EXPECT_EQ(slices[0]["dur"], 2);
  EXPECT_EQ(slices[0]["args"]["achieved_pct"], 25);
  EXPECT_EQ(slices[0]["args"]["theoretical_pct"], 100);
  EXPECT_EQ(slices[0]["args"]["loss_points"], 75);
}

TEST(Timeline, HasOccupancyAndBlocksOverTime) {
  std::vector<double> achieved;
  std::vector<double> blocks;
  std::vector<double> times;
  for (const nlohmann::json& event : events_of(kWindow, "C")) {
    if (event["args"].contains("blocks")) {
      blocks.push_back(event["args"]["blocks"]);
    } else {
      achieved.push_back(event["args"]["achieved"]);
      times.push_back(event["ts"]);
    }
  }
  EXPECT_THAT(achieved, ElementsAre(0, 25, 0)) << "where it changes";
  EXPECT_THAT(times, ElementsAre(1000, 1004, 1006));
  EXPECT_THAT(blocks, ElementsAre(0, 264, 0));
}

TEST(Timeline, ReadsPastLinesThatAreTorn) {
  EXPECT_EQ(events_of(std::string(kWindow) + "window 1000 0\nsample 4\nlaunch 7", "X").size(), 1);
  EXPECT_TRUE(events_of("launch 7 4000 2000 1 1\nsample 4000", "X").empty());
  EXPECT_TRUE(events_of("window 1000 3 64 0\nlaunch 7 4000 2000 1 1", "X").empty())
      << "of a GPU that is not known";
}

}  // namespace
}  // namespace occbench
