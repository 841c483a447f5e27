#include "trace/regions.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "traced_program.hpp"

namespace occbench {
namespace {

using ::testing::SizeIs;

struct InRegion {
  explicit InRegion(std::string_view name) {
    push_region(name);
  }
  ~InRegion() {
    pop_region();
  }
};

TEST(Regions, AreOfTheirThreadAndNamedFromTheOutside) {
  const InRegion outer("layer");
  {
    const InRegion inner("attention");
    EXPECT_EQ(current_region(), "layer/attention");
    std::thread([] { EXPECT_EQ(current_region(), ""); }).join();
  }
  EXPECT_EQ(current_region(), "layer");
}

TEST(Regions, ClosingMoreThanWereOpenedIsHarmless) {
  pop_region();
  EXPECT_EQ(current_region(), "");
}

TEST(Regions, ANameHasNoPlusNoControlCharacterAndNoHalfOfALetter) {
  const InRegion odd("a+b\n\x1b\xff");
  EXPECT_EQ(current_region(), "a_b___");
  const InRegion longest(std::string(99, 'x') + "é");
  EXPECT_EQ(current_region(), "a_b___/" + std::string(99, 'x'));
}

// NVTX as a program is linked with it: its calls go through pointers in a table that a tool may fill.
int (*range_push_ascii)(const char*) = nullptr;
int (*range_pop)() = nullptr;
void** core[] = {nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, reinterpret_cast<void**>(&range_push_ascii),
                 nullptr, reinterpret_cast<void**>(&range_pop)};

int functions_of(std::uint32_t module, void**** functions, unsigned* count) {
  if (module != 1) return 0;
  *functions = core;
  *count = 12;
  return 1;
}

const void* table(std::uint32_t number) {
  static const struct {
    std::size_t size;
    int (*functions)(std::uint32_t, void****, unsigned*);
  } callbacks = {sizeof callbacks, functions_of};
  return number == 1 ? &callbacks : nullptr;
}

TEST(Regions, AreThoseOfTheProgramsNvtx) {
  ASSERT_TRUE(take_nvtx(table));
  EXPECT_EQ(range_push_ascii("step"), 0);
  EXPECT_EQ(range_push_ascii("backward"), 1);
  EXPECT_EQ(current_region(), "step/backward");
  EXPECT_EQ(range_pop(), 1);
  EXPECT_EQ(range_pop(), 0);
  EXPECT_FALSE(take_nvtx([](std::uint32_t) -> const void* { return nullptr; }));
}

TEST_F(TracerTest, NamesTheRegionsThatLaunchesWereMadeIn) {
  program.launch(66);
  for (const char* name : {"attention", "mlp"}) {
    const InRegion region(name);
    for (int i = 0; i < 4; ++i) program.launch(66);
    program.launch(132);
  }
  program.launch(264);
  finish();
  ASSERT_THAT(rows(), SizeIs(3));
  for (const Row& row : rows())
    EXPECT_EQ(row.region, row.grid_blocks == 264 ? "" : "attention+mlp") << row.case_;
}

TEST_F(TracerTest, NamesThemWhereNothingIsCounted) {
  tracer = make(0);
  Program uncounted{*tracer, gpu};
  const InRegion region("attention");
  uncounted.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].region, "attention");
}

TEST(Regions, IsInThoseThatItsNamesHaveSideBySide) {
  EXPECT_TRUE(is_in_region("step/forward/attention", "forward"));
  EXPECT_TRUE(is_in_region("step/forward/attention", "step/forward"));
  EXPECT_TRUE(is_in_region("forward", "forward"));
  for (const char* other : {"", "for", "forwards", "attention/forward", "step/attention"})
    EXPECT_FALSE(is_in_region("step/forward/attention", other)) << other;
}

/// The same kernel, and a graph of another, in two regions and in none.
struct RegionTest : TracerTest {
  void run(const TracerOptions& options) {
    tracer = make(options);
    Program in_regions{*tracer, gpu};
    driver.graphs[handle(0x50)] = {kernel_node(), kernel_node()};
    tracer->graph_instantiated(handle(0x60), handle(0x50));
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) in_regions.launch(66);
      in_regions.launch_graph(handle(0x60));
    };
    launch(2);
    {
      const InRegion step("step");
      launch(3);
      const InRegion forward("forward");
      launch(4);
    }
    finish();
  }
};

TEST_F(RegionTest, HasARowForEachRegionAndKernelIfAsked) {
  TracerOptions by_region = options(1);
  by_region.regions = true;
  run(by_region);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> launches;
  for (const Row& row : rows()) {
    (row.grid_blocks == 66 ? launches[row.region].first : launches[row.region].second) += *row.launches;
    EXPECT_EQ(row.case_.ends_with(" in " + row.region), !row.region.empty()) << row.case_;
    EXPECT_EQ(row.achieved_pct.has_value(), row.grid_blocks == 66) << row.region;
  }
  EXPECT_THAT(launches, SizeIs(3));
  EXPECT_EQ(launches[""].first, 2);
  EXPECT_EQ(launches["step"].first, 3);
  EXPECT_EQ(launches["step/forward"].first, 4);
}

TEST_F(RegionTest, HasTheRegionsOfAKernelInOneRowIfNotAsked) {
  run(options(0));
  ASSERT_THAT(rows(), SizeIs(2));
  EXPECT_EQ(rows()[0].region, "step+step/forward");
}

TEST_F(RegionTest, HasCountersOfTheOnlyRegionAlone) {
  TracerOptions only = options(1);
  only.regions = true;
  only.only = "forward";
  run(only);
  for (const Row& row : rows())
    EXPECT_EQ(row.achieved_pct.has_value(), row.region == "step/forward" && row.grid_blocks == 66)
        << row.region;
}

}  // namespace
}  // namespace occbench
