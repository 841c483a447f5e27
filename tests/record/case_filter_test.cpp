#include "record/case_filter.hpp"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string refusal(auto&& make, const std::string& text) {
  return message_of([&] { make(text); });
}

/// Expressions that take a matcher that goes back time without end, and whether the name of 28,000 letters has them.
const std::pair<const char*, bool> kSlowByGoingBack[] = {{"(a+)+$", false}, {"(a|a)*$", true},
                                                         {"(a*)*b", false}, {"^(a|aa)+$", false},
                                                         {".*b", false},    {"(.*)(.*)(.*)b", false}};

TEST(CaseFilter, IsFoundAnywhereAndWithAMinusNowhere) {
  EXPECT_TRUE(case_filter("")("waves/spin"));
  EXPECT_TRUE(case_filter("all")("waves/spin"));
  EXPECT_TRUE(case_filter("^waves/.*in$")("waves/spin"));
  EXPECT_FALSE(case_filter("^spin")("waves/spin"));
  EXPECT_FALSE(case_filter("-spin")("waves/spin"));
  EXPECT_TRUE(case_filter("-pins")("waves/spin"));
  EXPECT_TRUE(case_filter("(w|x)av{1}es\\/[^/]+=(1|2)\\.5")("waves/spin=2.5"));
}

TEST(CaseFilter, TakesTimeInProportionToTheNameWhateverTheExpression) {
  const auto begin = steady_clock::now();
  for (const std::size_t length : {std::size_t{36}, std::size_t{28'000}}) {
    const std::string name = std::string(length, 'a') + "!";
    for (const auto& [expression, found] : kSlowByGoingBack)
      EXPECT_EQ(case_filter(expression)(name), found) << expression;
  }
  EXPECT_LT(steady_clock::now() - begin, seconds(5));
}

TEST(CaseFilter, ThatIsNoExpressionOrTooLargeIsAMessage) {
  for (const std::string& text :
       {std::string("("), std::string("a**b("), std::string("[z-a]"), std::string("(a)\\1"),
        std::string("a{1000000}"), std::string("((a{1000}){1000}){1000}"), std::string(16'000, '(')}) {
    const std::string message = refusal(case_filter, text);
    EXPECT_THAT(message,
                AllOf(StartsWith("'"), HasSubstr("' is not a regular expression: "), SizeIs(Lt(250u))))
        << text.substr(0, 30);
  }
  EXPECT_EQ(refusal(case_filter, std::string(58'000, 'x')), "nothing was thrown");
  EXPECT_EQ(refusal(case_filter, std::string(16'000, '(') + std::string(16'000, ')')), "nothing was thrown");
}

TEST(KernelFilter, SelectsByPosixExtendedExpressions) {
  EXPECT_TRUE(checked_kernel_filter("")("f"));
  EXPECT_TRUE(checked_kernel_filter("^gemm<(float|half)>")("gemm<half>(int)"));
  EXPECT_FALSE(checked_kernel_filter("-gemm")("gemm<half>(int)"));
  EXPECT_TRUE(checked_kernel_filter("-gemm")("fill(int)"));
}

TEST(KernelFilter, TakesNoTimeWithoutEndEither) {
  const auto begin = steady_clock::now();
  for (const std::size_t length : {std::size_t{36}, std::size_t{28'000}}) {
    const std::string name = std::string(length, 'a') + "!";
    for (const auto& [expression, found] : kSlowByGoingBack) {
      // Beyond kMostOfName no '!' follows.
      const bool seen = found || (length > kMostOfName && std::string_view(expression).ends_with('$'));
      EXPECT_EQ(checked_kernel_filter(expression)(name), seen) << expression << length;
    }
  }
  EXPECT_LT(steady_clock::now() - begin, seconds(10));
}

TEST(KernelFilter, RefusesWhatTheCLibraryMustNotBeGiven) {
  for (const char* text : {"(a)\\1", "\\w+", "((a{1,255}){1,255}){1,255}", "(", "-(", "a{70000}"})
    EXPECT_THAT(refusal(checked_kernel_filter, text),
                HasSubstr("is not a regular expression of POSIX's extended syntax"))
        << text;
  EXPECT_THAT(refusal(checked_kernel_filter, std::string(1001, 'a')),
              HasSubstr("has 1001 characters; at most 1000"));
  EXPECT_THAT(refusal(checked_kernel_filter, std::string(58'000, '(')), HasSubstr("at most 1000"));
}

}  // namespace
}  // namespace occbench
