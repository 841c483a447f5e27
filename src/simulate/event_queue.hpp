#pragma once

#include <cstddef>
#include <vector>

namespace occbench {

/// Events by their `time`, the earliest first: a binary heap. Unlike std::priority_queue it says which of
/// events of one time is first (it is the same on every machine), and which child moves up is no branch,
/// which nothing could foretell.
template <typename Event>
class EventQueue {
 public:
  bool empty() const {
    return events_.empty();
  }
  const Event& top() const {
    return events_.front();
  }

  void push(const Event& event) {
    events_.push_back(event);
    rise(events_.size() - 1, event);
  }

  void pop() {
    const Event last = events_.back();
    events_.pop_back();
    if (events_.empty()) return;
    // The hole that the first one leaves goes down to a leaf, along the earlier children, and what was last
    // rises from there: it is seldom early.
    const std::size_t size = events_.size();
    std::size_t hole = 0;
    std::size_t child = 2;
    for (; child < size; child = 2 * hole + 2) {
      child -= static_cast<std::size_t>(events_[child - 1].time < events_[child].time);
      events_[hole] = events_[child];
      hole = child;
    }
    if (child == size) {
      events_[hole] = events_[child - 1];
      hole = child - 1;
    }
    rise(hole, last);
  }

 private:
  void rise(std::size_t hole, const Event& event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (events_[parent].time <= event.time) break;
      events_[hole] = events_[parent];
      hole = parent;
    }
    events_[hole] = event;
  }

  std::vector<Event> events_;
};

}  // namespace occbench
