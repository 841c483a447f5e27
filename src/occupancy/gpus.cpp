#include "occupancy/gpus.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

constexpr std::size_t kSuggestions = 5;
/// A word in the names of more GPUs than this, such as rtx, names none of them.
constexpr std::size_t kMostMeant = 12;
/// Words of names that people leave out: typed as one word (rtx4090, 4090), or as several (titan for gtx-titan).
constexpr std::string_view kProductLines[] = {"", "rtx", "gtx"};
constexpr std::string_view kMayBeMissing[] = {"rtx", "gtx", "gt", "quadro", "jetson", "agx"};
/// Words that change the product: a GTX 1660 is not a GTX 1660 Ti, a Quadro 6000 is not a Quadro RTX 6000.
constexpr std::string_view kOtherProducts[] = {"ti", "super", "d", "gt", "gtx", "rtx"};

// Sources, by key, at the end of each line:
//   D  deviceQuery of the CUDA samples, or the same device properties, as users of the GPU published
//      them: the driver's name, SMs, memory bus, L2, memory clock. Bandwidth = 2 x memory clock x bus.
//   S  NVIDIA's data sheet, product brief, board or module specification, as quoted by others
//   T  TechPowerUp's GPU database, December 2025
//   W  NVIDIA's architecture whitepaper or its table for reviewers, as quoted by others
// D decides on SMs, bus and L2; S, W or T on the clock, since the driver reports the highest clock, often of
// an overclocked board. Figures that T has otherwise than the table are given below; lines with T alone are
// less certain, their L2 above all.
//
//   1.x           L2 for textures only: deviceQuery reports none.
//   k10 k80 m60   One of the board's two GPUs.
//   jetson-tk1    T: 951 MHz, 7.5 GB/s.
//   k40           Boost clock of S; 745 MHz is the driver's default.
//   k80           Highest boost clock of S; D and T: 824 MHz.
//   gtx-970       T: 2048 KB of L2. The last 0.5 of 4 GB are read at 32 bits.
//   gtx-titan-x   T: 1089 MHz.
//   m40           D and T: 1112 MHz.
//   jetson-tx1    Bandwidth of the Jetson Nano, the same chip and bus; T: 9.6 GB/s.
//   p100-pcie     Boost clock of S; D and T: 1329 MHz.
//   v100          Bandwidth of S; D and T: 898 GB/s.
//   v100-pcie     S computes with 1370 MHz.
//   jetson-xavier-nx  Bus of T; the driver reports 256 bits. T: 256 KB of L2.
//   a100          Bandwidth of S and D. a100-pcie-80gb: T has 80 MB of L2.
//   a10g          Unsure: bus and bandwidth, those of the A10.
//   rtx-3060-12gb rtx-3060-ti  T: 3072 and 4096 KB of L2.
//   jetson-orin   Bus and bandwidth of T; the driver reports 64 to 256 bits for one module. T: L2 of 6144 KB
//                 (AGX) and 4096 KB (NX). The Nano's "super" mode: 1020 MHz, 102.4 GB/s.
//   l4            T: 60 SMs, and yet the 7,424 lanes of 58.
//   l40s          T: 48 MB of L2.
//   h100-nvl h200 T: 50 MB of L2, that of GPUs with five HBM stacks.
//   h20           Unsure: clock, bandwidth and bus; D has SMs and L2.
//   h200          Bandwidth of S; the driver's memory clock (3201 MHz) gives 4917 GB/s.
//   gh200-96gb    The driver's name has the CPU's memory: GH200 480GB or 120GB.
//   b200 b300     T has the memory of one of two dies, and 50 MB of L2. S: 7.7 TB/s or, of a B200 with
//                 192 GB, 8. Drivers reported 8192 bits until 2026. b300: the bus follows from D's bandwidth.
//   gb200         The bus follows from D's bandwidth. S: 8 TB/s. Unsure: L2, taken from the b200.
//   jetson-thor   The T5000 module, clock of S; the driver reports 1049 MHz. T: 2525 MHz, 50 MB of L2.
//   rtx-pro-6000-blackwell-server  Unsure: the clock, the driver's highest; T: 2617 MHz, 1790 GB/s.
//   gb10          T: 50 MB of L2.

// clang-format off
constexpr auto kGpus = std::to_array<Gpu>({
    // name, driver's name, compute capability, SMs, clock (MHz), bandwidth (GB/s), bus (bits), L2 (KB)
    {"8800-gtx", "GeForce 8800 GTX", {1, 0}, 16, 1350, 86.4, 384, 0},                                            // T
    {"c870", "Tesla C870", {1, 0}, 16, 1350, 76.8, 384, 0},                                                      // T
    {"8800-gt", "GeForce 8800 GT", {1, 1}, 14, 1500, 57.6, 256, 0},                                              // T
    {"9800-gtx", "GeForce 9800 GTX", {1, 1}, 16, 1688, 70.4, 256, 0},                                            // T
    {"gt-240", "GeForce GT 240", {1, 2}, 12, 1340, 54.4, 128, 0},                                                // T
    {"gtx-280", "GeForce GTX 280", {1, 3}, 30, 1296, 141.7, 512, 0},                                             // T
    {"gtx-285", "GeForce GTX 285", {1, 3}, 30, 1476, 159.0, 512, 0},                                             // T
    {"c1060", "Tesla C1060", {1, 3}, 30, 1296, 102.4, 512, 0},                                                   // T; D: SMs
    {"gtx-480", "GeForce GTX 480", {2, 0}, 15, 1401, 177.4, 384, 768},                                           // T
    {"gtx-580", "GeForce GTX 580", {2, 0}, 16, 1544, 192.4, 384, 768},                                           // T
    {"c2050", "Tesla C2050", {2, 0}, 14, 1147, 144.0, 384, 768},                                                 // S T; D of the C2075
    {"m2090", "Tesla M2090", {2, 0}, 16, 1301, 177.4, 384, 768},                                                 // D T
    {"gtx-460", "GeForce GTX 460", {2, 1}, 7, 1350, 115.2, 256, 512},                                            // D T, of 1 GB
    {"gtx-560-ti", "GeForce GTX 560 Ti", {2, 1}, 8, 1645, 128.3, 256, 512},                                      // T
    {"gtx-680", "NVIDIA GeForce GTX 680", {3, 0}, 8, 1058, 192.3, 256, 512},                                     // D T
    {"k10", "Tesla K10.G2.8GB", {3, 0}, 8, 745, 160.0, 256, 512},                                                // T
    {"jetson-tk1", "GK20A", {3, 2}, 1, 852, 14.8, 64, 128},                                                      // D
    {"gtx-780-ti", "NVIDIA GeForce GTX 780 Ti", {3, 5}, 15, 928, 336.6, 384, 1536},                              // D T
    {"gtx-titan", "NVIDIA GeForce GTX TITAN", {3, 5}, 14, 876, 288.4, 384, 1536},                                // D T
    {"k20c", "Tesla K20c", {3, 5}, 13, 706, 208.0, 320, 1280},                                                   // D T
    {"k20x", "Tesla K20Xm", {3, 5}, 14, 732, 249.6, 384, 1536},                                                  // T
    {"k40", "Tesla K40m", {3, 5}, 15, 875, 288.4, 384, 1536},                                                    // D S T
    {"k80", "Tesla K80", {3, 7}, 13, 875, 240.5, 384, 1536},                                                     // D S
    {"gtx-750-ti", "NVIDIA GeForce GTX 750 Ti", {5, 0}, 5, 1085, 86.4, 128, 2048},                               // D T
    {"gtx-970", "NVIDIA GeForce GTX 970", {5, 2}, 13, 1178, 224.3, 256, 1792},                                   // D T
    {"gtx-980", "NVIDIA GeForce GTX 980", {5, 2}, 16, 1216, 224.4, 256, 2048},                                   // T
    {"gtx-980-ti", "NVIDIA GeForce GTX 980 Ti", {5, 2}, 22, 1076, 336.5, 384, 3072},                             // D T
    {"gtx-titan-x", "NVIDIA GeForce GTX TITAN X", {5, 2}, 24, 1076, 336.5, 384, 3072},                           // D
    {"m40", "Tesla M40", {5, 2}, 24, 1114, 288.4, 384, 3072},                                                    // D S T
    {"m60", "Tesla M60", {5, 2}, 16, 1178, 160.3, 256, 2048},                                                    // D T
    {"jetson-tx1", "", {5, 3}, 2, 998, 25.6, 64, 256},                                                           // T; D T of the Nano
    {"jetson-nano", "", {5, 3}, 1, 921, 25.6, 64, 256},                                                          // D T
    {"p100-pcie-12gb", "Tesla P100-PCIE-12GB", {6, 0}, 56, 1303, 549.1, 3072, 3072},                             // D S T
    {"p100-pcie-16gb", "Tesla P100-PCIE-16GB", {6, 0}, 56, 1303, 732.2, 4096, 4096},                             // D S T
    {"p100-sxm2-16gb", "Tesla P100-SXM2-16GB", {6, 0}, 56, 1480, 732.2, 4096, 4096},                             // S T
    {"quadro-gp100", "Quadro GP100", {6, 0}, 56, 1442, 732.2, 4096, 4096},                                       // D T
    {"gtx-1060-3gb", "NVIDIA GeForce GTX 1060 3GB", {6, 1}, 9, 1709, 192.2, 192, 1536},                          // T
    {"gtx-1060-6gb", "NVIDIA GeForce GTX 1060 6GB", {6, 1}, 10, 1709, 192.2, 192, 1536},                         // D T
    {"gtx-1070", "NVIDIA GeForce GTX 1070", {6, 1}, 15, 1683, 256.3, 256, 2048},                                 // D T
    {"gtx-1080", "NVIDIA GeForce GTX 1080", {6, 1}, 20, 1733, 320.3, 256, 2048},                                 // D T W
    {"gtx-1080-ti", "NVIDIA GeForce GTX 1080 Ti", {6, 1}, 28, 1582, 484.4, 352, 2816},                           // D T W
    {"titan-x-pascal", "NVIDIA TITAN X (Pascal)", {6, 1}, 28, 1531, 480.5, 384, 3072},                           // D T
    {"titan-xp", "NVIDIA TITAN Xp", {6, 1}, 30, 1582, 547.7, 384, 3072},                                         // D T
    {"p4", "Tesla P4", {6, 1}, 20, 1114, 192.2, 256, 2048},                                                      // D T
    {"p40", "Tesla P40", {6, 1}, 30, 1531, 347.0, 384, 3072},                                                    // D T
    {"jetson-tx2", "NVIDIA Tegra X2", {6, 2}, 2, 1300, 59.7, 128, 512},                                          // D T
    {"v100-pcie-16gb", "Tesla V100-PCIE-16GB", {7, 0}, 80, 1380, 900.0, 4096, 6144},                             // D S T
    {"v100-pcie-32gb", "Tesla V100-PCIE-32GB", {7, 0}, 80, 1380, 900.0, 4096, 6144},                             // D S T
    {"v100-sxm2-16gb", "Tesla V100-SXM2-16GB", {7, 0}, 80, 1530, 900.0, 4096, 6144},                             // D S T
    {"v100-sxm2-32gb", "Tesla V100-SXM2-32GB", {7, 0}, 80, 1530, 900.0, 4096, 6144},                             // D S T
    {"v100s-pcie-32gb", "Tesla V100S-PCIE-32GB", {7, 0}, 80, 1597, 1134.0, 4096, 6144},                          // S T
    {"quadro-gv100", "Quadro GV100", {7, 0}, 80, 1627, 870.4, 4096, 6144},                                       // D T
    {"titan-v", "NVIDIA TITAN V", {7, 0}, 80, 1455, 652.8, 3072, 4608},                                          // D T
    {"jetson-agx-xavier", "", {7, 2}, 8, 1377, 136.5, 256, 512},                                                 // D T
    {"jetson-xavier-nx", "", {7, 2}, 6, 1100, 59.7, 128, 512},                                                   // D T
    {"t4", "Tesla T4", {7, 5}, 40, 1590, 320.0, 256, 4096},                                                      // D S T
    {"gtx-1660-ti", "NVIDIA GeForce GTX 1660 Ti", {7, 5}, 24, 1770, 288.0, 192, 1536},                           // D T
    {"rtx-2060", "NVIDIA GeForce RTX 2060", {7, 5}, 30, 1680, 336.0, 192, 3072},                                 // D T
    {"rtx-2070", "NVIDIA GeForce RTX 2070", {7, 5}, 36, 1620, 448.0, 256, 4096},                                 // D T W
    {"rtx-2080", "NVIDIA GeForce RTX 2080", {7, 5}, 46, 1710, 448.0, 256, 4096},                                 // D T W
    {"rtx-2080-ti", "NVIDIA GeForce RTX 2080 Ti", {7, 5}, 68, 1545, 616.0, 352, 5632},                           // D T W
    {"titan-rtx", "NVIDIA TITAN RTX", {7, 5}, 72, 1770, 672.0, 384, 6144},                                       // D T W
    {"quadro-rtx-6000", "Quadro RTX 6000", {7, 5}, 72, 1770, 672.0, 384, 6144},                                  // T
    {"a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", {8, 0}, 108, 1410, 1555.0, 5120, 40960},                         // D S T
    {"a100-pcie-80gb", "NVIDIA A100 80GB PCIe", {8, 0}, 108, 1410, 1935.0, 5120, 40960},                         // D S
    {"a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", {8, 0}, 108, 1410, 1555.0, 5120, 40960},                         // D S T
    {"a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB", {8, 0}, 108, 1410, 2039.0, 5120, 40960},                         // D S T
    {"a30", "NVIDIA A30", {8, 0}, 56, 1440, 933.0, 3072, 24576},                                                 // S T
    {"a2", "NVIDIA A2", {8, 6}, 10, 1770, 200.0, 128, 2048},                                                     // S T
    {"a10", "NVIDIA A10", {8, 6}, 72, 1695, 600.0, 384, 6144},                                                   // D S T
    {"a10g", "NVIDIA A10G", {8, 6}, 80, 1710, 600.0, 384, 6144},                                                 // D
    {"a40", "NVIDIA A40", {8, 6}, 84, 1740, 696.0, 384, 6144},                                                   // D S T
    {"rtx-3060-12gb", "NVIDIA GeForce RTX 3060", {8, 6}, 28, 1777, 360.0, 192, 2304},                            // D T
    {"rtx-3060-ti", "NVIDIA GeForce RTX 3060 Ti", {8, 6}, 38, 1665, 448.0, 256, 3072},                           // D T
    {"rtx-3070", "NVIDIA GeForce RTX 3070", {8, 6}, 46, 1725, 448.0, 256, 4096},                                 // D T
    {"rtx-3080-10gb", "NVIDIA GeForce RTX 3080", {8, 6}, 68, 1710, 760.0, 320, 5120},                            // D T W
    {"rtx-3080-12gb", "NVIDIA GeForce RTX 3080", {8, 6}, 70, 1710, 912.0, 384, 6144},                            // T
    {"rtx-3080-ti", "NVIDIA GeForce RTX 3080 Ti", {8, 6}, 80, 1665, 912.0, 384, 6144},                           // D T W
    {"rtx-3090", "NVIDIA GeForce RTX 3090", {8, 6}, 82, 1695, 936.0, 384, 6144},                                 // D T W
    {"rtx-3090-ti", "NVIDIA GeForce RTX 3090 Ti", {8, 6}, 84, 1860, 1008.0, 384, 6144},                          // T W
    {"rtx-a4000", "NVIDIA RTX A4000", {8, 6}, 48, 1560, 448.0, 256, 4096},                                       // D T
    {"rtx-a5000", "NVIDIA RTX A5000", {8, 6}, 64, 1695, 768.0, 384, 6144},                                       // S T; D: SMs
    {"rtx-a6000", "NVIDIA RTX A6000", {8, 6}, 84, 1800, 768.0, 384, 6144},                                       // D S T
    {"jetson-orin-nano-8gb", "", {8, 7}, 8, 625, 68.2, 128, 2048},                                               // T
    {"jetson-orin-nx-16gb", "", {8, 7}, 8, 918, 102.4, 128, 2048},                                               // D T
    {"jetson-agx-orin-32gb", "", {8, 7}, 14, 930, 204.8, 256, 4096},                                             // T; L2: D of the 64 GB
    {"jetson-agx-orin-64gb", "", {8, 7}, 16, 1300, 204.8, 256, 4096},                                            // D T
    {"l4", "NVIDIA L4", {8, 9}, 58, 2040, 300.0, 192, 49152},                                                    // D S T
    {"l40", "NVIDIA L40", {8, 9}, 142, 2490, 864.0, 384, 98304},                                                 // T
    {"l40s", "NVIDIA L40S", {8, 9}, 142, 2520, 864.0, 384, 98304},                                               // D S T
    {"rtx-4060", "NVIDIA GeForce RTX 4060", {8, 9}, 24, 2460, 272.0, 128, 24576},                                // T
    {"rtx-4060-ti", "NVIDIA GeForce RTX 4060 Ti", {8, 9}, 34, 2535, 288.0, 128, 32768},                          // D T
    {"rtx-4070", "NVIDIA GeForce RTX 4070", {8, 9}, 46, 2475, 504.0, 192, 36864},                                // T
    {"rtx-4070-ti", "NVIDIA GeForce RTX 4070 Ti", {8, 9}, 60, 2610, 504.0, 192, 49152},                          // T
    {"rtx-4080", "NVIDIA GeForce RTX 4080", {8, 9}, 76, 2505, 716.8, 256, 65536},                                // T W
    {"rtx-4080-super", "NVIDIA GeForce RTX 4080 SUPER", {8, 9}, 80, 2550, 736.0, 256, 65536},                    // D T W
    {"rtx-4090", "NVIDIA GeForce RTX 4090", {8, 9}, 128, 2520, 1008.0, 384, 73728},                              // D T W
    {"rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", {8, 9}, 142, 2505, 960.0, 384, 98304},                    // T
    {"h100-pcie-80gb", "NVIDIA H100 PCIe", {9, 0}, 114, 1755, 2039.0, 5120, 51200},                              // D S T
    {"h100-sxm5-80gb", "NVIDIA H100 80GB HBM3", {9, 0}, 132, 1980, 3352.0, 5120, 51200},                         // D S T
    {"h100-nvl", "NVIDIA H100 NVL", {9, 0}, 132, 1785, 3938.0, 6016, 61440},                                     // D S T
    {"h20", "NVIDIA H20", {9, 0}, 78, 1980, 4000.0, 6144, 61440},                                                // D
    {"h200", "NVIDIA H200", {9, 0}, 132, 1980, 4800.0, 6144, 61440},                                             // D S T
    {"gh200-96gb", "NVIDIA GH200 480GB", {9, 0}, 132, 1980, 4023.0, 6144, 61440},                                // D S
    {"b200", "NVIDIA B200", {10, 0}, 148, 1965, 7672.0, 7680, 129536},                                           // D S T
    {"gb200", "NVIDIA GB200", {10, 0}, 152, 2062, 7928.0, 7936, 129536},                                         // D S
    {"b300", "NVIDIA B300 SXM6 AC", {10, 3}, 148, 2032, 7672.0, 7680, 129536},                                   // D T
    {"jetson-thor", "NVIDIA Thor", {11, 0}, 20, 1575, 273.0, 256, 32768},                                        // D S
    {"rtx-5060-ti", "NVIDIA GeForce RTX 5060 Ti", {12, 0}, 36, 2572, 448.0, 128, 32768},                         // T
    {"rtx-5070", "NVIDIA GeForce RTX 5070", {12, 0}, 48, 2512, 672.0, 192, 49152},                               // T
    {"rtx-5070-ti", "NVIDIA GeForce RTX 5070 Ti", {12, 0}, 70, 2452, 896.0, 256, 49152},                         // T
    {"rtx-5080", "NVIDIA GeForce RTX 5080", {12, 0}, 84, 2617, 960.0, 256, 65536},                               // T W
    {"rtx-5090", "NVIDIA GeForce RTX 5090", {12, 0}, 170, 2407, 1792.0, 512, 98304},                             // D T W
    {"rtx-pro-6000-blackwell", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", {12, 0}, 188, 2617, 1792.0, 512, 131072},     // D S T
    {"rtx-pro-6000-blackwell-server", "NVIDIA RTX PRO 6000 Blackwell Server Edition", {12, 0}, 188, 2430, 1597.0, 512, 131072},   // D S T
    {"gb10", "NVIDIA GB10", {12, 1}, 48, 2418, 273.0, 256, 24576},                                               // D T
});
// clang-format on

static_assert(std::ranges::is_sorted(kGpus, {}, &Gpu::compute_capability));

/// A name as it is compared: in lower case, words joined by dashes, without the maker and the product line.
/// Clusters write names of the driver with - or _ for spaces.
std::string folded(std::string_view name) {
  std::string text = lower_case(name);
  std::ranges::replace_if(
      text, [](char letter) { return letter == ' ' || letter == '_'; }, '-');
  for (const std::string_view prefix : {"nvidia-", "geforce-", "tesla-"}) {
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  }
  return text;
}

/// As people also type it: rtx4090, a100_sxm4_80gb.
std::string without_dashes(std::string text) {
  std::erase_if(text, [](char letter) { return letter == '-' || letter == '_'; });
  return text;
}

/// The words of a GPU's name after the part that was typed without dashes: rtx3080 begins rtx-3080-10gb, h100sxm begins
/// h100-sxm5-80gb. Empty if the name does not begin so: l4 does not begin l40.
std::optional<std::vector<std::string_view>> left_out_after(std::string_view name, std::string_view typed) {
  if (std::ranges::none_of(typed, is_digit)) return std::nullopt;
  for (const char letter : typed) {
    if (name.starts_with('-')) name.remove_prefix(1);
    if (!name.starts_with(letter)) return std::nullopt;
    name.remove_prefix(1);
  }
  if (!name.empty() && name.front() != '-' && is_digit(typed.back())) return std::nullopt;
  std::vector<std::string_view> words = split(name, '-');
  words.erase(words.begin());  // what is left of the word that was typed last
  return words;
}

/// The words of a GPU's name beside these, which it has in this order: rtx-6000 is in rtx-6000-ada and quadro-rtx-6000.
/// Empty if it lacks one of them. The first of them is the name's first, or the first after words that may be missing,
/// which are not counted.
std::optional<std::vector<std::string_view>> left_out_beside(std::string_view name, std::string_view typed) {
  const std::vector<std::string_view> words = split(name, '-');
  const std::vector<std::string_view> wanted = split(typed, '-');
  auto next = words.begin();
  while (next != words.end() && *next != wanted.front()) {
    if (std::ranges::find(kMayBeMissing, *next) == std::end(kMayBeMissing)) return std::nullopt;
    ++next;
  }
  std::vector<std::string_view> left_out;
  for (const std::string_view word : wanted) {
    const auto found = std::find(next, words.end(), word);
    if (found == words.end()) return std::nullopt;
    left_out.insert(left_out.end(), next, found);
    next = found + 1;
  }
  left_out.insert(left_out.end(), next, words.end());
  return left_out;
}

bool are_of_another_product(std::span<const std::string_view> left_out) {
  return std::ranges::find_first_of(left_out, kOtherProducts) != left_out.end();
}

/// GPUs whose names contain the typed text, then those that begin with most of it, at least with all letters before its
/// first digit: a100 for a100x, and nothing for mi300x. A product line may be missing: 5090d.
std::vector<std::string_view> nearest_gpus(const std::string& wanted) {
  const std::string typed = without_dashes(wanted);
  const auto letters = std::ranges::find_if(typed, is_digit) - typed.begin();
  std::vector<std::pair<std::ptrdiff_t, std::string_view>> ranked;
  for (const Gpu& gpu : kGpus) {
    std::ptrdiff_t alike = gpu.name.find(wanted) != gpu.name.npos ? std::ssize(wanted) + 1 : 0;
    for (const std::string_view words : {gpu.name, gpu.name.substr(gpu.name.find('-') + 1)}) {
      const std::string name = without_dashes(std::string(words));
      alike = std::max(alike, std::ranges::mismatch(typed, name).in1 - typed.begin());
    }
    if (alike >= std::max<std::ptrdiff_t>(letters, 1)) ranked.emplace_back(-alike, gpu.name);
  }
  std::ranges::sort(ranked);
  ranked.resize(std::min(ranked.size(), kSuggestions));
  return mapped(ranked, &std::pair<std::ptrdiff_t, std::string_view>::second);
}

}  // namespace

std::span<const Gpu> all_gpus() {
  return kGpus;
}

const Gpu* find_gpu_by_driver_name(std::string_view driver_name) {
  const std::string wanted = folded(driver_name);
  const auto found = std::ranges::find_if(
      kGpus, [&](const Gpu& gpu) { return !gpu.driver_name.empty() && folded(gpu.driver_name) == wanted; });
  return found == kGpus.end() ? nullptr : &*found;
}

std::optional<double> highest_clock_mhz(std::string_view name) {
  const Gpu* const gpu = find_gpu(name);
  return gpu == nullptr ? std::nullopt : std::optional<double>(gpu->clock_mhz);
}

const Gpu* find_gpu(std::string_view name) {
  const std::string wanted = without_dashes(folded(name));
  const auto found =
      std::ranges::find(kGpus, wanted, [](const Gpu& gpu) { return without_dashes(std::string(gpu.name)); });
  return found == kGpus.end() ? find_gpu_by_driver_name(name) : &*found;
}

std::vector<const Gpu*> gpus_of(std::string_view name) {
  const std::string wanted = folded(name);
  std::vector<const Gpu*> of_driver;  // which may call two cards the same
  for (const Gpu& gpu : kGpus) {
    if (!gpu.driver_name.empty() && folded(gpu.driver_name) == wanted) of_driver.push_back(&gpu);
  }
  if (of_driver.size() > 1) return of_driver;
  if (const Gpu* const gpu = find_gpu(name)) return {gpu};
  const std::string typed = without_dashes(wanted);
  const bool has_number = std::ranges::any_of(typed, is_digit);
  std::vector<const Gpu*> gpus;
  bool names_a_product = false;
  for (const std::string_view line : kProductLines) {
    for (const Gpu& gpu : kGpus) {
      const std::string key = std::string(line) + typed;
      if (has_number && without_dashes(std::string(gpu.name)) == key) return {&gpu};
      auto left_out = left_out_after(gpu.name, key);
      if (!left_out) left_out = left_out_beside(gpu.name, wanted);
      if (!left_out) continue;
      names_a_product |= !are_of_another_product(*left_out);
      if (std::ranges::find(gpus, &gpu) == gpus.end()) gpus.push_back(&gpu);
    }
  }
  // A word that only one name has, such as ada, is not that name.
  if (names_a_product && gpus.size() > (has_number ? 0 : 1) && gpus.size() <= kMostMeant) return gpus;
  if (name.find(',') != std::string_view::npos)
    throw InputError("'{}' names several GPUs, and this takes one: ask for each", name);
  const std::vector<std::string_view> nearest = nearest_gpus(wanted);
  throw InputError(
      "no GPU of the table is called '{}'{}; `occbench calc --gpu list` has all; for any other GPU of NVIDIA "
      "give its compute capability and number of SMs",
      name,
      nearest.empty() ? ", nor nearly so" : fmt::format("; the nearest are {}", fmt::join(nearest, ", ")));
}

std::string which_of(std::string_view name, std::span<const Gpu* const> gpus) {
  const auto choices = mapped(gpus, [](const Gpu* gpu) {
    return fmt::format("{} ({} SMs, {:.0f} GB/s)", gpu->name, gpu->sm_count, gpu->bandwidth_gb_s);
  });
  return fmt::format("'{}' may be {}: name one of them", name, fmt::join(choices, ", "));
}

const Gpu& gpu_of(std::string_view name) {
  const std::vector<const Gpu*> gpus = gpus_of(name);
  if (gpus.size() > 1) throw InputError(which_of(name, gpus));
  return *gpus.front();
}

}  // namespace occbench
