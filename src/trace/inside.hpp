#pragma once

#include <utility>

namespace occbench {

/// The library's own calls launch kernels too, and are told of; they are not the program's.
inline thread_local bool is_inside = false;

class Inside {
 public:
  Inside() : before_(std::exchange(is_inside, true)) {}
  ~Inside() {
    is_inside = before_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

}  // namespace occbench
