#include "gpu/argument.hpp"

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "gpu/prepared_arguments.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Arguments, AreBuffersByTypeCountAndContents) {
  EXPECT_EQ(parse_argument("float[1<<24]"), (Argument{.type = ElementType::float32, .count = 16'777'216}));
  EXPECT_EQ(parse_argument("double[512*512]=zeros"),
            (Argument{.type = ElementType::float64, .count = 262'144, .contents = Contents::zeros}));
  EXPECT_EQ(parse_argument("unsigned char[48K]=iota"),
            (Argument{.type = ElementType::uint8, .count = 49'152, .contents = Contents::iota}));
}

TEST(Arguments, AreValuesWithOrWithoutTheirType) {
  EXPECT_EQ(parse_argument("int=5"), (Argument{.type = ElementType::int32, .value = 5}));
  EXPECT_EQ(parse_argument("5"), (Argument{.type = ElementType::int32, .value = 5}));
  EXPECT_EQ(parse_argument("0.25"), (Argument{.type = ElementType::float32, .value = 0.25}));
  EXPECT_EQ(parse_argument("double=1e-3"), (Argument{.type = ElementType::float64, .value = 1e-3}));
  EXPECT_EQ(parse_argument("size_t=1024"), (Argument{.type = ElementType::uint64, .value = 1024}));
}

TEST(Arguments, ThatCannotBeReadAreRefusedWithTheReason) {
  const auto refusal = [](std::string_view text) -> std::string {
    return message_of([&] { parse_argument(text); });
  };
  EXPECT_THAT(refusal("float4[4]"),
              AllOf(HasSubstr("'float4' is none of float"), HasSubstr("float[4*1024] for float4[1024]")));
  EXPECT_THAT(refusal("float[4"), HasSubstr("a ']' is missing"));
  EXPECT_THAT(refusal("float[0]"), HasSubstr("at least one element"));
  EXPECT_THAT(refusal("float[many]"), HasSubstr("'many' is no number of elements"));
  EXPECT_THAT(refusal("float[1<<60]"), HasSubstr("no GPU has so much memory"));
  EXPECT_THAT(refusal("float[1<<30*9]"), HasSubstr("'30*9' is no number"));
  EXPECT_THAT(refusal("float[4]=ones"), HasSubstr("=random, =zeros, =iota and =@FILE"));
  EXPECT_THAT(refusal("int=five"), HasSubstr("the value is not a number"));
  EXPECT_THAT(refusal("int=2.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal("float[99999999999999999999]"), HasSubstr("is no number of elements"));
}

TEST(Arguments, AreBuffersWithTheBytesOfAFileOfTheirSize) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "in.bin").string();
  std::ofstream(file, std::ios::binary) << std::string(16, 'x');
  const Argument argument = parse_argument("float[4]=@" + file);
  EXPECT_EQ(argument.contents, Contents::file);
  EXPECT_EQ(argument.file, file);
  EXPECT_THAT(bytes_of_file(file, 16), ::testing::Each(std::byte{'x'}));
  EXPECT_THROW(bytes_of_file(file, 12), InputError);
  const auto refusal = [](const std::string& text) -> std::string {
    return message_of([&] { parse_argument(text); });
  };
  EXPECT_THAT(refusal("float[5]=@" + file), HasSubstr("has 16 bytes, and the buffer 20: give the count"));
  EXPECT_THAT(refusal("float[5]=@/nowhere"), HasSubstr("/nowhere cannot be read: No such file"));
}

template <typename T>
bool equal(ElementType type, std::vector<T> found, std::vector<T> expected, double tolerance) {
  return equal_within(type, std::as_bytes(std::span(found)), std::as_bytes(std::span(expected)), tolerance);
}

TEST(Results, AreEqualWithinATolerance) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto floats = [](float found, float expected) {
    return equal<float>(ElementType::float32, {1, found}, {1, expected}, 1e-3);
  };
  EXPECT_TRUE(floats(1000.9F, 1000));  // 1e-3 of what is expected
  EXPECT_FALSE(floats(1001.1F, 1000));
  EXPECT_TRUE(floats(0.0009F, 0));  // 1e-3 of 1
  EXPECT_FALSE(floats(0.0011F, 0));
  EXPECT_FALSE(floats(kNan, 1));
  EXPECT_FALSE(floats(1, kNan));
  EXPECT_TRUE(floats(kNan, kNan));
  EXPECT_TRUE(floats(kInfinity, kInfinity));
  EXPECT_FALSE(floats(1, kInfinity));
  EXPECT_FALSE(floats(-kInfinity, kInfinity));
  EXPECT_TRUE(equal<double>(ElementType::float64, {2.0005}, {2}, 1e-3));
  EXPECT_FALSE(equal<int>(ElementType::int32, {1000}, {1001}, 1));
}

}  // namespace
}  // namespace occbench
