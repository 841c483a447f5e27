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

}  // namespace
}  // namespace occbench
