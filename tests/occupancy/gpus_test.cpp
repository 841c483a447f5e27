#include "occupancy/gpus.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string why_not(std::string_view name) {
  return message_of([&] { gpu_of(name); });
}

TEST(Gpus, AreMoreThanAHundredFromG80ToBlackwell) {
  EXPECT_GT(all_gpus().size(), 100u);
  EXPECT_EQ(all_gpus().front().name, "8800-gtx");
  EXPECT_EQ(all_gpus().back().name, "gb10");
}

// 10.1 became 11.0 with CUDA 13, before a product had it.
TEST(Gpus, AreOfEveryComputeCapabilityOfTheLimitsTableBut101AndOfNoOther) {
  std::set<ComputeCapability> of_gpus;
  for (const Gpu& gpu : all_gpus()) of_gpus.insert(gpu.compute_capability);
  std::set<ComputeCapability> of_limits;
  for (const Limits& limits : all_limits()) of_limits.insert(limits.compute_capability);
  of_limits.erase({10, 1});
  EXPECT_EQ(of_gpus, of_limits);
}

TEST(Gpus, HaveNamesOfTheirOwnInLowerCaseWithDashes) {
  std::set<std::string_view> names;
  std::set<std::string_view> driver_names;
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_TRUE(gpu.driver_name.empty() || driver_names.insert(gpu.driver_name).second) << gpu.driver_name;
    EXPECT_TRUE(std::ranges::all_of(gpu.name, [](unsigned char c) {
      return std::islower(c) || std::isdigit(c) || c == '-';
    })) << gpu.name;
  }
}

// Both names must lead to the line itself, not to one whose name folds to the same.
TEST(Gpus, AreFoundByTheirKeyAndByTheDriversName) {
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_EQ(&gpu_of(gpu.name), &gpu) << gpu.name;
    if (gpu.driver_name.empty()) continue;
    EXPECT_EQ(find_gpu_by_driver_name(gpu.driver_name), &gpu) << gpu.driver_name;
    EXPECT_EQ(&gpu_of(gpu.driver_name), &gpu) << gpu.driver_name;
  }
}

TEST(Gpus, AreFoundHoweverTheirNameIsTyped) {
  EXPECT_EQ(gpu_of("A100-SXM4-80GB").name, "a100-sxm4-80gb");
  EXPECT_EQ(gpu_of("nvidia h100 80gb hbm3").name, "h100-sxm5-80gb");
  EXPECT_EQ(gpu_of("RTX4090").name, "rtx-4090");
  EXPECT_EQ(gpu_of("a100_sxm4_80gb").name, "a100-sxm4-80gb");
  EXPECT_EQ(gpu_of("RTX 4090").name, "rtx-4090");
  EXPECT_EQ(gpu_of("H100 SXM").name, "h100-sxm5-80gb");
  EXPECT_EQ(gpu_of("l4").name, "l4");
  EXPECT_THAT(why_not("rtx3080"), HasSubstr("'rtx3080' may be rtx-3080-10gb (68 SMs), rtx-3080-"));
}

// Drivers wrote "GeForce GTX 1080 Ti" until 2021 and "NVIDIA GeForce GTX 1080 Ti" since.
TEST(Gpus, AreFoundWithAndWithoutTheMakersNameThatNewerDriversWrite) {
  EXPECT_EQ(find_gpu_by_driver_name("GeForce GTX 1080 Ti"), &gpu_of("gtx-1080-ti"));
  EXPECT_EQ(find_gpu_by_driver_name("NVIDIA GeForce GTX 1080 Ti"), &gpu_of("gtx-1080-ti"));
  EXPECT_EQ(find_gpu_by_driver_name("A100-SXM4-40GB"), &gpu_of("a100-sxm4-40gb"));
}

// Orin is what the driver calls every Orin module, so no line has that name.
TEST(Gpus, AreNotFoundByANameThatTheTableLacksOrThatSeveralShare) {
  EXPECT_EQ(find_gpu_by_driver_name("Orin"), nullptr);
  EXPECT_EQ(find_gpu_by_driver_name("NVIDIA GeForce RTX 4090 Laptop GPU"), nullptr);
  EXPECT_EQ(find_gpu_by_driver_name(""), nullptr);
}

TEST(Gpus, ThatTheTableLacksAreRefusedWithTheNearestNames) {
  EXPECT_THAT(why_not("rtx-4091"), AllOf(HasSubstr("'rtx-4091'"), HasSubstr("nearest are rtx-4090, ")));
  EXPECT_THAT(why_not("a100"), AllOf(HasSubstr("a100-pcie-40gb (108 SMs)"),
                                     HasSubstr("a100-sxm4-80gb (108 SMs): name one of them")));
  EXPECT_THAT(why_not("Tesla V100"), AllOf(HasSubstr("v100-sxm2-32gb"), Not(HasSubstr("t4"))));
  EXPECT_THAT(why_not(""), HasSubstr("nearest are"));
  EXPECT_THAT(why_not("rtx"), HasSubstr("nearest are"));
}

// Resident threads of the whole GPU = SMs x threads an SM, from NVIDIA's data sheets and the guides of the
// time.
TEST(Gpus, HoldAsManyThreadsAsTheirEnabledSmsDo) {
  const auto threads = [](std::string_view name) {
    const Gpu& gpu = gpu_of(name);
    return gpu.sm_count * limits_of(gpu.compute_capability).max_threads_per_sm();
  };
  EXPECT_EQ(threads("8800-gtx"), 12'288);
  EXPECT_EQ(threads("gtx-280"), 30'720);
  EXPECT_EQ(threads("k80"), 26'624);
  EXPECT_EQ(threads("p100-sxm2-16gb"), 114'688);
  EXPECT_EQ(threads("v100-sxm2-32gb"), 163'840);
  EXPECT_EQ(threads("t4"), 40'960);
  EXPECT_EQ(threads("a100-sxm4-80gb"), 221'184);
  EXPECT_EQ(threads("h100-pcie-80gb"), 233'472);
  EXPECT_EQ(threads("h200"), 270'336);
  EXPECT_EQ(threads("rtx-4090"), 196'608);
}

// Peak FP32 = 2 x lanes x SMs x clock. Sources: NVIDIA's data sheet (S), board specification (B),
// architecture whitepaper (W); multiply-adds alone for 1.x (M), whose data sheets count a multiplication
// more.
TEST(Gpus, HaveThePublishedPeakFloatingPointRate) {
  struct Published {
    const char* gpu;
    double gflops;
  };
  for (const auto& [name, gflops] : {
           Published{"8800-gtx", 345.6},         // M
           Published{"gtx-280", 622},            // M
           Published{"c2050", 1'030},            // S
           Published{"k40", 5'040},              // B
           Published{"k80", 8'730.0 / 2},        // B, of two GPUs
           Published{"m40", 6'840},              // W of the P100
           Published{"p100-pcie-16gb", 9'300},   // S
           Published{"p100-sxm2-16gb", 10'600},  // S
           Published{"v100-sxm2-16gb", 15'700},  // S
           Published{"t4", 8'100},               // S
           Published{"rtx-2080-ti", 13'450},     // W
           Published{"a100-sxm4-40gb", 19'500},  // S
           Published{"a30", 10'300},             // S
           Published{"a2", 4'500},               // S
           Published{"a10", 31'200},             // S
           Published{"a40", 37'400},             // S
           Published{"rtx-3090", 35'600},        // W
           Published{"rtx-4090", 82'600},        // W
           Published{"l4", 30'300},              // S
           Published{"l40s", 91'600},            // S
           Published{"h100-sxm5-80gb", 66'900},  // W
           Published{"h100-pcie-80gb", 51'200},  // W
           Published{"gh200-96gb", 67'000},      // S
           Published{"b200", 75'000},            // S of the HGX B200
           Published{"gb200", 80'000},           // S of the GB200 NVL72
           Published{"rtx-5090", 104'800},       // W
       }) {
    const Gpu& gpu = gpu_of(name);
    const double peak =
        2.0 * limits_of(gpu.compute_capability).fp32_lanes * gpu.sm_count * gpu.clock_mhz / 1000;
    EXPECT_NEAR(peak, gflops, 0.01 * gflops) << name;
  }
}

// DDR2 (0.4 Gbit/s a pin) to GDDR7 (30) and HBM (up to 8): exchanged columns would leave this range.
TEST(Gpus, MoveBetweenOneAndThirtyTwoGigabitsASecondOnEachPinOfTheirBus) {
  for (const Gpu& gpu : all_gpus()) {
    const double per_pin = gpu.bandwidth_gb_s * 8 / gpu.memory_bus_bits;
    EXPECT_GT(per_pin, 1) << gpu.name;
    EXPECT_LT(per_pin, gpu.memory_bus_bits > 1000 ? 10 : 32) << gpu.name;
    EXPECT_EQ(gpu.memory_bus_bits % 32, 0) << gpu.name;
  }
}

TEST(Gpus, HaveAnL2CacheForGlobalMemoryFromComputeCapability2On) {
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_EQ(gpu.l2_kb > 0, gpu.compute_capability.major >= 2) << gpu.name;
    EXPECT_EQ(gpu.l2_kb % 128, 0) << gpu.name;
  }
}

}  // namespace
}  // namespace occbench
