#include "harness/benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void plain_function(const float*, float*) {}

/// A kernel of the user's with an axis of numbers and one of words.
Experiment mine() {
  return benchmark("mine", "wide is fast", {{"tile", "16,32"}, {"layout", "rows"}}, [](const Point& at) {
    const std::int64_t tile = at.integer("tile");
    return Launchable{.function = kernel(plain_function),
                      .launch = {.block_threads = static_cast<int>(8 * tile), .grid_blocks = 1056},
                      .arguments = {random_values<float>(1024), zeros<float>(1024)},
                      .work = Work::equal(5000)};
  });
}

class OwnBenchmarks : public RunCases {
 protected:
  std::string listed(std::vector<std::string> arguments) {
    arguments.emplace_back("--occ_list");
    ::testing::internal::CaptureStdout();
    run(mine(), std::move(arguments));
    return ::testing::internal::GetCapturedStdout();
  }
};

TEST_F(OwnBenchmarks, HaveACaseForEachConfigurationOfTheirAxes) {
  const Experiment experiment = mine();
  const std::vector<Case> cases = experiment.cases(Planner(device_));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(case_name(cases[0]), "mine/compiled/tile=16");
  EXPECT_EQ(cases[1].launch.block_threads, 256);
  EXPECT_EQ(cases[1].suite, Suite::smoke);
  EXPECT_EQ(cases[1].work, Work::equal(5000));
}

TEST_F(OwnBenchmarks, NameTheirAxesAsTheyAreDeclared) {
  const Experiment capped = benchmark("capped", "few are enough", {{"registers", "24,64"}}, [](const Point&) {
    return Launchable{.function = kernel(plain_function), .launch = {.block_threads = 32, .grid_blocks = 1}};
  });
  EXPECT_EQ(case_name(capped.cases(Planner(device_)).front()), "capped/compiled/registers=24");
}

TEST_F(OwnBenchmarks, AreListedWithTheoryBeforeAnythingIsAllocated) {
  const std::string lines = listed({"--occ_suite=smoke"});
  EXPECT_THAT(lines, HasSubstr("\"case\":\"mine/compiled/tile=32\""));
  EXPECT_THAT(lines, HasSubstr("\"theoretical_pct\":100.0"));
}

TEST_F(OwnBenchmarks, AreSweptOverOtherValues) {
  const std::string lines =
      listed({"--occ_sweep=mine", "--occ_axis=tile=4:12:4", "--occ_axis=layout=rows,columns"});
  EXPECT_THAT(lines, HasSubstr("\"case\":\"mine/compiled/tile=12/layout=columns\""));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 6);
}

TEST(KernelInstances, AreChosenByTheValuesOfTheirTemplateArguments) {
  static const int places[] = {0, 1, 2, 3};
  const auto chosen = [&](std::int64_t side, std::int64_t most) {
    return instance(OneOf<16, 32>{side}, OneOf<24, 64>{most}, [](auto one, auto other) -> const void* {
      return &places[(one == 32 ? 2 : 0) + (other == 64 ? 1 : 0)];
    });
  };
  EXPECT_EQ(chosen(16, 24), &places[0]);
  EXPECT_EQ(chosen(16, 64), &places[1]);
  EXPECT_EQ(chosen(32, 64), &places[3]);
  EXPECT_EQ(message_of([&] { chosen(48, 24); }), "48: the kernel is compiled for 16, 32");
}

TEST(KernelArguments, HaveTheTypesOfTheirElements) {
  EXPECT_EQ(random_values<double>(3), (Argument{.type = ElementType::float64, .count = 3}));
  EXPECT_EQ(iota<unsigned char>(3),
            (Argument{.type = ElementType::uint8, .count = 3, .contents = Contents::iota}));
  EXPECT_EQ(value(5L), (Argument{.type = ElementType::int64, .value = 5}));
}

}  // namespace
}  // namespace occbench
