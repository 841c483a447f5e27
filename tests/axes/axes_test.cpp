#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "axes/axis.hpp"
#include "axes/points.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> values(AxisKind kind, std::string_view text) {
  return expand_values({"x", kind, "", ""}, text);
}

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal(AxisKind kind, std::string_view text) {
  return message([&] { values(kind, text); });
}

TEST(AxisValues, AreListsRangesAndSizes) {
  EXPECT_THAT(values(AxisKind::integer, "64,128"), ElementsAre("64", "128"));
  EXPECT_THAT(values(AxisKind::integer, "64:256:64"), ElementsAre("64", "128", "192", "256"));
  EXPECT_THAT(values(AxisKind::integer, "64:1024:x2"), ElementsAre("64", "128", "256", "512", "1024"));
  EXPECT_THAT(values(AxisKind::bytes, "0,48K,1M"), ElementsAre("0", "49152", "1048576"));
  EXPECT_THAT(values(AxisKind::bytes, "0:12K:4K"), ElementsAre("0", "4096", "8192", "12288"));
  EXPECT_THAT(values(AxisKind::integer, "1,32:96:32"), ElementsAre("1", "32", "64", "96"));
}

TEST(AxisValues, OfARangeEndAtOrBeforeItsLast) {
  EXPECT_THAT(values(AxisKind::integer, "1:10:4"), ElementsAre("1", "5", "9"));
  EXPECT_THAT(values(AxisKind::integer, "7:7:1"), ElementsAre("7"));
}

TEST(AxisValues, OfDecimalStepsAreNotRoundedAway) {
  EXPECT_THAT(values(AxisKind::real, "0.1:0.5:0.1"), ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
}

TEST(AxisValues, OfRegistersKeepTheSignOfAnExactCount) {
  EXPECT_THAT(values(AxisKind::registers, "24:40:8"), ElementsAre("24", "32", "40"));
  EXPECT_THAT(values(AxisKind::registers, "=31,33"), ElementsAre("=31", "=33"));
  EXPECT_THAT(values(AxisKind::registers, "=24:26:1"), ElementsAre("=24", "=25", "=26"));
}

TEST(AxisValues, OfTextMayHaveColons) {
  EXPECT_THAT(values(AxisKind::text, "equal:1000,uniform:1000:0.5:1.5"),
              ElementsAre("equal:1000", "uniform:1000:0.5:1.5"));
}

TEST(AxisValues, ThatCannotBeReadAreRefusedWithTheReason) {
  EXPECT_THAT(refusal(AxisKind::integer, "128:64:64"),
              AllOf(HasSubstr("--x 128:64:64"), HasSubstr("range is empty: 128 is more than 64")));
  EXPECT_THAT(refusal(AxisKind::integer, "64:128:0"), HasSubstr("a step is more than 0"));
  EXPECT_THAT(refusal(AxisKind::integer, "64:128:x1"), HasSubstr("a factor is more than 1"));
  EXPECT_THAT(refusal(AxisKind::integer, "0:128:x2"), HasSubstr("begins above 0"));
  EXPECT_THAT(refusal(AxisKind::integer, "64:128"), HasSubstr("FIRST:LAST:STEP"));
  EXPECT_THAT(refusal(AxisKind::integer, "many"), HasSubstr("'many' is not a number"));
  EXPECT_THAT(refusal(AxisKind::integer, "1.5"), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(refusal(AxisKind::integer, "-1"), HasSubstr("from 0 to"));
  EXPECT_THAT(refusal(AxisKind::integer, "64,,128"), HasSubstr("'' is not a number"));
  EXPECT_THAT(refusal(AxisKind::integer, "64,32:96:32"), HasSubstr("64 is there twice"));
  EXPECT_THAT(refusal(AxisKind::integer, "0:9000000:1"), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(refusal(AxisKind::text, "a,"), HasSubstr("a value is empty"));
  EXPECT_THAT(refusal(AxisKind::text, "a/b"), HasSubstr("has no '/'"));
}

const std::vector<SweepAxis> kAxes = {{"block-size", AxisKind::integer, "threads", "256"},
                                      {"registers", AxisKind::registers, "cap", ""},
                                      {"tile", AxisKind::integer, "its own", "16,32"}};

std::vector<std::string> named(const std::vector<Point>& points) {
  std::vector<std::string> texts;
  for (const Point& point : points) {
    std::string text;
    for (const Point::Value& value : point.values()) {
      if (value.named) text += parameter_name(value.axis) + "=" + value.text + " ";
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(SweepPoints, AreTheProductOfTheAxesWithTheLastFastest) {
  EXPECT_THAT(
      named(points_of(kAxes,
                      std::vector<GivenAxis>{{"tile", "8"}, {"registers", "24,32"}, {"block-size", "64,128"}},
                      Combine::product)),
      ElementsAre("block_size=64 registers=24 tile=8 ", "block_size=128 registers=24 tile=8 ",
                  "block_size=64 registers=32 tile=8 ", "block_size=128 registers=32 tile=8 "));
}

TEST(SweepPoints, AreAsManyAsTheProductAndAllDifferent) {
  const auto points =
      points_of(kAxes, std::vector<GivenAxis>{{"block-size", "32:1024:32"}, {"registers", "24:128:1"}},
                Combine::product);
  EXPECT_EQ(points.size(), 32U * 105 * 2);
  const auto names = named(points);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), points.size());
}

TEST(SweepPoints, OfZippedAxesArePairs) {
  EXPECT_THAT(
      named(points_of(kAxes,
                      std::vector<GivenAxis>{{"block-size", "64,128"}, {"registers", "24,32"}, {"tile", "8"}},
                      Combine::zip)),
      ElementsAre("block_size=64 registers=24 tile=8 ", "block_size=128 registers=32 tile=8 "));
  EXPECT_THAT(
      message([] {
        points_of(kAxes,
                  std::vector<GivenAxis>{{"block-size", "64,128,256"}, {"registers", "24,32"}, {"tile", "8"}},
                  Combine::zip);
      }),
      HasSubstr("--block-size has 3 and --registers has 2"));
}

TEST(SweepPoints, HaveTheDeclaredValuesOfAxesThatAreNotGiven) {
  const auto points = points_of(kAxes, {}, Combine::product);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].integer("block-size"), 256);
  EXPECT_FALSE(points[0].has("registers"));
  EXPECT_THAT(named(points), ElementsAre("tile=16 ", "tile=32 "));
}

TEST(SweepPoints, OfAnUnknownAxisAreRefusedWithTheNearestName) {
  EXPECT_THAT(message([] {
                points_of(kAxes, std::vector<GivenAxis>{{"blocksize", "64"}}, Combine::product);
              }),
              AllOf(HasSubstr("no axis --blocksize"), HasSubstr("nearest are --block-size")));
  EXPECT_THAT(message([] {
                points_of(kAxes, std::vector<GivenAxis>{{"tile", "1"}, {"tile", "2"}}, Combine::product);
              }),
              HasSubstr("--tile is given twice"));
}

}  // namespace
}  // namespace occbench
