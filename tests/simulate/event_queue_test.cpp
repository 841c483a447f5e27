#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "simulate/block_execution.hpp"
#include "simulate/draws.hpp"

namespace occbench {
namespace {

struct Numbered {
  double time;
  int number;
};

TEST(EventQueue, GivesTheEarliestFirst) {
  EventQueue<Numbered> queue;
  std::vector<double> waiting;
  std::uint64_t draw = 0;
  // Grows, stays as long as it is, and empties.
  for (const int pushes_of_four : {4, 3, 2, 1, 0}) {
    for (int step = 0; step < 1000; ++step) {
      if (random_bits(1, ++draw) % 4 < static_cast<unsigned>(pushes_of_four)) {
        const double time = static_cast<double>(random_bits(2, draw) % 500);
        queue.push({time, step});
        waiting.push_back(time);
      } else if (!queue.empty()) {
        const auto least = std::ranges::min_element(waiting);
        ASSERT_EQ(queue.top().time, *least);
        waiting.erase(least);
        queue.pop();
      }
      ASSERT_EQ(queue.empty(), waiting.empty());
    }
  }
}

// What a simulation says must not depend on the standard library at hand.
TEST(EventQueue, HasOneOrderForEventsOfOneTime) {
  EventQueue<Numbered> queue;
  for (int number = 0; number < 7; ++number) queue.push({1, number});
  std::vector<int> order;
  for (; !queue.empty(); queue.pop()) order.push_back(queue.top().number);
  EXPECT_EQ(order, (std::vector{0, 2, 5, 6, 4, 1, 3}));
}

}  // namespace
}  // namespace occbench
