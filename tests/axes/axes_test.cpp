#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "axes/axis.hpp"
#include "axes/expression.hpp"
#include "axes/point.hpp"
#include "message_of.hpp"
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
  return message_of([&] { act(); });
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

TEST(AxisValues, OfShapesAreNumbersOrDimensions) {
  EXPECT_THAT(values(AxisKind::shape, "16x16,32x8,8x8x4"), ElementsAre("16x16", "32x8", "8x8x4"));
  EXPECT_THAT(values(AxisKind::shape, "64:192:64,16x1"), ElementsAre("64", "128", "192", "16"));
  EXPECT_THAT(values(AxisKind::shape, "4Kx2K"), ElementsAre("4096x2048"));
  EXPECT_THAT(refusal(AxisKind::shape, "16x"), HasSubstr("'' is not a number"));
  EXPECT_THAT(refusal(AxisKind::shape, "16x0"), HasSubstr("a dimension is at least 1"));
  EXPECT_THAT(refusal(AxisKind::shape, "2x2x2x2"), HasSubstr("at most 3 dimensions"));
  EXPECT_THAT(refusal(AxisKind::shape, "16x16,16x16x1"), HasSubstr("16x16 is there twice"));
  EXPECT_THAT(refusal(AxisKind::shape, "8Gx8Gx8G"), HasSubstr("the total is more than"));
  EXPECT_THAT(refusal(AxisKind::integer, "16x16"), HasSubstr("'16x16' is not a number"));
}

TEST(AxisValues, OfWordsMayHaveCommasInBrackets) {
  EXPECT_THAT(values(AxisKind::text, "product<16,4>,sum<max(1,2)>,plain"),
              ElementsAre("product<16,4>", "sum<max(1,2)>", "plain"));
}

ExpressionValue nothing_named(std::string_view name) {
  throw InputError("there is no " + std::string(name));
}

// The compiler of this test is the reference.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#define EXPECT_AS_IN_C(expression) EXPECT_EQ(evaluate_number(#expression, nothing_named), double(expression))

TEST(Expressions, HaveTheValueThatCGivesThem) {
  EXPECT_AS_IN_C(2 + 3 * 4 - 10 / 4 % 3);
  EXPECT_AS_IN_C(-7 / 2);
  EXPECT_AS_IN_C(-7 % 3);
  EXPECT_AS_IN_C(7.5 / 2);
  EXPECT_AS_IN_C((2 + 3) * (4 - 10));
  EXPECT_AS_IN_C(1 - 2 - 3);
  EXPECT_AS_IN_C(100 / 10 / 5);
  EXPECT_AS_IN_C(1 + 1 == 2 && 3 < 4);
  EXPECT_AS_IN_C(1 || 0 && 0);
  EXPECT_AS_IN_C(!0 + !5);
  EXPECT_AS_IN_C(- -3 - -2);
  EXPECT_AS_IN_C(1 < 2 == 2 > 1);
  EXPECT_AS_IN_C(3 >= 3 != 4 <= 3);
  EXPECT_AS_IN_C(!(1 && 0) || 1 / 1 == 0);
  EXPECT_AS_IN_C(1e3 + .5);
  EXPECT_EQ(evaluate_number("0 && 1 / 0", nothing_named), 0);
  EXPECT_EQ(evaluate_number("1 || (1 % 0 && unknown)", nothing_named), 1);
  EXPECT_EQ(evaluate_number("max(3, min(10, 2 * 4)) + 4K", nothing_named), 8 + 4096);
}
#pragma GCC diagnostic pop

TEST(Expressions, ThatCannotBeReadNameThePlaceAndTheRemedy) {
  const auto refused = [](const std::string& text) {
    return message([&] { evaluate(text, nothing_named); });
  };
  EXPECT_THAT(refused(""), HasSubstr("at letter 1: a value is missing"));
  EXPECT_THAT(refused("1 +"), HasSubstr("at letter 4: a value is missing"));
  EXPECT_THAT(refused("(1 + 2"), HasSubstr("')' is missing"));
  EXPECT_THAT(refused("1 2"), HasSubstr("at letter 3: '2' is not expected"));
  EXPECT_THAT(refused("1 = 2"), HasSubstr("'= 2' is not expected"));
  EXPECT_THAT(refused("1 & 2"), HasSubstr("'& 2' is not expected"));
  EXPECT_THAT(refused("12ab"), HasSubstr("'a' is not expected in a number"));
  EXPECT_THAT(refused("'open"), HasSubstr("no closing quote"));
  EXPECT_THAT(refused("5 % 0"), HasSubstr("5 % 0: write VALUE != 0 && in front of it"));
  EXPECT_THAT(refused("5.5 % 2"), HasSubstr("both sides of % are whole numbers"));
  EXPECT_THAT(refused("'a' + 1"), HasSubstr("'a' is a word"));
  EXPECT_THAT(refused("'a' == 1"), HasSubstr("a word is compared with a number"));
  EXPECT_THAT(refused("some"), HasSubstr("there is no some"));
}

TEST(Expressions, OfAnyDepthAndLengthEnd) {
  const auto refused = [](const std::string& text) {
    return message([&] { evaluate(text, nothing_named); });
  };
  EXPECT_THAT(refused(std::string(1000, '(')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(refused(std::string(1000, '-') + "1"), HasSubstr("more than 64 levels"));
  EXPECT_THAT(refused(std::string(1000, '!') + "1"), HasSubstr("more than 64 levels"));
  EXPECT_THAT(refused(std::string(5000, '1')), HasSubstr("5000 letters; at most 4096"));
  EXPECT_EQ(evaluate_number(std::string(60, '(') + "1" + std::string(60, ')'), nothing_named), 1);
}

const std::vector<SweepAxis> kShaped = {{"block-size", AxisKind::shape, "threads", "256"},
                                        {"grid", AxisKind::shape, "blocks", ""},
                                        {"TILE", AxisKind::text, "of a definition", "16"},
                                        {"body", AxisKind::text, "a word", "latency"}};

Point shaped(std::string block, std::string grid = "64") {
  return points_of(kShaped,
                   std::vector<GivenAxis>{{"block-size", std::move(block)}, {"grid", std::move(grid)}},
                   Combine::product)
      .front();
}

TEST(Configurations, AreWhatTheNamesOfExpressionsStandFor) {
  const Point at = shaped("8x4x2");
  const auto value = [&](const std::string& text) {
    return evaluate_number(text, [&](std::string_view name) { return at.value_of(name); });
  };
  EXPECT_EQ(value("block_size"), 64);
  EXPECT_EQ(value("block_size.x + 10 * block_size.y + 100 * block_size.z"), 8 + 40 + 200);
  EXPECT_EQ(value("grid.y"), 1);
  EXPECT_EQ(value("TILE % block_size.x == 0 && body == 'latency' && body != \"other\""), 1);
  EXPECT_THAT(message([&] { value("block_sise > 1"); }), HasSubstr("the nearest are block_size"));
  EXPECT_THAT(message([&] { value("TILE.x"); }), HasSubstr("shapes alone have .x, .y and .z"));
}

TEST(Configurations, FillTextsInWithValuesDimensionsAndExpressions) {
  const Point at = shaped("8x4");
  EXPECT_EQ(at.filled_in("float[{block-size}*{TILE}]"), "float[32*16]");
  EXPECT_EQ(at.filled_in("{block-size.x}x{block_size.y}"), "8x4");
  EXPECT_EQ(at.filled_in("int={1024 / (block_size.x * TILE)}"), "int=8");
  EXPECT_EQ(at.filled_in("k<{body}>"), "k<latency>");
  EXPECT_THAT(message([&] { at.filled_in("{block-size"); }), HasSubstr("a '}' is missing"));
  EXPECT_THAT(message([&] { at.filled_in("{block-sze}"); }),
              HasSubstr("block-sze: at letter 1: there is no value block; the nearest are block_size"));
}

TEST(Configurations, HaveAxesThatAreMadeOfOthersAndThatNameNoCase) {
  Point at = shaped("32x8", "{1024 / block_size.x}x{1024 / block_size.y}");
  at.resolve();
  EXPECT_EQ(at.shape("grid"), (Shape{32, 128, 1}));
  EXPECT_FALSE(at.values()[1].named);
  at = shaped("32x8", "{5 / 32}");
  EXPECT_THAT(message([&] {
                at.resolve();
                at.shape("grid");
              }),
              HasSubstr("--grid 0: a dimension is at least 1"));
  at = shaped("{grid}", "{block_size}");
  EXPECT_THAT(message([&] { at.resolve(); }), HasSubstr("in a circle"));
}

// They are resolved when they are chosen and again when they are planned.
TEST(Configurations, HaveNoValueThatWouldBeFilledInAgain) {
  const std::array<SweepAxis, 1> axes = {{{"body", AxisKind::text, "", ""}}};
  Point at = points_of(axes, std::array<GivenAxis, 1>{{{"body", "{'{8'}}"}}}, Combine::product).front();
  EXPECT_THAT(message([&] { at.resolve(); }), HasSubstr("--body {'{8'}}: it gives {8}, and a value"));
}

}  // namespace
}  // namespace occbench
