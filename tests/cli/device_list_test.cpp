#include "cli/device_list.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<GpuHere> kThree = {{0, "GPU-a", "0000:1b:00.0"}, {1, "GPU-b", ""}, {2, "GPU-c", ""}};

std::vector<int> numbers(const std::string& choice,
                         const std::optional<std::vector<GpuHere>>& here = kThree) {
  std::vector<int> all;
  for (const GpuHere& gpu : listed_gpus(choice, here)) all.push_back(gpu.index);
  return all;
}

std::string refusal(const std::string& choice, const std::optional<std::vector<GpuHere>>& here = kThree) {
  try {
    static_cast<void>(listed_gpus(choice, here));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(DeviceList, AllIsEveryGpuOfTheMachineAndAListIsInItsOwnOrder) {
  EXPECT_THAT(numbers("all"), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers("2,0"), ElementsAre(2, 0));
  EXPECT_EQ(listed_gpus("2,0", kThree)[1].uuid, "GPU-a");
}

TEST(DeviceList, AutoAndOneNumberNameNoList) {
  EXPECT_THAT(numbers("auto"), IsEmpty());
  EXPECT_THAT(numbers("1"), IsEmpty());
  EXPECT_THAT(numbers("7"), IsEmpty());
}

TEST(DeviceList, WithoutAGpuThereIsNoneToListButAWrongListIsRefused) {
  EXPECT_THAT(numbers("all", std::vector<GpuHere>()), IsEmpty());
  EXPECT_THAT(numbers("0,1", std::vector<GpuHere>()), IsEmpty());
  EXPECT_THAT(refusal("0,x", std::vector<GpuHere>()), HasSubstr("'x'"));
}

TEST(DeviceList, RefusesGpusThatAreNotThereOrTwiceWithTheLimitAndTheRemedy) {
  EXPECT_THAT(refusal("0,3"), AllOf(HasSubstr("--device 0,3"), HasSubstr("no GPU 3"),
                                    HasSubstr("has 3 (0 to 2)"), HasSubstr("occbench devices")));
  EXPECT_THAT(refusal("1,0,1"), AllOf(HasSubstr("GPU 1"), HasSubstr("twice"), HasSubstr("once")));
}

TEST(DeviceList, RefusesWhatIsNoNumber) {
  for (const char* const choice :
       {"0,", ",0", ",", "0,,1", "0,a", "0,1.5", "0,-1", "0,auto", "0, 1", "0,99999999999"})
    EXPECT_THAT(refusal(choice), HasSubstr("a list such as 0,2")) << choice;
}

TEST(DeviceList, HasAnyNumbersWhereNoGpuIsLookedForButNotAll) {
  EXPECT_THAT(numbers("5,70", std::nullopt), ElementsAre(5, 70));
  EXPECT_THAT(refusal("all", std::nullopt), HasSubstr("name numbers"));
}

/// @param words  without the command's name
std::string resumed(const std::string& name, Action (*declare)(CLI::App&), std::vector<std::string> words) {
  CLI::App parser("", name);
  const Action unused = declare(parser);
  std::ranges::reverse(words);
  parser.parse(words);
  return resuming_command(parser, "rows.csv");
}

TEST(ResumedCommand, IsTheSameWithItsFileAndResume) {
  EXPECT_EQ(
      resumed(
          "run", declare_run,
          {"--suite", "full", "--filter", "waves=(1|2)", "--shard", "2/2", "--profile", "my.profile",
           "--metrics", "a.sum,b.avg", "--timeline", "it's here", "--out", "old.csv", "--one-after-another"}),
      "occbench run --suite full --filter 'waves=(1|2)' --shard 2/2 --at-once=false --profile my.profile "
      "--metrics a.sum,b.avg --timeline 'it'\\''s here' --out rows.csv --resume");
}

TEST(ResumedCommand, OfASweepHasItsKernelAndAxes) {
  EXPECT_EQ(
      resumed("sweep", declare_sweep,
              {"spin", "--check-against", "naive<<<64,256>>>", "--tolerance", "0.01", "--block-size",
               "16x16,{TILE}x8", "--where", "block_size.x > 8", "--fastest", "--budget", "30", "--counters",
               "off", "--arg", "float[4]", "--arg", "int=5"}),
      "occbench sweep spin --block-size '16x16,{TILE}x8' --fastest --budget 30 --where 'block_size.x > 8' "
      "--arg 'float[4]' --arg int=5 --check-against 'naive<<<64,256>>>' --tolerance 0.01 --counters off "
      "--out rows.csv --resume");
}

}  // namespace
}  // namespace occbench
