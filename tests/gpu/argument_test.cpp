#include "gpu/argument.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    try {
      parse_argument(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(refusal("float4[4]"),
              AllOf(HasSubstr("'float4' is none of float"), HasSubstr("float[4*1024] for float4[1024]")));
  EXPECT_THAT(refusal("float[4"), HasSubstr("a ']' is missing"));
  EXPECT_THAT(refusal("float[0]"), HasSubstr("at least one element"));
  EXPECT_THAT(refusal("float[many]"), HasSubstr("'many' is no number of elements"));
  EXPECT_THAT(refusal("float[1<<60]"), HasSubstr("no GPU has so much memory"));
  EXPECT_THAT(refusal("float[1<<30*9]"), HasSubstr("'30*9' is no number"));
  EXPECT_THAT(refusal("float[4]=ones"), HasSubstr("=random, =zeros and =iota"));
  EXPECT_THAT(refusal("int=five"), HasSubstr("the value is not a number"));
  EXPECT_THAT(refusal("int=2.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal("float[99999999999999999999]"), HasSubstr("is no number of elements"));
}

}  // namespace
}  // namespace occbench
