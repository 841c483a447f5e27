#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "predict/work.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Durations, AreOneNumberALine) {
  EXPECT_THAT(parse_durations("100\n200\r\n 3.5e2 \n", "f", false).cycles, ElementsAre(100, 200, 350));
  EXPECT_THAT(parse_durations("7", "f", false).cycles, ElementsAre(7));
}

TEST(Durations, ComplaintsNameFileAndLine) {
  const auto complains = [](std::string_view text, std::string_view about) {
    EXPECT_THAT([&] { parse_durations(text, "cycles.txt", false); },
                ThrowsMessage<InputError>(HasSubstr(std::string(about))))
        << text;
  };
  complains("", "cycles.txt:1: no durations");
  complains("1\n\n3\n", "cycles.txt:2: '' is not a number");
  complains("1\n2\nthree\n", "cycles.txt:3: 'three'");
  complains("1\n-2\n", "cycles.txt:2: -2 cycles are out of range");
  complains("0\n", "cycles.txt:1: 0 cycles are out of range: 1 to");
  complains("0.4\n", "cycles.txt:1: 0.4 cycles are out of range: 1 to 1000000000000000, once rounded");
  complains("1\nnan\n", "cycles.txt:2: 'nan' is not a number");
  complains("1e16\n", "cycles.txt:1: 1e16");
  complains("1 2\n", "cycles.txt:1: '1 2'");
}

TEST(Durations, TooFewOrTooManyForTheGridAreRefusedWithTheLine) {
  const auto complains = [](std::string_view text, bool per_warp, std::string_view about) {
    EXPECT_THAT([&] { Tasks(parse_durations(text, "f", per_warp), 3, 2); },
                ThrowsMessage<InputError>(HasSubstr(std::string(about))));
  };
  complains("1\n2\n", false, "f:3: 2 durations for a grid of 3 blocks");
  complains("1\n2\n3\n4\n", false, "f:4: 4 durations for a grid of 3 blocks");
  complains("1\n2\n3\n", true, "f:4: 3 durations for a grid of 6 warps");
  EXPECT_NO_THROW(Tasks(parse_durations("1\n2\n3\n4\n5\n6\n", "f", true), 3, 2));
}

TEST(Tasks, OneNumberServesAll) {
  const Tasks tasks(parse_durations("500\n", "f", true), 3, 2);
  EXPECT_TRUE(tasks.all_equal());
  EXPECT_EQ(tasks.warp_cycles(2, 1), 500);
}

TEST(Tasks, EvenedOutKeepTheirTotal) {
  const Tasks tasks({{100, 200, 300, 600}, true}, 2, 2);
  EXPECT_TRUE(tasks.differ_within_blocks());
  EXPECT_EQ(tasks.mean_cycles(), 300);
  EXPECT_EQ(tasks.block_cycles(0), 200);  // until its longest warp is done

  const Tasks within = tasks.even_within_blocks();
  EXPECT_FALSE(within.differ_within_blocks());
  EXPECT_EQ(within.block_cycles(0), 150);
  EXPECT_EQ(within.warp_cycles(1, 0), 450);

  const Tasks everywhere = tasks.even_everywhere().stretched(10);
  EXPECT_TRUE(everywhere.all_equal());
  EXPECT_EQ(everywhere.warp_cycles(1, 0), 3000);
}

TEST(Tasks, RatesAreThoseOfAWarpAlone) {
  const Tasks tasks(parse_work("every:80000:2:3:issue=20000:pipe=60000:bytes=40000"), 4, 8);
  EXPECT_EQ(tasks.rates(), (Rates{.issue = 0.25, .pipe = 0.75, .bytes = 0.5}));
  EXPECT_TRUE(tasks.contends());
  EXPECT_FALSE(tasks.alone().contends());
}

}  // namespace
}  // namespace occbench
