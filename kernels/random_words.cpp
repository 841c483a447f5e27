#include "kernels/random_words.hpp"

#include <algorithm>
#include <random>

namespace occbench {

std::vector<std::uint32_t> random_words(std::size_t count) {
  std::mt19937 generator(1);
  std::vector<std::uint32_t> words(count);
  std::ranges::generate(words, [&] { return static_cast<std::uint32_t>(generator()); });
  return words;
}

}  // namespace occbench
